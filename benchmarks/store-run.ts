/**
 * node store-run.ts values: puts and gets by store-sqlite, and the same by hand with `node:sqlite`.
 * node store-run.ts chunks <count>: writes chunks, and searches them beside a bare FTS5 query and a bare loop.
 *
 * Both ways take turns in one process, so that a busy machine meets both alike. Prints one line of JSON.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { DocumentRecord, NewChunk } from "@openfunctions/core/search";
import { openSqlite } from "@openfunctions/store-sqlite";
import { summarize } from "./statistics.ts";

const PUTS = 300;
const GETS = 3_000;
const DIMENSIONS = 384;
const PER_DOCUMENT = 20;
const LIMIT = 10;
const OWNER = "bench";

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
  const random = randomOf(11);
  const words = Array.from({ length: 8_000 }, (_, n) => wordOf(n));
  // Few words are common and most are rare, as in any language.
  const textOf = (length: number): string =>
    Array.from({ length }, () => words[Math.floor(words.length * random() ** 4)] ?? "").join(" ");
  const vectorOf = (): readonly number[] => Array.from({ length: DIMENSIONS }, () => random() - 0.5);
  const stores = await openSqlite({ file: join(folder, "ours.db") });
  const store = stores.chunkStore("docs");
  await store.resetEmbedding({ model: "random", dimensions: DIMENSIONS });
  const raw = openRaw("raw.db");
  raw.exec("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')");
  const insert = raw.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)");
  const numbers = new Float32Array(size * DIMENSIONS);
  let ingestMs = 0;
  for (let first = 0; first < size; first += PER_DOCUMENT) {
    const chunks = Array.from({ length: PER_DOCUMENT }, (_, n): NewChunk => {
      const [content, vector] = [textOf(150), vectorOf()];
      numbers.set(toUnit(vector), (first + n) * DIMENSIONS);
      const place = { documentId: `d${first}`, start: n * 2_000, end: n * 2_000 + content.length };
      return { id: `d${first}:${n}`, ...place, content, headings: [], hash: `${first + n}`, vector };
    });
    const began = performance.now();
    await store.replace(documentOf(`d${first}`), chunks);
    ingestMs += performance.now() - began;
    raw.exec("BEGIN");
    for (const [n, { content }] of chunks.entries()) insert.run(first + n, content);
    raw.exec("COMMIT");
  }
  const match = raw.prepare("SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?");
  const queries = Array.from({ length: 100 }, () => textOf(6));
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
  const vectors = Array.from({ length: 60 }, vectorOf);
  await store.searchVector(scope, vectorOf(), LIMIT);
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

type Ways = Readonly<Record<"ours" | "raw", (n: number) => unknown>>;
type Times = Readonly<Record<"ours" | "raw", readonly number[]>>;

/** Milliseconds of each turn; who begins changes from turn to turn. */
async function inTurns(turns: number, ways: Ways): Promise<Times> {
  const times: Record<"ours" | "raw", number[]> = { ours: [], raw: [] };
  for (let n = 0; n < turns; n += 1) {
    for (const way of n % 2 === 0 ? (["ours", "raw"] as const) : (["raw", "ours"] as const)) {
      const began = performance.now();
      await ways[way](n);
      times[way].push(performance.now() - began);
    }
  }
  return times;
}

function named(name: string, times: Times): Readonly<Record<string, number>> {
  const late = (way: keyof Times): number =>
    times[way].toSorted((left, right) => left - right)[Math.floor(times[way].length * 0.95)] ?? 0;
  return {
    [`${name}Ours`]: summarize(times.ours).median,
    [`${name}Raw`]: summarize(times.raw).median,
    [`${name}OursLate`]: late("ours"),
    [`${name}RawLate`]: late("raw"),
  };
}

/** With the durability that store-sqlite has by default. */
function openRaw(name: string): DatabaseSync {
  const raw = new DatabaseSync(join(folder, name));
  raw.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  return raw;
}

function documentOf(id: string): DocumentRecord {
  const what = { id, owner: OWNER, sourceId: id, contentHash: id, mediaType: "text/plain", metadata: {} };
  return { ...what, createdAt: new Date(0).toISOString(), length: 40_000, chunkCount: PER_DOCUMENT };
}

function toUnit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (number) => number / length);
}

/** A made-up word of four to ten letters. */
function wordOf(n: number): string {
  const syllables = ["ba", "de", "fi", "go", "ku", "la", "mo", "ne", "ri", "su", "ta", "vo"];
  let word = "";
  for (let left = n + 12; left > 0; left = Math.floor(left / 12)) word += syllables[left % 12] ?? "";
  return word;
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
