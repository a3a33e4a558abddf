/**
 * npm run -s bench:retrieval -- --data <folder> [--mode keyword|vector|hybrid] [--store memory|sqlite|pglite]
 *   [--vectors <folder> | --embedder hash] [--json]
 *
 * How well a chunk store finds what people judged relevant in a public collection, beside a plain BM25. README.md says
 * what the folders hold.
 */

import { type ChunkStore, hybridSearch } from "@openfunctions/core/search";
import { evaluateRetrieval, type RetrievalQuality } from "@openfunctions/rag";
import { type Collection, readCollection } from "./beir.ts";
import { documentOf, OWNER, type StoreName, STORES, withChunkStore, writeDocument } from "./chunk-stores.ts";
import { createReferenceVectors, type GivenVectors, hashVectors, readVectors } from "./given-vectors.ts";
import { createReferenceBm25 } from "./reference-bm25.ts";
import { readArguments } from "./read-arguments.ts";

const USAGE =
  "npm run -s bench:retrieval -- --data <BEIR folder> [--mode keyword|vector|hybrid] [--store memory|sqlite|pglite] [--vectors <folder>] [--embedder hash] [--json]";

const MODES = ["keyword", "vector", "hybrid"] as const;
type Mode = (typeof MODES)[number];
const SCOPE = { owners: [OWNER] };

const options = readOptions();
const collection = await readCollection(options.data);
const vectors = await vectorsOf(collection);
const report = {
  data: options.data,
  mode: options.mode,
  store: options.store,
  documents: collection.documents.length,
  ...(await withChunkStore(options.store, measure)),
};
if (options.json) console.log(JSON.stringify(report));
else console.table(Object.fromEntries(rowsOf(report)));

async function measure(store: ChunkStore): Promise<{
  readonly ours: RetrievalQuality;
  readonly reference: Readonly<Record<string, RetrievalQuality>>;
}> {
  if (vectors !== undefined) await store.resetEmbedding(vectors.embedder);
  for (const { id, text } of collection.documents) {
    const vector = vectors?.documents.get(id);
    await writeDocument(store, { id, text, ...(vector === undefined ? {} : { vector }) });
  }
  const quality = (
    search: (text: string, limit: number) => Promise<readonly string[]>,
  ): Promise<RetrievalQuality> => evaluateRetrieval({ ...collection, search });
  const bm25 = createReferenceBm25(collection.documents);
  return {
    ours: await quality(async (text, limit) => (await search(store, text, limit)).map(documentOf)),
    reference: {
      bm25: await quality(async (text, limit) => bm25(text, limit)),
      ...(vectors === undefined ? {} : { vectors: await quality(createReferenceVectors(vectors)) }),
    },
  };
}

async function search(store: ChunkStore, text: string, limit: number): Promise<readonly string[]> {
  if (options.mode === "keyword" || vectors === undefined)
    return (await store.searchKeyword(SCOPE, text, limit)).map(({ id }) => id);
  const { embedder } = vectors;
  if (options.mode === "vector") {
    const [vector = []] = await embedder.embed([text], { kind: "query" });
    return (await store.searchVector(SCOPE, vector, limit)).map(({ id }) => id);
  }
  const source = {
    keyword: (query: string, count: number) => store.searchKeyword(SCOPE, query, count),
    vector: (vector: readonly number[], count: number) => store.searchVector(SCOPE, vector, count),
  };
  const { hits } = await hybridSearch(source, text, { limit, embedder, weights: { keyword: 1, vector: 1 } });
  return hits.map(({ id }) => id);
}

async function vectorsOf(from: Collection): Promise<GivenVectors | undefined> {
  if (options.vectors !== undefined) return readVectors(options.vectors, from);
  if (options.embedder === "hash") return hashVectors(from);
  if (options.mode !== "keyword") fail(`Mode "${options.mode}" needs --vectors <folder> or --embedder hash.`);
  return undefined;
}

function rowsOf({
  ours,
  reference,
}: {
  readonly ours: RetrievalQuality;
  readonly reference: Readonly<Record<string, RetrievalQuality>>;
}): readonly (readonly [string, Readonly<Record<string, number>>])[] {
  return Object.entries({ [`${options.store}, ${options.mode}`]: ours, ...reference }).map(
    ([name, { ndcg10, recall, mrr, queries }]) => {
      const digits = (value: number): number => Number(value.toFixed(4));
      const found = { "recall@10": digits(recall[10] ?? 0), "recall@100": digits(recall[100] ?? 0) };
      return [name, { "nDCG@10": digits(ndcg10), ...found, MRR: digits(mrr), queries }];
    },
  );
}

function readOptions(): {
  readonly data: string;
  readonly mode: Mode;
  readonly store: StoreName;
  readonly vectors: string | undefined;
  readonly embedder: string | undefined;
  readonly json: boolean;
} {
  const { values } = readArguments(USAGE, {
    options: {
      data: { type: "string" },
      mode: { type: "string", default: "keyword" },
      store: { type: "string", default: "sqlite" },
      vectors: { type: "string" },
      embedder: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const { data, vectors: folder, embedder, json } = values;
  const mode = MODES.find((name) => name === values.mode);
  const store = STORES.find((name) => name === values.store);
  if (data === undefined) fail("Say where the collection is: --data <folder>.");
  if (mode === undefined) fail(`There is no mode "${values.mode}". Modes: ${MODES.join(", ")}.`);
  if (store === undefined) fail(`There is no store "${values.store}". Stores: ${STORES.join(", ")}.`);
  if (embedder !== undefined && embedder !== "hash") fail(`There is no embedder "${embedder}". Use hash.`);
  return { data, mode, store, vectors: folder, embedder, json };
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
