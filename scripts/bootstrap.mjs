// Makes a fresh clone ready, with nothing but Node and npm on the machine. Plain JavaScript that
// Node 20 reads and no dependencies, because it runs before there are any.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The Node the repository is developed on: the npm package `node`, whatever the system has. */
export const node = join(
  root,
  "node_modules",
  "node",
  "bin",
  process.platform === "win32" ? "node.exe" : "node",
);

/** The compiler that checks and builds (TypeScript 7); `typescript` itself is 6, for tools that need its API. */
export const tsc = join(root, "node_modules", "typescript7", "bin", "tsc");

const PNPM = `pnpm@${pinnedPnpm()}`;
const STAMP = join(root, "node_modules", ".openfunctions-installed");
// A change in any of these means that what is installed may no longer be what is asked for.
const INSTALL_INPUTS = ["pnpm-lock.yaml", "pnpm-workspace.yaml"];

/** Installs when the lockfile is newer than what is installed; otherwise returns at once. Speaks on stderr only. */
export function bootstrap() {
  const wanted = fingerprint();
  if (isInstalled(wanted)) return;
  process.stderr.write("Installing dependencies (about half a minute on a cold machine)...\n");
  const result = runPnpm(["install", "--frozen-lockfile"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (result.status !== 0) {
    process.stderr.write(`${result.stdout ?? ""}${result.stderr ?? ""}`);
    process.stderr.write(`Installation failed${result.error ? `: ${result.error.message}` : ""}.\n`);
    process.exit(1);
  }
  writeFileSync(STAMP, wanted);
}

/** Runs pnpm through npx, so that it need not be on the PATH. */
export function runPnpm(args, options = {}) {
  return spawnSync("npx", ["--yes", PNPM, ...args], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
    // npx is a .cmd file on Windows, which only a shell can start.
    shell: process.platform === "win32",
    ...options,
  });
}

function isInstalled(wanted) {
  return existsSync(node) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted;
}

function fingerprint() {
  const hash = createHash("sha256");
  for (const file of INSTALL_INPUTS) hash.update(readFileSync(join(root, file))).update("\0");
  // node_modules holds binaries of one platform; a tree shared between two must be reinstalled.
  return hash.update(`${process.platform}-${process.arch}`).digest("hex");
}

function pinnedPnpm() {
  const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return packageManager.split("@")[1];
}
