/** What a chunk store keeps, replaces and forgets, and for whom. */

import assert from "node:assert/strict";
import type { Chunk, NewChunk } from "../chunk-store.ts";
import { InputError, OpenFunctionsError } from "../errors.ts";
import { SAMPLE_EMBEDDING, sampleDocument } from "./chunk-store-samples.ts";
import type { ChunkStoreTest } from "./chunk-store-situation.ts";

const ADA = { owners: ["ada"] } as const;
const BOB = { owners: ["bob"] } as const;

/** Declares the cases of writing, reading and deleting. */
export function describeChunkWrites(test: ChunkStoreTest, { vectors }: { readonly vectors: boolean }): void {
  describeDocuments(test);
  describeReplacing(test);
  describeOwners(test);
  if (vectors) describeEmbedding(test);
  describeLife(test);
}

function describeDocuments(test: ChunkStoreTest): void {
  test("gives a document and its chunks back as they were written", async ({ store }) => {
    const { document, chunks } = sampleDocument("d1", ["å北😀 one. ", 'it\'s "two"; --\n', "three"], {
      metadata: { year: 2020, tags: ["a", "b"], "it's; DROP TABLE x": { deep: null } },
    });
    await store.replace(document, chunks);
    assert.deepEqual(await store.getDocument(ADA, "d1"), document);
    assert.deepEqual(await store.findSource("ada", "source-d1"), document);
    assert.deepEqual(await store.readChunks(ADA, "d1"), chunks.map(withoutHash));
    const [, second] = chunks;
    assert.ok(second);
    assert.deepEqual(
      [...(await store.getChunks(ADA, [second.id, "none"]))],
      [[second.id, withoutHash(second)]],
    );
  });
  test("reads the chunks that touch a range", async ({ store }) => {
    const { document, chunks } = sampleDocument("d1", ["0123", "4567", "89ab"]);
    await store.replace(document, chunks);
    const read = async (start: number, end: number): Promise<readonly number[]> =>
      (await store.readChunks(ADA, "d1", { start, end })).map((chunk) => chunk.start);
    assert.deepEqual(await read(3, 5), [0, 4]);
    assert.deepEqual(await read(4, 8), [4]);
    assert.deepEqual(await read(12, 20), []);
  });
  test("gives undefined, false or 0 for what is not there", async ({ store }) => {
    assert.equal(await store.getDocument(ADA, "d1"), undefined);
    assert.equal(await store.findSource("ada", "source"), undefined);
    assert.deepEqual(await store.readChunks(ADA, "d1"), []);
    assert.equal(await store.deleteDocument("ada", "d1"), false);
    assert.equal(await store.deleteSource("ada", "source"), 0);
    assert.deepEqual(await store.listDocuments(ADA), { documents: [] });
  });
  test("lists documents by id in pages that stay valid under writes", async ({ store }) => {
    for (const id of ["d3", "d1", "d5", "d2", "d4"]) {
      const { document, chunks } = sampleDocument(id, ["text"], {
        metadata: { odd: Number(id[1]) % 2 === 1 },
      });
      await store.replace(document, chunks);
    }
    const first = await store.listDocuments(ADA, { limit: 2 });
    assert.deepEqual(
      first.documents.map(({ id }) => id),
      ["d1", "d2"],
    );
    await store.deleteDocument("ada", "d2");
    assert.ok(first.cursor);
    const second = await store.listDocuments(ADA, { limit: 2, cursor: first.cursor });
    assert.deepEqual(
      second.documents.map(({ id }) => id),
      ["d3", "d4"],
    );
    const odd = await store.listDocuments({ ...ADA, filter: { type: "eq", path: ["odd"], value: true } });
    assert.deepEqual(
      odd.documents.map(({ id }) => id),
      ["d1", "d3", "d5"],
    );
    assert.equal(odd.cursor, undefined);
  });
}

