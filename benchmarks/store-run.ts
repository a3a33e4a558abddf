/**
 * node store-run.ts values: puts and gets by store-sqlite, and the same by hand with `node:sqlite`.
 * node store-run.ts chunks <count>: writes chunks, and searches them beside a bare FTS5 query and a bare loop.
 *
 * Prints one line of JSON.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "@openfunctions/store-sqlite";
import { DIMENSIONS, OWNER, PER_DOCUMENT, SampleChunks } from "./sample-chunks.ts";
import { inTurns, named } from "./turns.ts";

const PUTS = 300;
const GETS = 3_000;
const LIMIT = 10;

const [what = "", count = "10000"] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "openfunctions-bench-"));
try {
  const result = what === "values" ? await measureValues() : await measureChunks(Number(count));
  console.log(JSON.stringify(result));
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measureValues(): Promise<Readonly<Record<string, number>>> {
  const stores = await openSqlite({ file: join(folder, "ours.db") });
  const store = stores.store("values");
  const raw = openRaw("raw.db");
  raw.exec("CREATE TABLE kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID");
  const put = raw.prepare(
    "INSERT INTO kept VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  );
  const get = raw.prepare("SELECT value FROM kept WHERE key = ?");
  const keyOf = (n: number): string => `key-${n % PUTS}`;
  const valueOf = (n: number): { readonly n: number; readonly text: string } => ({
    n,
    text: "x".repeat(200),
  });
  const puts = await inTurns(PUTS, {
    ours: (n) => store.set(keyOf(n), valueOf(n)),
    raw: (n) => put.run(keyOf(n), JSON.stringify(valueOf(n))),
  });
  const gets = await inTurns(GETS, {
    ours: (n) => store.get(keyOf(n)),
    raw: (n) => JSON.parse(String(get.get(keyOf(n))?.["value"])),
  });
  raw.close();
  await stores.close();
  return { ...named("put", puts), ...named("get", gets) };
}

async function measureChunks(size: number): Promise<Readonly<Record<string, number>>> {
  const samples = new SampleChunks();
  const stores = await openSqlite({ file: join(folder, "ours.db") });
  const store = stores.chunkStore("docs");
  await store.resetEmbedding({ model: "random", dimensions: DIMENSIONS });
  const raw = openRaw("raw.db");
  raw.exec("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')");
  const insert = raw.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)");
  const numbers = new Float32Array(size * DIMENSIONS);
  let ingestMs = 0;
  for (let first = 0; first < size; first += PER_DOCUMENT) {
    const { document, chunks } = samples.document(first);
    for (const [n, { vector = [] }] of chunks.entries())
      numbers.set(toUnit(vector), (first + n) * DIMENSIONS);
    const began = performance.now();
    await store.replace(document, chunks);
    ingestMs += performance.now() - began;
    raw.exec("BEGIN");
    for (const [n, { content }] of chunks.entries()) insert.run(first + n, content);
    raw.exec("COMMIT");
  }
  const match = raw.prepare("SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?");
  const queries = Array.from({ length: 100 }, () => samples.text(6));
  const scope = { owners: [OWNER] };
  const keyword = await inTurns(queries.length, {
    ours: (n) => store.searchKeyword(scope, queries[n] ?? "", LIMIT),
    raw: (n) =>
      match.all(
        (queries[n] ?? "")
          .split(" ")
          .map((word) => `"${word}"`)
          .join(" OR "),
        LIMIT,
      ),
  });
  const vectors = Array.from({ length: 60 }, () => samples.vector());
  await store.searchVector(scope, samples.vector(), LIMIT);
  const vector = await inTurns(vectors.length, {
    ours: (n) => store.searchVector(scope, vectors[n] ?? [], LIMIT),
    raw: (n) => nearest(numbers, toUnit(vectors[n] ?? [])),
  });
  raw.close();
  await stores.close();
  return {
    rowsPerSecond: (size / ingestMs) * 1_000,
    ...named("keyword", keyword),
    ...named("vector", vector),
  };
}

/** The bare loop: a product with every vector, and the best of them. */
function nearest(numbers: Float32Array, query: Float32Array): readonly number[] {
  const cosines = new Float64Array(numbers.length / DIMENSIONS);
  for (let slot = 0; slot < cosines.length; slot += 1) {
    const start = slot * DIMENSIONS;
    let sum = 0;
    for (let at = 0; at < DIMENSIONS; at += 1) sum += (query[at] ?? 0) * (numbers[start + at] ?? 0);
    cosines[slot] = sum;
  }
  const least = cosines.toSorted().at(-LIMIT) ?? 0;
  const best: number[] = [];
  for (let slot = 0; slot < cosines.length; slot += 1) if ((cosines[slot] ?? 0) >= least) best.push(slot);
  return best.sort((left, right) => (cosines[right] ?? 0) - (cosines[left] ?? 0));
}

/** With the durability that store-sqlite has by default. */
function openRaw(name: string): DatabaseSync {
  const raw = new DatabaseSync(join(folder, name));
  raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  return raw;
}

function toUnit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (number) => number / length);
}
