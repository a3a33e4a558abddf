import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "@openfunctions/core";
import {
  type ChunkStore,
  cosine,
  type FilterNode,
  matchesFilter,
  type NewChunk,
  readFilter,
} from "@openfunctions/core/search";
import { describeChunkStore } from "@openfunctions/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { openSqlite, type SqliteStores } from "./open-sqlite.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const ADA = { owners: ["ada"] } as const;

const opened: SqliteStores[] = [];
afterEach(async () => {
  for (const stores of opened.splice(0)) await stores.close();
});

const fresh = async (): Promise<string> =>
  join(await mkdtemp(join(tmpdir(), "openfunctions-sqlite-")), "state.db");

async function openAt(file: string): Promise<SqliteStores> {
  const stores = await openSqlite({ file });
  opened.push(stores);
  return stores;
}

const chunksAt = async (file: string, name = "docs"): Promise<ChunkStore> =>
  (await openAt(file)).chunkStore(name);

interface Written {
  readonly content?: string;
  readonly owner?: string;
  readonly sourceId?: string;
  readonly metadata?: JsonObject;
  readonly vector?: readonly number[];
}

/** Writes a document of one chunk. */
async function write(
  store: ChunkStore,
  id: string,
  { content = "words", owner = "ada", sourceId = id, metadata = {}, vector }: Written = {},
): Promise<void> {
  const base = { id: `${id}:0`, documentId: id, start: 0, end: content.length, content, headings: [] };
  const chunk: NewChunk = { ...base, hash: content, ...(vector === undefined ? {} : { vector }) };
  const what = { id, owner, sourceId, contentHash: content, mediaType: "text/plain", metadata };
  await store.replace(
    { ...what, createdAt: "2026-11-30T12:00:00.000Z", length: content.length, chunkCount: 1 },
    [chunk],
  );
}

const idsOf = (hits: readonly { readonly id: string }[]): readonly string[] => hits.map(({ id }) => id);

describeChunkStore(
  "SQLite",
  {
    make: async () => {
      const file = await fresh();
      return { store: await chunksAt(file), reopen: () => chunksAt(file) };
    },
  },
  { describe, it },
);