function describeReplacing(test: ChunkStoreTest): void {
  test("puts a new version of a source in the place of the old one", async ({ store }) => {
    const old = sampleDocument("d1", ["old words", "more"], { sourceId: "s" });
    const next = sampleDocument("d2", ["new words"], { sourceId: "s" });
    assert.deepEqual(await store.replace(old.document, old.chunks), { removed: 0 });
    assert.deepEqual(await store.replace(next.document, next.chunks), { removed: 2 });
    assert.equal(await store.getDocument(ADA, "d1"), undefined);
    assert.deepEqual(await store.readChunks(ADA, "d1"), []);
    assert.equal((await store.findSource("ada", "s"))?.id, "d2");
    assert.deepEqual(idsOf(await store.searchKeyword(ADA, "old", 10)), []);
    assert.deepEqual(idsOf(await store.searchKeyword(ADA, "words", 10)), ["d2:000000000"]);
  });
  test("takes a document without chunks, which empties its source", async ({ store }) => {
    const old = sampleDocument("d1", ["old"], { sourceId: "s" });
    const next = sampleDocument("d2", [], { sourceId: "s" });
    await store.replace(old.document, old.chunks);
    assert.deepEqual(await store.replace(next.document, next.chunks), { removed: 1 });
    assert.equal((await store.findSource("ada", "s"))?.chunkCount, 0);
  });
  test("field E8: of five chunks that become two nothing old answers, and nothing once it is empty", async ({
    store,
  }) => {
    const old = sampleDocument("d1", ["old one", "old two", "old three", "old four", "old five"], {
      sourceId: "s",
    });
    const next = sampleDocument("d2", ["new one", "new two"], { sourceId: "s" });
    const empty = sampleDocument("d3", [], { sourceId: "s" });
    await store.replace(old.document, old.chunks);
    assert.deepEqual(await store.replace(next.document, next.chunks), { removed: 5 });
    assert.deepEqual(await store.searchKeyword(ADA, "old", 10), []);
    assert.equal((await store.searchKeyword(ADA, "one two", 10)).length, 2);
    assert.deepEqual(await store.replace(empty.document, empty.chunks), { removed: 2 });
    assert.deepEqual(await store.searchKeyword(ADA, "old new one two", 10), []);
  });
  test("field E8: versions of a source that are written at once leave one of them, whole", async ({
    store,
  }) => {
    const versions = Array.from({ length: 6 }, (_, n) =>
      sampleDocument(
        `d${n}`,
        Array.from({ length: n + 2 }, (_text, at) => `words ${n} ${at}`),
        { sourceId: "s" },
      ),
    );
    const done = await Promise.all(versions.map(({ document, chunks }) => store.replace(document, chunks)));
    const left = await store.findSource("ada", "s");
    const version = versions.find(({ document }) => document.id === left?.id);
    assert.ok(left && version);
    assert.deepEqual(await store.listDocuments(ADA), { documents: [version.document] });
    assert.deepEqual(idsOf(await store.searchKeyword(ADA, "words", 100)).toSorted(), idsOf(version.chunks));
    const written = versions.reduce((sum, { chunks }) => sum + chunks.length, 0);
    const removed = done.reduce((sum, one) => sum + one.removed, 0);
    assert.equal(written - removed, version.chunks.length);
  });
  test("writes nothing of a document that fails half way", async ({ store }) => {
    const old = sampleDocument("d1", ["old words"], { sourceId: "s" });
    await store.replace(old.document, old.chunks);
    const next = sampleDocument("d2", ["new words", "more"], { sourceId: "s" });
    const [one] = next.chunks;
    assert.ok(one);
    // The same id twice: whatever a store makes of it, it must be all or nothing.
    await assert.rejects(store.replace(next.document, [one, one]), OpenFunctionsError.is);
    assert.equal((await store.findSource("ada", "s"))?.id, "d1");
    assert.deepEqual(idsOf(await store.searchKeyword(ADA, "words", 10)), ["d1:000000000"]);
  });
  test("deletes a document, and a source, with all that is found of them", async ({ store }) => {
    for (const id of ["d1", "d2"]) {
      const { document, chunks } = sampleDocument(id, ["words here"]);
      await store.replace(document, chunks);
    }
    assert.equal(await store.deleteDocument("ada", "d1"), true);
    assert.equal(await store.deleteDocument("ada", "d1"), false);
    assert.deepEqual(idsOf(await store.searchKeyword(ADA, "words", 10)), ["d2:000000000"]);
    assert.equal(await store.deleteSource("ada", "source-d2"), 1);
    assert.deepEqual(await store.searchKeyword(ADA, "words", 10), []);
    assert.deepEqual(await store.listDocuments(ADA), { documents: [] });
  });
}

