/** The programs we are compared with, each installed in its own folder, and our own packages as a user gets them. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of `peers/`. */
export type Peer = "fetch" | "openai-sdk" | "ai-sdk" | "ai-sdk-stream" | "openfunctions";

/** How each peer is called in the report. */
export const PEER_NAMES: Readonly<Record<Peer, string>> = {
  fetch: "bare `fetch`",
  "openai-sdk": "bare `openai` SDK",
  "ai-sdk": "AI SDK (`ai` + `@ai-sdk/openai`)",
  "ai-sdk-stream": "AI SDK, streamed",
  openfunctions: "openFunctions (core + adapter-openai)",
};

const ROOT = join(import.meta.dirname, "..");
const PEERS = join(import.meta.dirname, "peers");
/** Packed for the peer `openfunctions`: what a program with one adapter needs. */
const PACKED = ["packages/core", "packages/adapter-openai"];
const QUIET = ["--no-audit", "--no-fund", "--loglevel=error"];

/** Installs the foreign peers from their lockfiles, and ours from tarballs built and packed now. */
export function installPeers(): void {
  for (const peer of ["openai-sdk", "ai-sdk"] as const) {
    if (isUpToDate(peer)) continue;
    run("npm", ["ci", ...QUIET], folderOf(peer));
  }
  installOurs();
}

/** What npm put into a peer's folder. */
export interface Footprint {
  readonly packages: number;
  readonly files: number;
  readonly megabytes: number;
}

/** Counts what is installed for a peer. */
export function footprintOf(peer: Peer): Footprint {
  const modules = join(folderOf(peer), "node_modules");
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const bytes = files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
  return { packages: installedPackages(modules).length, files: files.length, megabytes: bytes / 1024 ** 2 };
}

function installOurs(): void {
  const scratch = mkdtempSync(join(tmpdir(), "openfunctions-bench-"));
  try {
    run(process.execPath, [join(ROOT, "scripts", "build.mjs")], ROOT);
    const filters = PACKED.flatMap((path) => ["--filter", `./${path}`]);
    run("npx", ["--yes", pinnedPnpm(), ...filters, "pack", "--pack-destination", scratch], ROOT);
    const tarballs = readdirSync(scratch).map((file) => join(scratch, file));
    if (tarballs.length !== PACKED.length)
      throw new Error(`pnpm packed ${tarballs.length} of ${PACKED.length} packages.`);
    const folder = folderOf("openfunctions");
    // The version does not change between builds: npm would keep what it has.
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    run("npm", ["install", "--no-save", "--no-package-lock", ...QUIET, ...tarballs], folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function folderOf(peer: Peer): string {
  return join(PEERS, peer);
}

/** npm leaves a copy of the lockfile it installed, newer than the one it read. */
function isUpToDate(peer: Peer): boolean {
  const wanted = join(folderOf(peer), "package-lock.json");
  const installed = join(folderOf(peer), "node_modules", ".package-lock.json");
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs;
}

function installedPackages(modules: string): readonly string[] {
  const lock: unknown = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
  const packages =
    typeof lock === "object" && lock !== null && "packages" in lock ? lock.packages : undefined;
  return Object.keys(packages ?? {});
}

function pinnedPnpm(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  if (typeof manifest !== "object" || manifest === null || !("packageManager" in manifest)) {
    throw new Error("The root package.json pins no package manager.");
  }
  return String(manifest.packageManager);
}

function run(program: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    // npm and npx are .cmd files on Windows, which only a shell can start.
    shell: process.platform === "win32" && program !== process.execPath,
  });
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? ""}\n${stdout}${stderr}`);
}
