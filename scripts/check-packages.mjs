// npm run check:packages: what a user gets. Packs every published package as pnpm would publish it (npm
// ignores publishConfig.exports), lints the tarballs, then installs them with npm into an empty folder,
// type-checks a consumer and runs it under the lowest Node we support and under the one we develop on.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { bootstrap, node, root, runPnpm, tsc } from "./bootstrap.mjs";
import { build } from "./build.mjs";
import { closeRun, countChecks, runCheck } from "./steps.mjs";
import { exampleFiles, publishedPackages } from "./workspace.mjs";

const FLOOR = "22.18.0";
const CONSUMED = /^@openfunctions\/(core|adapter-.+|mcp-server|rag)$/;
const ALLOWED_IN_TARBALL =
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|dist\/licenses\/.+\.txt|dist\/.+\.(js|d\.ts|schema\.json))$/;
const NODE_TYPES = "@types/node@22.18.0";

/** Runs all of it inside `scratch` and returns the checks; `env` is what the started programs see. */
export function checkPackages({ scratch, env = process.env }) {
  mkdirSync(scratch, { recursive: true });
  const built = build();
  if (!built.ok) return [{ name: "build", ok: false, output: built.output }];
  const tarballs = packAll(scratch);
  return [
    { name: "build", ok: true },
    ...tarballs.flatMap((tarball) => checkTarball(tarball, env)),
    ...checkConsumer(join(scratch, "consumer"), { tarballs, env }),
  ];
}

function packAll(destination) {
  const published = publishedPackages(root);
  const filters = published.flatMap(({ path }) => ["--filter", `./${path}`]);
  const result = runPnpm([...filters, "pack", "--pack-destination", destination, "--json"], {
    encoding: "utf8",
  });
  if (result.status !== 0) throw new Error(`pnpm pack failed:\n${result.stdout}${result.stderr}`);
  const packed = JSON.parse(result.stdout);
  const missing = published.filter(({ name }) => !packed.some((tarball) => tarball.name === name));
  if (missing.length > 0) throw new Error(`Not packed: ${missing.map(({ name }) => name).join(", ")}`);
  return packed.map(({ name, filename, files }) => ({
    name,
    file: filename,
    paths: files.map(({ path }) => path),
    hasExports: published.some((one) => one.name === name && one.manifest.exports !== undefined),
  }));
}

function checkTarball({ name, file, paths, hasExports }, env) {
  const run = (tool, script, args) =>
    runCheck(`${tool} ${name}`, [node, join(root, "node_modules", script), ...args], { cwd: root, env });
  const checks = [checkContents(name, paths), run("publint", "publint/src/cli.js", ["--strict", file])];
  // A package that is only a command has no types to look at.
  if (hasExports)
    checks.push(run("attw", "@arethetypeswrong/cli/dist/index.js", [file, "--profile", "esm-only"]));
  return checks;
}

function checkContents(name, paths) {
  const strange = paths.filter(
    (path) => !ALLOWED_IN_TARBALL.test(path) || /\.test(-d)?\.|__fixtures__/.test(path),
  );
  const missing = ["README.md", "LICENSE"].filter((path) => !paths.includes(path));
  const output = [
    ...strange.map((path) => `should not be packed: ${path}`),
    ...missing.map((path) => `missing: ${path}`),
  ];
  return { name: `contents ${name}`, ok: output.length === 0, output: output.join("\n") };
}

function checkConsumer(folder, { tarballs, env }) {
  cpSync(join(root, "scripts", "consumer"), folder, { recursive: true });
  const files = tarballs.filter(({ name }) => CONSUMED.test(name)).map(({ file }) => file);
  writeFileSync(
    join(folder, "package.json"),
    `${JSON.stringify({ name: "consumer", private: true, type: "module" })}\n`,
  );
  const options = { cwd: folder, env, shell: process.platform === "win32" };
  const installed = runCheck(
    "consumer install",
    ["npm", "install", "--no-audit", "--no-fund", ...files, NODE_TYPES, `node@${FLOOR}`],
    options,
  );
  if (!installed.ok) return [installed];
  const floor = join(folder, "node_modules", "node", "bin", "node");
  return [
    installed,
    runCheck("consumer types", [node, tsc, "-p", "tsconfig.json"], { cwd: folder, env }),
    ...[node, floor].map((program) =>
      runCheck(`consumer runs on ${versionOf(program)}`, [program, "main.ts"], { cwd: folder, env }),
    ),
    { ...checkVersion(floor), name: `floor is ${FLOOR}` },
    ...exampleFiles(root).map((file) =>
      runCheck(`${file} on ${FLOOR}`, [floor, file], { cwd: root, env, timeout: 60_000 }),
    ),
  ];
}

function versionOf(program) {
  return runCheck("version", [program, "--version"]).output.trim();
}

// The folder must hold the Node it claims to: a wrong one would make the floor check mean nothing.
function checkVersion(program) {
  const output = versionOf(program);
  return { ok: output === `v${FLOOR}`, output };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  bootstrap();
  const scratch = mkdtempSync(join(tmpdir(), "openfunctions-packages-"));
  try {
    closeRun(countChecks(checkPackages({ scratch })));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