function describeOwners(test: ChunkStoreTest): void {
  test("keeps owners apart in every call", async ({ store }) => {
    const mine = sampleDocument("d1", ["secret words"], { sourceId: "s" });
    const theirs = sampleDocument("d2", ["other words"], { sourceId: "s", owner: "bob" });
    await store.replace(mine.document, mine.chunks);
    assert.deepEqual(await store.replace(theirs.document, theirs.chunks), { removed: 0 });
    assert.equal(await store.getDocument(BOB, "d1"), undefined);
    assert.equal((await store.findSource("bob", "s"))?.id, "d2");
    assert.deepEqual(await store.readChunks(BOB, "d1"), []);
    assert.deepEqual([...(await store.getChunks(BOB, ["d1:000000000"]))], []);
    assert.deepEqual(
      (await store.listDocuments(BOB)).documents.map(({ id }) => id),
      ["d2"],
    );
    assert.deepEqual(idsOf(await store.searchKeyword(BOB, "secret words", 10)), ["d2:000000000"]);
    assert.equal(await store.deleteDocument("bob", "d1"), false);
    assert.equal(await store.deleteSource("bob", "source-d1"), 0);
    assert.deepEqual([...(await store.vectorsByHash("bob", ["hash of secret words"]))], []);
    assert.equal((await store.getDocument(ADA, "d1"))?.id, "d1");
  });
  test("reads for several owners at once where asked", async ({ store }) => {
    for (const [id, owner] of [
      ["d1", "ada"],
      ["d2", "shared"],
      ["d3", "bob"],
    ] as const) {
      const { document, chunks } = sampleDocument(id, ["words"], { owner });
      await store.replace(document, chunks);
    }
    const scope = { owners: ["ada", "shared"] };
    assert.deepEqual(
      (await store.listDocuments(scope)).documents.map(({ id }) => id),
      ["d1", "d2"],
    );
    assert.deepEqual(idsOf(await store.searchKeyword(scope, "words", 10)), ["d1:000000000", "d2:000000000"]);
  });
  test("answers nothing without an owner", async ({ store }) => {
    const { document, chunks } = sampleDocument("d1", ["words"]);
    await store.replace(document, chunks);
    const nobody = { owners: [] };
    assert.deepEqual(await store.listDocuments(nobody), { documents: [] });
    assert.deepEqual(await store.searchKeyword(nobody, "words", 10), []);
    assert.equal(await store.getDocument(nobody, "d1"), undefined);
  });
}

