/**
 * node pglite-run.ts <count>: writes chunks into PGlite, and searches them by vector beside a bare `<=>` query over a
 * table of its own with the same index. Prints one line of JSON.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { openPglite } from "@openfunctions/store-postgres";
import { DIMENSIONS, OWNER, PER_DOCUMENT, SampleChunks } from "./sample-chunks.ts";
import { inTurns, named } from "./turns.ts";

const QUERIES = 60;
const LIMIT = 10;

const size = Number(process.argv[2] ?? "10000");
const folder = await mkdtemp(join(tmpdir(), "openfunctions-bench-"));
const stores = await openPglite({ dir: join(folder, "ours") });
const raw = await PGlite.create({ dataDir: join(folder, "raw"), extensions: { vector } });
try {
  console.log(JSON.stringify(await measure()));
} finally {
  await raw.close();
  await stores.close();
  await rm(folder, { recursive: true, force: true });
}

async function measure(): Promise<Readonly<Record<string, number>>> {
  const samples = new SampleChunks();
  const store = await stores.chunkStore("docs");
  await store.resetEmbedding({ model: "random", dimensions: DIMENSIONS });
  // The index that store-postgres makes: pgvector's defaults, m 16 and ef_construction 64.
  await raw.exec(`CREATE EXTENSION vector; CREATE TABLE chunks (n int, v vector(${DIMENSIONS}));
    CREATE INDEX ON chunks USING hnsw (v vector_cosine_ops)`);
  let ingestMs = 0;
  for (let first = 0; first < size; first += PER_DOCUMENT) {
    const { document, chunks } = samples.document(first);
    const began = performance.now();
    await store.replace(document, chunks);
    ingestMs += performance.now() - began;
    const rows = chunks.map(({ vector: one }, n) => `(${first + n}, '[${(one ?? []).join(",")}]')`);
    await raw.exec(`INSERT INTO chunks VALUES ${rows.join(",")}`);
  }
  await raw.exec("ANALYZE chunks");
  const scope = { owners: [OWNER] };
  const queries = Array.from({ length: QUERIES }, () => samples.vector());
  await store.searchVector(scope, samples.vector(), LIMIT);
  const nearest = await inTurns(queries.length, {
    ours: (n) => store.searchVector(scope, queries[n] ?? [], LIMIT),
    raw: (n) =>
      raw.query("SELECT n, 1 - (v <=> $1::vector) AS cosine FROM chunks ORDER BY v <=> $1::vector LIMIT $2", [
        `[${(queries[n] ?? []).join(",")}]`,
        LIMIT,
      ]),
  });
  const words = Array.from({ length: QUERIES }, () => samples.text(6));
  const keyword = await inTurns(words.length, {
    ours: (n) => store.searchKeyword(scope, words[n] ?? "", LIMIT),
    raw: () => undefined,
  });
  return {
    rowsPerSecond: (size / ingestMs) * 1_000,
    ...named("vector", nearest),
    keywordOurs: named("keyword", keyword)["keywordOurs"] ?? 0,
  };
}
