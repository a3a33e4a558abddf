/** A database in a directory: who may open it, what is left of it, and databases of the version before. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readdir, readFile, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { readFilter } from "@openfunctions/core/search";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPgliteStore, openPglite, openPostgres } from "../src/index.ts";
import { documentNumber } from "./support/samples.ts";

function start(program: string, ...args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(`support/${program}`, import.meta.url));
  return spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

async function outputOf(child: ChildProcess): Promise<string> {
  let output = "";
  child.stdout?.on("data", (data: Buffer) => (output += String(data)));
  await once(child, "close");
  return output;
}

describe("a directory", () => {
  let folder: string;
  let dir: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "openfunctions-pglite-"));
    dir = join(folder, "data");
    const earlier = await PGlite.create({ dataDir: dir, extensions: { vector } });
    const fixture = await readFile(new URL("fixtures/version-3.sql", import.meta.url), "utf8");
    await earlier.exec(fixture.replaceAll("{p}", "earlier"));
    await earlier.close();
    // So that searches go by the index, and the index gives up at once.
    const settings = ["enable_sort = off", "enable_seqscan = off", "enable_bitmapscan = off"];
    const lines = [...settings, "hnsw.max_scan_tuples = 1"].map((line) => `${line}\n`).join("");
    await appendFile(join(dir, "postgresql.conf"), `\n${lines}`);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("is one process's alone, and free again when that process is dead or has closed it", async () => {
    const holder = start("hold-directory.ts", dir);
    if (holder.stdout !== null) await once(holder.stdout, "data");
    try {
      await expect(openPglite({ dir })).rejects.toMatchObject({
        code: "store_locked",
        message: expect.stringContaining(`process ${holder.pid}`),
      });
      await symlink(dir, join(folder, "link"));
      await expect(openPglite({ dir: join(folder, "link") })).rejects.toMatchObject({
        code: "store_locked",
      });
    } finally {
      holder.kill("SIGKILL");
      await once(holder, "close");
    }
    const store = await createPgliteStore("things", { dir });
    expect(await store.get("a")).toBe(1);
    await expect(createPgliteStore("things", { dir })).rejects.toMatchObject({ code: "store_locked" });
    await store.close();
    expect((await readdir(folder)).toSorted()).toEqual(["data", "link"]);
  });

  it("of the version before keeps what is in it, vectors too", async () => {
    const stores = await openPglite({ dir, tablePrefix: "earlier" });
    try {
      const chunks = await stores.chunkStore("docs");
      const scope = { owners: ["ada"] };
      expect(await stores.store("things").get("a")).toEqual({ kept: true });
      expect(await chunks.searchVector(scope, [1, 0], 1)).toEqual([{ id: "d1:000000000", cosine: 1 }]);
      expect(await chunks.embedding()).toEqual({ model: "sample-2", dimensions: 2, complete: true });
      expect(await stores.runStore().list()).toEqual({ runs: [] });
    } finally {
      await stores.close();
    }
  });

  it("field E1: gives by vector what a filter leaves, where the index gives up before it comes there", async () => {
    const stores = await openPglite({ dir, tablePrefix: "earlier" });
    try {
      const chunks = await stores.chunkStore("docs");
      const near = Array.from({ length: 300 }, (_, n) => [1, n / 1_000]);
      const many = documentNumber(1, { id: "many", texts: near.map(() => "near "), vectors: near });
      await chunks.replace(many.document, many.pieces);
      const far = documentNumber(2, { id: "far", sourceId: "far", texts: ["far"], vectors: [[-1, 0]] });
      await chunks.replace(far.document, far.pieces);
      const scope = { owners: ["ada"], filter: readFilter({ path: "n", eq: 2 }) };
      const [hit, ...others] = await chunks.searchVector(scope, [1, 0], 1);
      expect([hit?.id, others]).toEqual(["far:000000000", []]);
      expect(hit?.cosine).toBeCloseTo(-1);
    } finally {
      await stores.close();
    }
  });

  it("is made for its owner only, and nothing is made for a name or a prefix that is none", async () => {
    const place = join(folder, "new");
    await expect(createPgliteStore("../x", { dir: place })).rejects.toMatchObject({
      code: "bad_store_name",
    });
    await expect(openPglite({ dir: place, tablePrefix: "../x" })).rejects.toMatchObject({
      code: "invalid_config",
    });
    await expect(openPglite({ dir: "" })).rejects.toMatchObject({ code: "invalid_config" });
    for (const url of ["", "mysql://h/d", "postgres://u:secret@h/d?port=x"])
      await expect(openPostgres({ url })).rejects.toMatchObject({
        code: "invalid_config",
        message: expect.not.stringContaining("secret"),
      });
    await expect(openPglite({ dir: "memory://x" })).rejects.toMatchObject({ code: "invalid_config" });
    expect(await readdir(folder)).not.toContain("new");
    expect((await stat(dir)).isDirectory()).toBe(true);
  });

  it("cannot be opened without its packages, and says what to install", async () => {
    const lines = (await outputOf(start("without-pglite.ts"))).trim().split("\n");
    const hint = "npm install @electric-sql/pglite @electric-sql/pglite-pgvector";
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual(
      ["@electric-sql/pglite", "@electric-sql/pglite-pgvector"].map((name) => ({
        code: "package_missing",
        hint,
        message: `A database in a directory needs the package "${name}".`,
      })),
    );
  });
});