function describeEmbedding(test: ChunkStoreTest): void {
  test("knows what its vectors are made with, and what is left to embed", async ({ store }) => {
    assert.equal(await store.embedding(), undefined);
    await store.resetEmbedding(SAMPLE_EMBEDDING);
    assert.deepEqual(await store.embedding(), { ...SAMPLE_EMBEDDING, complete: true });
    const { document, chunks } = sampleDocument("d1", ["one", "two"], { vectors: [[1, 0, 0]] });
    await store.replace(document, chunks);
    assert.deepEqual(await store.embedding(), { ...SAMPLE_EMBEDDING, complete: false });
    assert.deepEqual(await store.withoutVector(10), [{ id: "d1:000000003", content: "two" }]);
    await store.setVectors(
      new Map([
        ["d1:000000003", [0, 1, 0]],
        ["gone:000000000", [0, 0, 1]],
      ]),
    );
    assert.deepEqual(await store.embedding(), { ...SAMPLE_EMBEDDING, complete: true });
    assert.deepEqual(
      [...(await store.vectorsByHash("ada", ["hash of two", "none"]))],
      [["hash of two", [0, 1, 0]]],
    );
  });
  test("drops every vector when the embedding changes", async ({ store }) => {
    await store.resetEmbedding(SAMPLE_EMBEDDING);
    const { document, chunks } = sampleDocument("d1", ["one"], { vectors: [[1, 0, 0]] });
    await store.replace(document, chunks);
    await store.resetEmbedding({ model: "other-2", dimensions: 2 });
    assert.deepEqual(await store.embedding(), { model: "other-2", dimensions: 2, complete: false });
    assert.deepEqual([...(await store.vectorsByHash("ada", ["hash of one"]))], []);
    await store.setVectors(new Map([["d1:000000000", [0, 1]]]));
    assert.deepEqual(
      (await store.searchVector(ADA, [0, 1], 5)).map(({ id }) => id),
      ["d1:000000000"],
    );
  });
  test("refuses vectors of another length, and writes nothing of them", async ({ store }) => {
    await store.resetEmbedding(SAMPLE_EMBEDDING);
    const wrong = sampleDocument("d1", ["one", "two"], {
      vectors: [
        [1, 0, 0],
        [1, 0],
      ],
    });
    const isMismatch = (cause: unknown): boolean =>
      OpenFunctionsError.is(cause) && cause.code === "embedding_mismatch";
    await assert.rejects(store.replace(wrong.document, wrong.chunks), isMismatch);
    assert.equal(await store.getDocument(ADA, "d1"), undefined);
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, 1e39]) {
      const endless = sampleDocument("d1", ["one"], { vectors: [[1, number, 0]] });
      await assert.rejects(store.replace(endless.document, endless.chunks), InputError);
      await assert.rejects(store.searchVector(ADA, [1, number, 0], 5), InputError);
    }
    assert.equal(await store.getDocument(ADA, "d1"), undefined);
    const right = sampleDocument("d1", ["one"]);
    await store.replace(right.document, right.chunks);
    await assert.rejects(store.setVectors(new Map([["d1:000000000", [1]]])), isMismatch);
    await assert.rejects(store.searchVector(ADA, [1], 5), isMismatch);
  });
  test("refuses vectors of a model that is announced no more, and writes nothing of them", async ({
    store,
  }) => {
    await store.resetEmbedding(SAMPLE_EMBEDDING);
    const { document, chunks } = sampleDocument("d1", ["one"], { vectors: [[1, 0, 0]] });
    const isMismatch = (cause: unknown): boolean =>
      OpenFunctionsError.is(cause) && cause.code === "embedding_mismatch";
    await assert.rejects(store.replace(document, chunks, "before-3"), isMismatch);
    assert.equal(await store.getDocument(ADA, "d1"), undefined);
    await store.replace(document, chunks, SAMPLE_EMBEDDING.model);
    await store.resetEmbedding({ ...SAMPLE_EMBEDDING, model: "after-3" });
    const vectors = new Map([["d1:000000000", [0, 1, 0]]]);
    await assert.rejects(store.setVectors(vectors, SAMPLE_EMBEDDING.model), isMismatch);
    assert.equal((await store.embedding())?.complete, false);
    await store.setVectors(vectors, "after-3");
    assert.equal((await store.embedding())?.complete, true);
  });
}

function describeLife(test: ChunkStoreTest): void {
  test("keeps what was written for whoever opens it next", async ({ store, reopen }) => {
    const { document, chunks } = sampleDocument("d1", ["lasting words"]);
    await store.replace(document, chunks);
    if (reopen === undefined) {
      assert.equal(store.durability, "memory");
      return;
    }
    const again = await reopen();
    try {
      assert.deepEqual(await again.getDocument(ADA, "d1"), document);
      assert.deepEqual(idsOf(await again.searchKeyword(ADA, "lasting", 10)), ["d1:000000000"]);
    } finally {
      await again.close();
    }
  });
  test("refuses every call after close, which may be called again", async ({ store }) => {
    await store.close();
    await store.close();
    const isClosed = (cause: unknown): boolean =>
      OpenFunctionsError.is(cause) && cause.code === "store_closed";
    const { document, chunks } = sampleDocument("d1", ["words"]);
    await assert.rejects(store.replace(document, chunks), isClosed);
    await assert.rejects(store.getDocument(ADA, "d1"), isClosed);
    await assert.rejects(store.searchKeyword(ADA, "words", 1), isClosed);
    await assert.rejects(store.embedding(), isClosed);
    await assert.rejects(store.deleteDocument("ada", "d1"), isClosed);
  });
}

function withoutHash({ hash: _hash, vector: _vector, ...chunk }: NewChunk): Chunk {
  return chunk;
}

function idsOf(hits: readonly { readonly id: string }[]): readonly string[] {
  return hits.map(({ id }) => id);
}
