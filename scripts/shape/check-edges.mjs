// Who may know whom: contracts go down, wiring goes up, siblings never meet, and nothing goes in a circle.
import { isBuiltin } from "node:module";

import { allowedDependencies } from "./budgets.mjs";
import { importGraph, importsOf, isRelative, packageOf, relativeTarget } from "./imports.mjs";
import { finding } from "./tree.mjs";

const DECLARED_IN = ["dependencies", "peerDependencies", "optionalDependencies"];

/** Dependencies that a package.json declares and architecture.md does not list. */
export function checkManifests(tree) {
  return tree.packages.flatMap((one) =>
    declaredBy(one)
      .filter(({ name }) => !allowedDependencies(one.folder).includes(name))
      .map(({ field, name }) => ({
        rule: "package-edge",
        file: one.path,
        line: 1,
        message: `${field} names "${name}"; ${allowedText(one)}`,
      })),
  );
}

/** Imports that leave a package for a place it may not know, or did not declare. */
export function checkImports(tree) {
  return tree.sources.flatMap((source) =>
    importsOf(source).flatMap(({ specifier, node }) => {
      const message = edgeProblem(source, specifier);
      return message === undefined ? [] : [finding("package-edge", { source, at: node }, message)];
    }),
  );
}

/** Circles of imports, types included: each is reported once, with the way round. */
export function checkCycles(tree) {
  const graph = importGraph(tree);
  return components(graph).flatMap((members) => {
    const [first] = members;
    const way = wayRound(first, { graph, members: new Set(members) });
    if (way === undefined) return [];
    const path = [first, ...way.map(({ target }) => target)].map((source) => source.path).join(" -> ");
    return [finding("import-cycle", { source: first, at: way[0].node }, `import cycle: ${path}`)];
  });
}

function declaredBy({ manifest }) {
  return DECLARED_IN.flatMap((field) => Object.keys(manifest[field] ?? {}).map((name) => ({ field, name })));
}

function edgeProblem(source, specifier) {
  const owner = source.package;
  if (isRelative(specifier)) {
    const inside = relativeTarget(source, specifier).startsWith(`packages/${owner.folder}/src/`);
    return inside ? undefined : `"${specifier}" leaves the package; import what it exports by name`;
  }
  if (specifier.startsWith("node:")) return undefined;
  if (isBuiltin(specifier)) return `write "node:${specifier}"`;
  const name = packageOf(specifier);
  if (!allowedDependencies(owner.folder).includes(name)) return `imports "${name}"; ${allowedText(owner)}`;
  // A development dependency that the sources import goes into the packed files (scripts/flatten.mjs).
  const isDeclared =
    declaredBy(owner).some((declared) => declared.name === name) ||
    Object.hasOwn(owner.manifest.devDependencies ?? {}, name);
  return isDeclared ? undefined : `imports "${name}", which ${owner.path} does not declare`;
}

function allowedText({ folder }) {
  const allowed = allowedDependencies(folder);
  return `this package may depend on ${allowed.length > 0 ? allowed.map((name) => `"${name}"`).join(", ") : "nothing"}`;
}

/** The strongly connected parts of the graph (Tarjan), in the order of the files. */
function components(graph) {
  const state = { index: new Map(), low: new Map(), stack: [], found: [] };
  for (const source of graph.keys()) if (!state.index.has(source)) connect(source, { graph, state });
  return state.found.map((members) => members.sort((a, b) => (a.path < b.path ? -1 : 1)));
}

function connect(source, { graph, state }) {
  const { index, low, stack } = state;
  index.set(source, index.size);
  low.set(source, index.get(source));
  stack.push(source);
  for (const { target } of graph.get(source)) {
    if (!index.has(target)) connect(target, { graph, state });
    if (stack.includes(target)) low.set(source, Math.min(low.get(source), low.get(target)));
  }
  if (low.get(source) !== index.get(source)) return;
  state.found.push(stack.splice(stack.indexOf(source)));
}

/** The shortest way from a file back to itself inside its component, as a list of edges. */
function wayRound(start, { graph, members }) {
  const pending = [{ source: start, way: [] }];
  const seen = new Set();
  while (pending.length > 0) {
    const { source, way } = pending.shift();
    for (const edge of graph.get(source)) {
      if (edge.target === start) return [...way, edge];
      if (seen.has(edge.target) || !members.has(edge.target)) continue;
      seen.add(edge.target);
      pending.push({ source: edge.target, way: [...way, edge] });
    }
  }
  return undefined;
}
