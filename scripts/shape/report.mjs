// What check-shape says besides findings: sizes, spreads and the share of tests.
import { lineBudget } from "./budgets.mjs";
import { functionsOf, packageLines, quantile, sum } from "./check-size.mjs";
import { assertionsOf } from "./check-syntax.mjs";
import { importGraph } from "./imports.mjs";

/** The report block as lines of text. */
export function reportLines(tree) {
  const files = tree.sources.map(({ lines }) => lines);
  const functions = tree.sources.flatMap(functionsOf).map(({ lines }) => lines);
  const graph = importGraph(tree);
  return [
    `files      ${files.length}, lines ${spreadText(files)}`,
    `functions  ${functions.length}, lines ${spreadText(functions)}`,
    `longest    ${longest(tree.sources)}`,
    `${"package".padEnd(22)}${["lines", "budget", "code", "files", "as", "tests/line"].map((title) => title.padStart(11)).join("")}`,
    ...tree.packages.map((one) => packageLine(one, graph)),
  ];
}

function packageLine(one, graph) {
  const lines = sum(one.sources.map((source) => source.lines));
  const assertions = sum(one.sources.map((source) => assertionsOf(source).length));
  const tests = sum(one.tests.map((test) => test.lines));
  const share = lines === 0 ? "-" : (tests / lines).toFixed(2);
  const cells = [
    packageLines(one, graph),
    lineBudget(one.folder) ?? "-",
    sum(one.sources.map(codeLines)),
    one.sources.length,
    assertions,
    share,
  ];
  return `${one.folder.padEnd(22)}${cells.map((cell) => String(cell).padStart(11)).join("")}`;
}

function spreadText(numbers) {
  return `median ${quantile(numbers, 0.5)}, p90 ${quantile(numbers, 0.9)}, max ${Math.max(0, ...numbers)}`;
}

function longest(sources) {
  return [...sources]
    .sort((a, b) => b.lines - a.lines)
    .slice(0, 3)
    .map(({ path, lines }) => `${path} ${lines}`)
    .join(", ");
}

/** Lines that are neither blank nor only comment. */
function codeLines({ text }) {
  return text.split("\n").filter((line) => line.trim() !== "" && !/^\s*(\/\/|\/?\*)/.test(line)).length;
}
