// npm run readmes: copies the code that READMEs and docs/ show from the programs that CI runs, so that what is shown
// compiles and works. A fence names its source, a file or a region of one, by its path from the root:
//
//   ```ts source="examples/01-tool/main.ts#define"
//
// where the file holds `// #region define` ... `// #endregion`. `--check` only compares.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

import { root as repository } from "./bootstrap.mjs";
import { closeRun, countChecks } from "./steps.mjs";
import { filesBelow, foldersIn } from "./workspace.mjs";

const FENCE = /^```(?:ts|typescript)\b([^\n]*)\n([\s\S]*?)^```$/gm;

const { values } = parseArgs({
  options: { root: { type: "string", default: repository }, check: { type: "boolean", default: false } },
});
closeRun(countChecks(readmes().map(sync)));

function readmes() {
  const below = ["packages", "apps", "examples"].flatMap((group) => [
    join(values.root, group, "README.md"),
    ...foldersIn(join(values.root, group)).flatMap((name) => filesBelow(join(values.root, group, name))),
  ]);
  const pages = filesBelow(join(values.root, "docs")).filter((path) => path.endsWith(".md"));
  return [
    ...[join(values.root, "README.md"), ...below].filter(
      (path) => path.endsWith("README.md") && existsSync(path),
    ),
    ...pages,
  ];
}

function sync(path) {
  const text = readFileSync(path, "utf8");
  const problems = [];
  const updated = text.replace(FENCE, (...match) => {
    const [fence, info, code, offset] = match;
    const at = `${relative(values.root, path)}:${text.slice(0, offset).split("\n").length}`;
    const { source, problem } = readSource(info);
    if (problem) problems.push(`${at}  ${problem}`);
    else if (values.check && source !== code)
      problems.push(`${at}  differs from its source: run \`npm run readmes\``);
    return problem ? fence : `${fence.slice(0, fence.indexOf("\n") + 1)}${source}\`\`\``;
  });
  if (!values.check && updated !== text) writeFileSync(path, updated);
  return { name: relative(values.root, path), ok: problems.length === 0, output: problems.join("\n") };
}

function readSource(info) {
  const [, file, region] = info.match(/\bsource="([^"#]+)(?:#([^"]+))?"/) ?? [];
  if (file === undefined) return { problem: 'shows code that nothing runs: name its source="file#region"' };
  if (!existsSync(join(values.root, file))) return { problem: `there is no file ${file}` };
  const lines = readFileSync(join(values.root, file), "utf8").split("\n");
  if (region === undefined) return { source: lines.join("\n") };
  const start = lines.findIndex((line) => line.trim() === `// #region ${region}`);
  const length = lines.slice(start + 1).findIndex((line) => line.trim() === "// #endregion");
  if (start < 0 || length < 0) return { problem: `${file} has no region "${region}"` };
  return { source: dedent(lines.slice(start + 1, start + 1 + length)) };
}

function dedent(lines) {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const indent = Math.min(...indents, Infinity);
  return `${lines.map((line) => line.slice(indent)).join("\n")}\n`;
}
