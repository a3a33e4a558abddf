/** What a chunk store finds, by word, by vector and under a filter. */

import assert from "node:assert/strict";
import type { ChunkStore } from "../chunk-store.ts";
import { InputError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { matchesFilter, type MetadataFilter, readFilter } from "../metadata-filter.ts";
import { SAMPLE_EMBEDDING, sampleDocument } from "./chunk-store-samples.ts";
import type { ChunkStoreTest } from "./chunk-store-situation.ts";

const ADA = { owners: ["ada"] } as const;

/** Declares the cases of searching. */
export function describeChunkSearch(test: ChunkStoreTest, { vectors }: { readonly vectors: boolean }): void {
  describeWords(test);
  describeFilters(test);
  if (vectors) describeNearness(test);
}

function describeWords(test: ChunkStoreTest): void {
  test("finds chunks by any word of a query, those with more of it first", async ({ store }) => {
    await fill(store, ["green tea is hot", "black coffee", "tea and coffee, both", "nothing of it"]);
    const [first, ...others] = await found(store, "tea coffee");
    assert.equal(first, "d2");
    assert.deepEqual(others.toSorted(compareText), ["d0", "d1"]);
    assert.deepEqual((await found(store, "hottest teas")).slice(0, 1), ["d0"]);
    assert.deepEqual(await found(store, "nowhere"), []);
    const scores = (await store.searchKeyword(ADA, "tea coffee", 10)).map(({ raw }) => raw);
    assert.deepEqual(
      scores,
      scores.toSorted((left, right) => right - left),
    );
  });
  test("ranks a rare word above a common one, and gives at most what was asked for", async ({ store }) => {
    await fill(store, ["common rare", "common one", "common two", "common three", "common four"]);
    assert.equal((await found(store, "common rare"))[0], "d0");
    assert.equal((await store.searchKeyword(ADA, "common", 3)).length, 3);
  });
  test("gives equal hits in the order of their ids", async ({ store }) => {
    await fill(store, ["same words", "same words", "same words"]);
    assert.deepEqual(await found(store, "words"), ["d0", "d1", "d2"]);
  });
  test("finds words of scripts without spaces, accents and cases folded", async ({ store }) => {
    await fill(store, ["東京都の天気は晴れです。", "大阪の食べ物", "Überraschung im Café"]);
    assert.equal((await found(store, "東京"))[0], "d0");
    assert.equal((await found(store, "食べ物"))[0], "d1");
    assert.deepEqual(await found(store, "CAFE uberraschung"), ["d2"]);
  });
  test("takes a query for words alone, whatever it holds", async ({ store }) => {
    await fill(store, ["c++ and foo-bar", "unbalanced quotes"]);
    for (const query of [
      '"unbalanced',
      "'; DROP TABLE x; --",
      "foo-bar",
      "c++",
      "a AND",
      "NEAR(",
      "* ^ : ( )",
      "\u0000x",
      "& | !",
      "\ud800",
    ])
      await store.searchKeyword(ADA, query, 5);
    assert.deepEqual(await found(store, '"unbalanced'), ["d1"]);
    assert.deepEqual(await found(store, "foo-bar"), ["d0"]);
    assert.deepEqual(await found(store, "  "), []);
    assert.deepEqual(await found(store, "word ".repeat(5_000)), []);
  });
}

const RECORDS: readonly JsonObject[] = [
  { year: 2019, kind: "paper", author: { name: "Ada" }, draft: false },
  { year: 2021, kind: "book", author: { name: "Bob" }, draft: true },
  { year: "2021", kind: "paper" },
  { kind: null, tags: ["x"] },
  {},
  { year: 0.1, kind: "Zürich 😀" },
  { year: true, kind: "" },
];

const FILTERS: readonly MetadataFilter[] = [
  { path: "year", eq: 2021 },
  { path: "year", eq: "2021" },
  { path: "year", eq: true },
  { path: "kind", eq: null },
  { path: "kind", ne: "paper" },
  { path: "year", in: [2019, "2021", 0.1] },
  { path: "year", in: [] },
  { path: "year", gte: 2019 },
  { path: "year", lt: 2021 },
  { path: "kind", gt: "book" },
  { path: "kind", lte: "paper" },
  { path: "author.name", eq: "Bob" },
  { path: "author", exists: true },
  { path: "kind", exists: false },
  { path: "draft", eq: false },
  { path: "author.name.deeper", exists: true },
  { path: "kind", eq: 'it\'s "quoted"; --' },
  {
    and: [
      { path: "year", gt: 2000 },
      { path: "kind", eq: "book" },
    ],
  },
  {
    or: [
      { path: "year", eq: 2019 },
      { path: "draft", eq: true },
    ],
  },
  { not: { path: "kind", in: ["paper", "book"] } },
  { and: [] },
  { or: [] },
];

function describeFilters(test: ChunkStoreTest): void {
  test("means the same by a filter as every other store", async ({ store }) => {
    await fill(
      store,
      RECORDS.map(() => "words"),
      { records: RECORDS },
    );
    for (const filter of FILTERS) {
      const node = readFilter(filter);
      const wanted = RECORDS.flatMap((metadata, index) =>
        matchesFilter(metadata, node) ? [`d${index}`] : [],
      );
      const { documents } = await store.listDocuments({ ...ADA, filter: node });
      assert.deepEqual(
        documents.map(({ id }) => id),
        wanted,
        JSON.stringify(filter),
      );
      const hits = await store.searchKeyword({ ...ADA, filter: node }, "words", 10);
      const ids = hits.map(({ id }) => id.split(":")[0] ?? "");
      assert.deepEqual(ids.toSorted(compareText), wanted, JSON.stringify(filter));
    }
  });
  test("finds the one that a filter leaves among many better ones", async ({ store }) => {
    const texts = Array.from({ length: 60 }, () => "words words words");
    const last = "words and much else that makes it a worse hit";
    await fill(store, [...texts, last], { records: [...texts.map(() => ({})), { keep: true }] });
    const filter = readFilter({ path: "keep", eq: true });
    assert.deepEqual(
      (await store.searchKeyword({ ...ADA, filter }, "words", 5)).map(({ id }) => id),
      ["d60:000000000"],
    );
  });
  test("refuses limits that are no whole number above 0", async ({ store }) => {
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      await assert.rejects(store.searchKeyword(ADA, "words", limit), InputError);
      await assert.rejects(store.listDocuments(ADA, { limit }), InputError);
    }
  });
}

