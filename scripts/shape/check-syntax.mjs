// What no package may write: escapes from the type system, syntax Node cannot strip, and output.
import ts from "typescript";

import { ASSERTIONS_PER_1000_LINES } from "./budgets.mjs";
import { sum } from "./check-size.mjs";
import { finding, lineOf, walk } from "./tree.mjs";

const FORBIDDEN = [
  [
    "any",
    (node) => node.kind === ts.SyntaxKind.AnyKeyword,
    "`any` switches checking off; take `unknown` and parse it",
  ],
  [
    "non-null",
    (node) => ts.isNonNullExpression(node),
    "`!` asserts without a proof; handle the missing case",
  ],
  ["non-null", hasDefiniteAssignment, "`!` asserts without a proof; initialise the field"],
  ["console", isConsole, "packages do not print; tell the caller by an event or a return value"],
  ["console", isDirectOutput, "packages do not print; tell the caller by an event or a return value"],
  ["default-export", isDefaultExport, "use a named export"],
  ["enum", (node) => ts.isEnumDeclaration(node), "Node cannot strip an enum; use a union of literals"],
  ["namespace", (node) => ts.isModuleDeclaration(node), "Node cannot strip a namespace; use a module"],
  ["parameter-property", isParameterProperty, "Node cannot strip a parameter property; declare the field"],
  ["decorator", (node) => ts.isDecorator(node), "Node cannot run a decorator"],
];

/** Forbidden syntax, anywhere in a package. */
export function checkForbiddenSyntax(tree) {
  return tree.sources.flatMap((source) => {
    const found = [];
    walk(source, (node) => {
      for (const [rule, matches, message] of FORBIDDEN)
        if (matches(node)) found.push(finding(rule, { source, at: node }, message));
    });
    return found;
  });
}

/** Only an adapter reads the environment, and only where it makes its client: for its own key. */
export function checkEnvironment(tree) {
  const mayRead = ({ path }) => /^packages\/adapter-[^/]+\/src\/lib\/adapter\.ts$/.test(path);
  return tree.sources
    .filter((source) => !mayRead(source))
    .flatMap((source) => {
      const found = [];
      walk(source, (node) => {
        if (!isEnvironment(node)) return;
        found.push(
          finding(
            "environment",
            { source, at: node },
            "packages take options; only an adapter's adapter.ts reads its key from the environment",
          ),
        );
      });
      return found;
    });
}

/** Type assertions: few, and each with its proof. */
export function checkAssertions(tree) {
  return tree.packages.flatMap((one) => {
    const all = one.sources.flatMap((source) => assertionsOf(source).map((node) => ({ source, node })));
    const unproven = all
      .filter(({ source, node }) => !hasProof(source, node))
      .map(({ source, node }) =>
        finding(
          "assertion-proof",
          { source, at: node },
          "say why `as` holds in a comment with `Proof:` on this line or above",
        ),
      );
    return [...unproven, ...tooMany(one, all.length)];
  });
}

export function assertionsOf(source) {
  const found = [];
  walk(source, (node) => {
    if (ts.isTypeAssertionExpression(node) || (ts.isAsExpression(node) && !isConstAssertion(node)))
      found.push(node);
  });
  return found;
}

function tooMany({ path, sources }, count) {
  // Rounded up, so that the smallest package may have one.
  const allowed = Math.ceil((sum(sources.map(({ lines }) => lines)) * ASSERTIONS_PER_1000_LINES) / 1000);
  if (count <= allowed) return [];
  const message = `${count} type assertions, at most ${allowed} (${ASSERTIONS_PER_1000_LINES} per 1,000 lines)`;
  return [{ rule: "assertion-count", file: path, line: 1, message }];
}

function isConstAssertion({ type }) {
  return ts.isTypeReferenceNode(type) && type.typeName.getText() === "const";
}

/** A proof stands on the line of the `as`, or in the comment directly above that line or its statement. */
function hasProof(source, node) {
  const lines = source.text.split("\n");
  const line = source.ast.getLineAndCharacterOfPosition(node.type.getStart(source.ast)).line;
  const starts = [line, lineOf(source, node) - 1, lineOf(source, statementOf(node)) - 1];
  return (
    isProof(lines[line]) ||
    isProof(lines[starts[1]]) ||
    starts.some((start) => commentAbove(lines, start).some(isProof))
  );
}

function commentAbove(lines, start) {
  const comment = [];
  for (let i = start - 1; i >= 0 && /^\s*(\/\/|\/?\*)/.test(lines[i]); i--) comment.push(lines[i]);
  return comment;
}

function isProof(line) {
  return /(\/\/|\/\*|^\s*\*).*\bProof:/.test(line);
}

function statementOf(node) {
  let current = node;
  while (current.parent && !ts.isStatement(current) && !ts.isClassElement(current)) current = current.parent;
  return current;
}

function hasDefiniteAssignment(node) {
  return (
    (ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) && node.exclamationToken !== undefined
  );
}

function isConsole(node) {
  return ts.isPropertyAccessExpression(node) && /^(globalThis\.)?console$/.test(node.expression.getText());
}

function isDirectOutput(node) {
  return ts.isPropertyAccessExpression(node) && /^process\.(stdout|stderr)\.write$/.test(node.getText());
}

function isEnvironment(node) {
  if (ts.isPropertyAccessExpression(node)) return /^(globalThis\.)?process\.env$/.test(node.getText());
  return ts.isImportSpecifier(node) && (node.propertyName ?? node.name).text === "env" && isFromProcess(node);
}

function isFromProcess(node) {
  return /^["'](node:)?process["']$/.test(node.parent.parent.parent.moduleSpecifier.getText());
}

function isDefaultExport(node) {
  if (ts.isExportAssignment(node)) return true;
  if (ts.isExportSpecifier(node)) return node.name.text === "default";
  return (
    (ts.canHaveModifiers(node) &&
      ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) ??
    false
  );
}

function isParameterProperty(node) {
  return ts.isParameter(node) && ts.isParameterPropertyDeclaration(node, node.parent);
}
