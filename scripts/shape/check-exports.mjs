// What a package promises: its public files, its export lists, and the words that go with them.
import ts from "typescript";

import { ADAPTER_CAST, MAX_PARAMETERS } from "./budgets.mjs";
import { isRelative } from "./imports.mjs";
import { finding } from "./tree.mjs";

/** The `exports` map of each package names exactly the files directly in its src/. */
export function checkPublicSurface(tree) {
  return tree.packages.flatMap((one) => {
    const entries = one.sources.flatMap(
      ({ path }) => path.match(/^packages\/[^/]+\/src\/([^/]+)\.ts$/)?.[1] ?? [],
    );
    const published = one.manifest.publishConfig?.exports;
    return [
      ...compareExports(one, one.manifest.exports, {
        entries,
        label: "exports",
        target: (entry) => `./src/${entry}.ts`,
      }),
      ...compareExports(one, published, {
        entries,
        label: "publishConfig.exports",
        target: (entry) => ({ types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` }),
      }),
    ];
  });
}

/** Entries export by name and hold no logic; nobody re-exports what another package owns. */
export function checkExportLists(tree) {
  return tree.sources.flatMap((source) =>
    source.ast.statements.flatMap((statement) => exportProblems(source, statement)),
  );
}

/** Every exported declaration says what its type cannot. */
export function checkDocComments(tree) {
  return tree.sources.flatMap((source) =>
    exportedDeclarations(source)
      .filter(({ declarations }) => !declarations.some(hasDocComment))
      .map(({ name, declarations }) =>
        finding(
          "doc-comment",
          { source, at: declarations[0] },
          `"${name}" is exported without a doc comment`,
        ),
      ),
  );
}

/** Exported functions, and the methods of exported classes, take few parameters. */
export function checkParameters(tree) {
  return tree.sources.flatMap((source) =>
    exportedDeclarations(source)
      .flatMap(({ declarations }) => declarations.flatMap(callablesOf))
      .filter(
        ({ parameters }) => parameters.filter((one) => one.name.getText() !== "this").length > MAX_PARAMETERS,
      )
      .map((node) =>
        finding(
          "parameters",
          { source, at: node },
          `${node.parameters.length} parameters, at most ${MAX_PARAMETERS}: dependencies first, one options object last`,
        ),
      ),
  );
}

/** Every adapter has the same cast of files and one way to make it. */
export function checkAdapterCast(tree) {
  return tree.packages
    .filter(({ folder }) => folder.startsWith("adapter-"))
    .flatMap((one) => {
      const paths = one.sources.map(({ path }) => path);
      const missing = ADAPTER_CAST.map((name) => `packages/${one.folder}/src/lib/${name}.ts`).filter(
        (path) => !paths.includes(path),
      );
      const problems = missing.map((path) => `an adapter has a file ${path}`);
      if (!exportsFactory(one)) problems.push("an adapter exports create<Name>Adapter from its index.ts");
      return problems.map((message) => ({ rule: "adapter-cast", file: one.path, line: 1, message }));
    });
}

function compareExports({ path }, map = {}, { entries, label, target }) {
  const keyOf = (entry) => (entry === "index" ? "." : `./${entry}`);
  const wanted = Object.fromEntries(entries.map((entry) => [keyOf(entry), target(entry)]));
  const keys = [...new Set([...Object.keys(wanted), ...Object.keys(map)])];
  return keys
    .filter((key) => JSON.stringify(wanted[key]) !== JSON.stringify(map[key]))
    .map((key) => ({
      rule: "public-surface",
      file: path,
      line: 1,
      message: surfaceMessage({ key, label, wanted, map }),
    }));
}

function surfaceMessage({ key, label, wanted, map }) {
  if (!(key in wanted)) return `${label}["${key}"] has no file directly in src/`;
  const is = key in map ? `is ${JSON.stringify(map[key])}` : "is missing";
  return `${label}["${key}"] ${is}, should be ${JSON.stringify(wanted[key])}: the public surface is the files directly in src/`;
}

function exportProblems(source, statement) {
  const isIndex = source.path.endsWith("/src/index.ts");
  if (!ts.isExportDeclaration(statement)) {
    return isIndex
      ? [finding("export-list", { source, at: statement }, "index.ts holds export lists and no logic")]
      : [];
  }
  const problems = [];
  if (!statement.exportClause || ts.isNamespaceExport(statement.exportClause)) {
    problems.push(
      finding(
        "export-list",
        { source, at: statement },
        "list every export by name; `export *` promises what nobody chose",
      ),
    );
  }
  if (statement.moduleSpecifier && !isRelative(statement.moduleSpecifier.text)) {
    problems.push(
      finding(
        "export-list",
        { source, at: statement },
        `do not re-export "${statement.moduleSpecifier.text}": users import it from its owner`,
      ),
    );
  }
  return problems;
}

/** The declarations a file exports, grouped by name because overloads share one comment. */
function exportedDeclarations(source) {
  const listed = new Set(source.ast.statements.flatMap(locallyListed));
  const groups = new Map();
  for (const statement of source.ast.statements) {
    for (const { name, declaration } of declarationsIn(statement)) {
      if (!listed.has(name) && !isExported(statement)) continue;
      groups.set(name, [...(groups.get(name) ?? []), declaration]);
    }
  }
  return [...groups].map(([name, declarations]) => ({ name, declarations }));
}

function locallyListed(statement) {
  if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier || !statement.exportClause) return [];
  if (!ts.isNamedExports(statement.exportClause)) return [];
  return statement.exportClause.elements.map((one) => (one.propertyName ?? one.name).text);
}

function declarationsIn(statement) {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((one) => ({
      name: one.name.getText(),
      declaration: one,
    }));
  }
  const isNamed = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);
  if (!isNamed && !ts.isInterfaceDeclaration(statement) && !ts.isTypeAliasDeclaration(statement)) return [];
  return [{ name: statement.name?.text ?? "default", declaration: statement }];
}

function isExported(statement) {
  return (
    (ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) ??
    false
  );
}

function hasDocComment(declaration) {
  return ts
    .getJSDocCommentsAndTags(declaration)
    .some((doc) => ts.isJSDoc(doc) && doc.getText().replace(/[\s/*]/g, "") !== "");
}

function callablesOf(declaration) {
  if (ts.isFunctionDeclaration(declaration)) return [declaration];
  if (ts.isClassDeclaration(declaration))
    return declaration.members.filter((one) => ts.isFunctionLike(one) && !isPrivate(one));
  const value = ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
  return value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) ? [value] : [];
}

function isPrivate(member) {
  return (
    (member.name && ts.isPrivateIdentifier(member.name)) ||
    ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
  );
}

function exportsFactory({ folder, sources }) {
  const index = sources.find(({ path }) => path === `packages/${folder}/src/index.ts`);
  const lists =
    index?.ast.statements.filter(
      (one) => ts.isExportDeclaration(one) && one.exportClause && ts.isNamedExports(one.exportClause),
    ) ?? [];
  return lists.some(({ exportClause }) =>
    exportClause.elements.some(({ name }) => /^create[A-Z]\w*Adapter$/.test(name.text)),
  );
}