function describeNearness(test: ChunkStoreTest): void {
  test("finds the nearest vectors by cosine, whatever their length", async ({ store }) => {
    await store.resetEmbedding(SAMPLE_EMBEDDING);
    await fill(store, ["a", "b", "c", "d"], {
      vectors: [
        [1, 0, 0],
        [5, 5, 0],
        [0, 0, 2],
        [0, 0, 0],
      ],
    });
    const hits = await store.searchVector(ADA, [2, 0, 0], 3);
    assert.deepEqual(
      hits.slice(0, 2).map(({ id }) => id),
      ["d0:000000000", "d1:000000000"],
    );
    assert.ok(Math.abs((hits[0]?.cosine ?? 0) - 1) < 1e-6);
    assert.ok(Math.abs((hits[1]?.cosine ?? 0) - Math.SQRT1_2) < 1e-6);
    assert.equal(hits.length <= 3, true);
  });
  test("finds by vector only what the scope holds", async ({ store }) => {
    await store.resetEmbedding(SAMPLE_EMBEDDING);
    const near = Array.from({ length: 80 }, (_, index) => [1, index / 1_000, 0]);
    await fill(
      store,
      near.map(() => "x"),
      { vectors: near },
    );
    const far = sampleDocument("far", ["y"], { metadata: { keep: true }, vectors: [[0, 1, 0]] });
    await store.replace(far.document, far.chunks);
    const filter = readFilter({ path: "keep", eq: true });
    assert.deepEqual(
      (await store.searchVector({ ...ADA, filter }, [1, 0, 0], 5)).map(({ id }) => id),
      ["far:000000000"],
    );
    assert.deepEqual(await store.searchVector({ owners: ["bob"] }, [1, 0, 0], 5), []);
    assert.deepEqual(await store.searchVector({ owners: [] }, [1, 0, 0], 5), []);
  });
  test("no longer finds by vector what was replaced or deleted", async ({ store }) => {
    await store.resetEmbedding(SAMPLE_EMBEDDING);
    const old = sampleDocument("d1", ["a"], { sourceId: "s", vectors: [[1, 0, 0]] });
    const next = sampleDocument("d2", ["b"], { sourceId: "s", vectors: [[0, 1, 0]] });
    await store.replace(old.document, old.chunks);
    await store.replace(next.document, next.chunks);
    assert.deepEqual(
      (await store.searchVector(ADA, [1, 0, 0], 5)).map(({ id }) => id),
      ["d2:000000000"],
    );
    await store.deleteDocument("ada", "d2");
    assert.deepEqual(await store.searchVector(ADA, [1, 0, 0], 5), []);
  });
}

interface Filling {
  readonly records?: readonly JsonObject[];
  readonly vectors?: readonly (readonly number[])[];
}

async function fill(
  store: ChunkStore,
  texts: readonly string[],
  { records = [], vectors = [] }: Filling = {},
): Promise<void> {
  for (const [index, text] of texts.entries()) {
    const vector = vectors[index];
    const { document, chunks } = sampleDocument(`d${index}`, [text], {
      metadata: records[index] ?? {},
      ...(vector === undefined ? {} : { vectors: [vector] }),
    });
    await store.replace(document, chunks);
  }
}

/** The documents whose chunks were found, best first. */
async function found(store: ChunkStore, query: string): Promise<readonly string[]> {
  return (await store.searchKeyword(ADA, query, 10)).map(({ id }) => id.split(":")[0] ?? "");
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