describe("chunk stores in SQLite", () => {
  it("state D4: refuse names that are none, and make nothing before the first write", async () => {
    const file = await fresh();
    const stores = await openAt(file);
    expect(() => stores.chunkStore("../x")).toThrow(expect.objectContaining({ code: "bad_store_name" }));
    const store = stores.chunkStore("docs");
    expect(await store.searchKeyword(ADA, "words", 5)).toEqual([]);
    expect(await store.embedding()).toBeUndefined();
    const raw = new DatabaseSync(file);
    expect(raw.prepare("SELECT count(*) AS rows FROM openfunctions_chunk_stores").get()).toEqual({ rows: 0 });
    raw.close();
  });

  it("keep stores of different names apart, their word statistics too", async () => {
    const stores = await openAt(await fresh());
    const [one, two] = [stores.chunkStore("one"), stores.chunkStore("two")];
    await write(one, "d1", { content: "tea" });
    await write(one, "d2", { content: "water" });
    await write(one, "d3", { content: "milk" });
    const [before] = await one.searchKeyword(ADA, "tea", 5);
    for (let n = 0; n < 20; n += 1) await write(two, `d${n}`, { content: "tea tea" });
    expect(await one.searchKeyword(ADA, "tea", 5)).toEqual([before]);
    expect((await two.listDocuments(ADA)).documents).toHaveLength(20);
  });

  it("keep owners and ids apart that differ in half a character or a null", async () => {
    const store = await chunksAt(await fresh());
    const owners = ["a\ud800", "a\ud801", "a\u0000b", "a\u0000c", "a"];
    for (const owner of owners)
      await write(store, `id of ${owner}`, { owner, sourceId: "s", content: owner });
    for (const owner of owners) {
      expect(await store.findSource(owner, "s")).toMatchObject({ owner, contentHash: owner });
      expect((await store.listDocuments({ owners: [owner] })).documents).toHaveLength(1);
      expect((await store.readChunks({ owners }, `id of ${owner}`))[0]?.content).toBe(owner);
    }
  });

  it("see what another opening of the file wrote, also by vector", async () => {
    const file = await fresh();
    const [one, two] = [await chunksAt(file), await chunksAt(file)];
    await one.resetEmbedding({ model: "m", dimensions: 2 });
    await write(one, "d1", { vector: [1, 0] });
    expect(idsOf(await two.searchVector(ADA, [1, 0], 5))).toEqual(["d1:0"]);
    await write(one, "d2", { vector: [0, 1], sourceId: "d1" });
    await write(one, "d3", {});
    expect(idsOf(await two.searchVector(ADA, [1, 0], 5))).toEqual(["d2:0"]);
    await one.setVectors(new Map([["d3:0", [1, 0]]]));
    expect(idsOf(await two.searchVector(ADA, [1, 0], 5))).toEqual(["d3:0", "d2:0"]);
    await one.deleteDocument("ada", "d3");
    await write(one, "d4", { vector: [0.5, 0.5] });
    expect(idsOf(await two.searchVector(ADA, [1, 0], 5))).toEqual(["d4:0", "d2:0"]);
    await one.resetEmbedding({ model: "n", dimensions: 3 });
    expect(await two.searchVector(ADA, [1, 0, 0], 5)).toEqual([]);
    await one.setVectors(new Map([["d2:0", [0, 0, 1]]]));
    expect(idsOf(await two.searchVector(ADA, [1, 0, 0], 5))).toEqual(["d2:0"]);
  });

  it("find the nearest vectors exactly, whatever was written and removed between searches", async () => {
    const store = await chunksAt(await fresh());
    const random = randomOf(7);
    await store.resetEmbedding({ model: "m", dimensions: 5 });
    const held = new Map<string, readonly number[]>();
    for (let step = 0; step < 60 + 300 * SCALE; step += 1) {
      const id = `d${Math.floor(random() * 40)}`;
      const vector = Array.from({ length: 5 }, () => Math.fround(random() - 0.5));
      if (held.delete(id)) await store.deleteDocument("ada", id);
      else {
        await write(store, id, { vector });
        held.set(id, vector);
      }
      const query = Array.from({ length: 5 }, () => random() - 0.5);
      const wanted = [...held]
        .map(([key, one]) => ({ id: `${key}:0`, cosine: cosine(query, one) }))
        .sort((left, right) => right.cosine - left.cosine)
        .slice(0, 4);
      const hits = await store.searchVector(ADA, query, 4);
      expect(idsOf(hits)).toEqual(idsOf(wanted));
      for (const [index, hit] of hits.entries())
        expect(hit.cosine).toBeCloseTo(wanted[index]?.cosine ?? 9, 5);
    }
  });

  it("read everything again where more changed than is told, and find what is there", async () => {
    const file = await fresh();
    const [one, two] = [await chunksAt(file), await chunksAt(file)];
    await one.resetEmbedding({ model: "m", dimensions: 1 });
    await write(one, "d1", { vector: [1] });
    expect(await two.searchVector(ADA, [1], 10)).toHaveLength(1);
    const content = "word";
    const chunks = Array.from({ length: 5_000 }, (_, index): NewChunk => {
      const id = `big:${String(index).padStart(4, "0")}`;
      const place = { documentId: "big", start: index, end: index + 4, content, headings: [] };
      return { id, ...place, hash: "h", vector: [index === 4_321 ? 1 : -1] };
    });
    const document = { id: "big", owner: "bob", sourceId: "big", contentHash: "", mediaType: "text/plain" };
    const rest = { metadata: {}, createdAt: "2026-11-30T12:00:00.000Z", length: 5_004, chunkCount: 5_000 };
    await one.replace({ ...document, ...rest }, chunks);
    expect(idsOf(await two.searchVector({ owners: ["bob"] }, [1], 1))).toEqual(["big:4321"]);
    expect(await two.searchVector(ADA, [1], 10)).toHaveLength(1);
    const raw = new DatabaseSync(file);
    const told = raw.prepare("SELECT count(*) AS rows FROM openfunctions_vector_changes").get();
    raw.close();
    expect(Number(told?.["rows"])).toBeLessThanOrEqual(4_096);
  });

  it("mean by any filter what core means by it", async () => {
    const store = await chunksAt(await fresh());
    const random = randomOf(3);
    const records = Array.from({ length: 60 }, () => metadataOf(random));
    for (const [index, metadata] of records.entries()) await write(store, `d${10 + index}`, { metadata });
    for (let turn = 0; turn < 100 + 900 * SCALE; turn += 1) {
      const filter = filterOf(random, 0);
      const wanted = records.flatMap((one, index) => (matchesFilter(one, filter) ? [`d${10 + index}`] : []));
      const { documents } = await store.listDocuments({ ...ADA, filter });
      expect(idsOf(documents), JSON.stringify(filter)).toEqual(wanted);
    }
  });

  it("leave nothing open after a search that had enough, and nothing of what was deleted in the file", async () => {
    const file = await fresh();
    const store = await chunksAt(file);
    for (let n = 0; n < 20; n += 1) await write(store, `d${n}`, { content: `common words ${n}` });
    expect(await store.searchKeyword(ADA, "common", 2)).toHaveLength(2);
    await write(store, "secret", {
      content: "The Rumpelstiltskin Affair",
      metadata: { name: "Rumpelstiltskin" },
    });
    expect(await store.deleteDocument("ada", "secret")).toBe(true);
    for (const path of [file, `${file}-wal`])
      expect((await readFile(path)).includes("Rumpelstiltskin"), path).toBe(false);
    const raw = new DatabaseSync(file);
    expect(raw.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    raw.close();
  });

  it("give ledger and approvals over the same file", async () => {
    const file = await fresh();
    const stores = await openAt(file);
    for await (const entry of stores.ledger().list()) expect(entry).toBeUndefined();
    expect(await stores.approvals().list()).toEqual([]);
    await stores.close();
    expect(() => stores.ledger()).toThrow(expect.objectContaining({ code: "store_closed" }));
    expect(() => stores.chunkStore("docs")).toThrow(expect.objectContaining({ code: "store_closed" }));
  });

  it("refuses vectors that float32 cannot hold, and writes nothing of them", async () => {
    const store = await chunksAt(await fresh());
    await store.resetEmbedding({ model: "given", dimensions: 2 });
    await write(store, "good", { vector: [1, 0] });
    for (const number of [Number.NaN, Infinity, -Infinity, 1e39]) {
      const vector = [number, 1];
      await expect(write(store, "bad", { vector })).rejects.toMatchObject({ code: "invalid_argument" });
      await expect(store.setVectors(new Map([["good:0", vector]]))).rejects.toThrow("float32");
      await expect(store.searchVector(ADA, vector, 5)).rejects.toThrow("float32");
    }
    expect(await store.searchVector(ADA, [1, 0], 5)).toEqual([{ id: "good:0", cosine: 1 }]);
  });

  it("refuses metadata deeper than SQLite reads, which would fail every filtered search of its owner", async () => {
    const store = await chunksAt(await fresh());
    await write(store, "good", { metadata: { year: 2020 } });
    let metadata: JsonObject = { year: 2020 };
    for (let depth = 0; depth < 1_500; depth += 1) metadata = { below: metadata };
    await expect(write(store, "deep", { metadata })).rejects.toThrow("1,000 deep");
    const scope = { ...ADA, filter: readFilter({ path: "year", eq: 2020 }) };
    expect(idsOf(await store.searchKeyword(scope, "words", 5))).toEqual(["good:0"]);
    expect((await store.listDocuments(ADA)).documents).toHaveLength(1);
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses an embedding of %d dimensions", async (dimensions) => {
    const store = await chunksAt(await fresh());
    await expect(store.resetEmbedding({ model: "given", dimensions })).rejects.toThrow("dimensions");
    expect(await store.embedding()).toBeUndefined();
  });
});

const PATHS = ["a", "b.c", "b.0", "a.x"];
const VALUES = [
  0,
  -0,
  1,
  2,
  0.1 + 0.2,
  1e21,
  1152921504606846976,
  5e-324,
  "",
  "a",
  "Z",
  "é",
  "😀",
  "\uffee",
  'q"\\\u0000',
  true,
  false,
  null,
] as const;

function metadataOf(random: () => number): JsonObject {
  const one = (): (typeof VALUES)[number] => pick(random, VALUES);
  return {
    ...(random() < 0.7 ? { a: random() < 0.2 ? { x: one() } : one() } : {}),
    ...(random() < 0.7 ? { b: random() < 0.2 ? [one()] : { c: one(), 0: one() } } : {}),
  };
}

function filterOf(random: () => number, depth: number): FilterNode {
  const path = pick(random, PATHS);
  const kind = pick(random, depth < 3 ? (["and", "or", "not", "is", "is"] as const) : (["is"] as const));
  const below = (): FilterNode => filterOf(random, depth + 1);
  if (kind === "not") return { type: "not", part: below() };
  if (kind !== "is") return { type: kind, parts: Array.from({ length: Math.floor(random() * 3) }, below) };
  const value = pick(random, VALUES);
  if (random() < 0.15) return readFilter({ path, exists: random() < 0.5 });
  if (random() < 0.4 || value === null || typeof value === "boolean") return readFilter({ path, eq: value });
  return readFilter({ path, [pick(random, ["lt", "lte", "gt", "gte"])]: value });
}

function pick<T>(random: () => number, list: readonly [T, ...T[]] | readonly T[]): T {
  const found = list[Math.floor(random() * list.length)];
  if (found === undefined) throw new Error("An empty list.");
  return found;
}

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
