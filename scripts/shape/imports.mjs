// Which modules a file names, values and types alike, and which file of the tree each one is.
import { posix } from "node:path";

import ts from "typescript";

import { walk } from "./tree.mjs";
import { SCOPE } from "./budgets.mjs";

/** Every module a source names: `{ specifier, node }` for imports, re-exports, `import()` and import types. */
export function importsOf(source) {
  const found = [];
  walk(source, (node) => {
    const specifier = specifierOf(node);
    if (specifier !== undefined && ts.isStringLiteralLike(specifier))
      found.push({ specifier: specifier.text, node });
  });
  return found;
}

/** The graph of the tree: for each source, the sources it names. */
export function importGraph(tree) {
  const byPath = new Map(tree.sources.map((source) => [source.path, source]));
  const edgesOf = (source) =>
    importsOf(source).flatMap(({ specifier, node }) => {
      const target = byPath.get(resolve(tree, source, specifier));
      return target ? [{ target, node }] : [];
    });
  return new Map(tree.sources.map((source) => [source, edgesOf(source)]));
}

/** Every source that can be reached from `entries`, themselves included. */
export function reachableFrom(entries, graph) {
  const seen = new Set();
  const pending = [...entries];
  while (pending.length > 0) {
    const source = pending.pop();
    if (seen.has(source)) continue;
    seen.add(source);
    for (const { target } of graph.get(source) ?? []) pending.push(target);
  }
  return seen;
}

/** The npm package a bare specifier names: `@a/b/c` is of `@a/b`, `a/b` is of `a`. */
export function packageOf(specifier) {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

export function isRelative(specifier) {
  return specifier.startsWith(".");
}

/** Where a relative specifier of a source points, as a path from the root. */
export function relativeTarget(source, specifier) {
  return posix.join(posix.dirname(source.path), specifier);
}

function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return node.arguments[0];
  return undefined;
}

function resolve(tree, source, specifier) {
  if (isRelative(specifier)) return relativeTarget(source, specifier);
  if (!specifier.startsWith(SCOPE)) return undefined;
  const name = packageOf(specifier);
  const owner = tree.packages.find(({ manifest }) => manifest.name === name);
  const target = owner?.manifest.exports?.[`.${specifier.slice(name.length)}`];
  return typeof target === "string" ? posix.join("packages", owner.folder, target) : undefined;
}
