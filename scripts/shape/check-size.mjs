// Sizes: files, functions, packages, AGENTS.md.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import ts from "typescript";

import { AGENTS_LINES, FILE_LINES, FUNCTION_LINES, lineBudget } from "./budgets.mjs";
import { importGraph, reachableFrom } from "./imports.mjs";
import { countLines, finding, lineOf, walk } from "./tree.mjs";

/** Files that are too long, one by one and as a whole. */
export function checkFileLengths(tree) {
  const tooLong = tree.sources
    .filter(({ lines }) => lines > FILE_LINES.max)
    .map((source) =>
      finding(
        "file-length",
        { source, at: FILE_LINES.max + 1 },
        `${source.lines} lines, at most ${FILE_LINES.max}`,
      ),
    );
  const lengths = tree.sources.map(({ lines }) => lines);
  return [
    ...tooLong,
    ...spread("file-length", "median file has", {
      value: quantile(lengths, 0.5),
      limit: FILE_LINES.median - 1,
    }),
    ...spread("file-length", "the 90th percentile of all files has", {
      value: quantile(lengths, 0.9),
      limit: FILE_LINES.p90 - 1,
    }),
  ];
}

/** Functions that are too long, one by one and as a whole. */
export function checkFunctionLengths(tree) {
  const functions = tree.sources.flatMap(functionsOf);
  const tooLong = functions
    .filter(({ lines }) => lines > FUNCTION_LINES.max)
    .map(({ source, node, lines }) =>
      finding(
        "function-length",
        { source, at: node },
        `${nameOf(node)} has ${lines} lines, at most ${FUNCTION_LINES.max}`,
      ),
    );
  const p90 = quantile(
    functions.map(({ lines }) => lines),
    0.9,
  );
  return [
    ...tooLong,
    ...spread("function-length", "the 90th percentile of all functions has", {
      value: p90,
      limit: FUNCTION_LINES.p90,
    }),
  ];
}

/** Packages over their line budget. */
export function checkPackageSizes(tree) {
  const graph = importGraph(tree);
  return tree.packages.flatMap((one) => {
    const budget = lineBudget(one.folder);
    const lines = packageLines(one, graph);
    if (budget === undefined || lines <= budget) return [];
    return [
      {
        rule: "package-size",
        file: one.path,
        line: 1,
        message: `${lines} lines without tests, at most ${budget}`,
      },
    ];
  });
}

/** AGENTS.md stays short enough to be read whole. */
export function checkAgentsFile({ root }) {
  const path = join(root, "AGENTS.md");
  if (!existsSync(path)) return [];
  const lines = countLines(readFileSync(path, "utf8"));
  if (lines <= AGENTS_LINES) return [];
  return [
    {
      rule: "agents-length",
      file: "AGENTS.md",
      line: AGENTS_LINES + 1,
      message: `${lines} lines, at most ${AGENTS_LINES}`,
    },
  ];
}

/** Lines of a package that ship to its users: what only the testing entry reaches is not counted. */
export function packageLines({ folder, sources }, graph) {
  const isEntry = ({ path }) => path.split("/").length === 4;
  const isTesting = ({ path }) => path === `packages/${folder}/src/testing.ts`;
  const shipped = reachableFrom(
    sources.filter((one) => isEntry(one) && !isTesting(one)),
    graph,
  );
  const lent = reachableFrom(sources.filter(isTesting), graph);
  return sum(sources.filter((one) => shipped.has(one) || !lent.has(one)).map(({ lines }) => lines));
}

/** Every function with a body: `{ source, node, lines }`. */
export function functionsOf(source) {
  const found = [];
  walk(source, (node) => {
    if (!ts.isFunctionLike(node) || !node.body || !ts.isBlock(node.body)) return;
    const last = source.ast.getLineAndCharacterOfPosition(node.end).line + 1;
    found.push({ source, node, lines: last - lineOf(source, node) + 1 });
  });
  return found;
}

export function quantile(numbers, share) {
  if (numbers.length === 0) return 0;
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

export function sum(numbers) {
  return numbers.reduce((total, one) => total + one, 0);
}

function spread(rule, subject, { value, limit }) {
  return value <= limit
    ? []
    : [{ rule, file: "packages", line: 1, message: `${subject} ${value} lines, at most ${limit}` }];
}

function nameOf(node) {
  const named = node.name ?? node.parent?.name;
  return named ? `"${named.getText()}"` : "a function";
}
