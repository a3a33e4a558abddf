// The tree under inspection: packages, their manifests, and every source file parsed once.
import { readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

import ts from "typescript";

import { filesBelow, foldersIn, readJson } from "../workspace.mjs";

/**
 * Reads `root/packages/*`. A package is `{ folder, path, manifest, sources, tests }`; a source is
 * `{ path, text, lines, ast, package }` with `path` relative to the root and `/` as separator.
 */
export function readTree(root) {
  const packages = foldersIn(join(root, "packages")).flatMap((folder) => readPackage(root, folder));
  return { root, packages, sources: packages.flatMap((one) => one.sources) };
}

/** The 1-based line on which a node starts, its comments left out. */
export function lineOf(source, node) {
  return source.ast.getLineAndCharacterOfPosition(node.getStart(source.ast)).line + 1;
}

/** Calls `visit` for every node of a file, parents first. */
export function walk(source, visit) {
  const step = (node) => {
    visit(node);
    ts.forEachChild(node, step);
  };
  step(source.ast);
}

/** A finding: which rule, where, and what would be right. */
export function finding(rule, { source, at }, message) {
  const line = typeof at === "number" ? at : lineOf(source, at);
  return { rule, file: source.path, line, message };
}

export function countLines(text) {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}

function readPackage(root, folder) {
  const manifest = readJson(join(root, "packages", folder, "package.json"));
  if (manifest === undefined) return [];
  const files = filesBelow(join(root, "packages", folder)).map((file) =>
    relative(root, file).split(sep).join("/"),
  );
  const inSource = (path) => path.startsWith(`packages/${folder}/src/`);
  const one = { folder, path: `packages/${folder}/package.json`, manifest };
  one.sources = files
    .filter((path) => inSource(path) && isSource(path))
    .map((path) => parse(root, path, one));
  one.tests = files
    .filter(isTest)
    .map((path) => ({ path, lines: countLines(readFileSync(join(root, path), "utf8")) }));
  return [one];
}

function isTest(path) {
  return /\.test(-d)?\.ts$/.test(path) || (/^packages\/[^/]+\/test\//.test(path) && path.endsWith(".ts"));
}

function isSource(path) {
  return path.endsWith(".ts") && !path.endsWith(".d.ts") && !isTest(path) && !path.includes("/__fixtures__/");
}

function parse(root, path, owner) {
  const text = readFileSync(join(root, path), "utf8");
  const ast = ts.createSourceFile(path, text, ts.ScriptTarget.ES2024, true);
  return { path, text, lines: countLines(text), ast, package: owner };
}
