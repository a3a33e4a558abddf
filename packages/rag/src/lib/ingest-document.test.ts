import { type Embedder, hashEmbedder } from "@openfunctions/core/search";
import { describe, expect, it } from "vitest";
import { createMemoryChunkStore } from "./memory-chunk-store.ts";
import { createRAG } from "./rag.ts";

interface HeldEmbedder extends Embedder {
  /** Whether it was asked. */
  readonly asked: Promise<void>;
  /** Lets it answer. */
  go(): void;
}

/** An embedder that answers when it is told to; its vectors say whose they are. */
function heldEmbedder(model: string, mark: number): HeldEmbedder {
  const asked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  return {
    ...hashEmbedder({ dimensions: 4 }),
    model,
    semantic: true,
    asked: asked.promise,
    go: () => held.resolve(),
    embed: async (texts) => {
      asked.resolve();
      await held.promise;
      return texts.map(() => [mark, 1, 0, 0]);
    },
  };
}

describe("an index that is embedded anew meanwhile", () => {
  it("takes no vectors of the embedder before, though they are as long", async () => {
    const store = createMemoryChunkStore();
    const [old, next] = [heldEmbedder("old", 1), heldEmbedder("next", 2)];
    next.go();
    const rag = await createRAG({ store, embedder: old });
    const ingest = rag.ingest({ sourceId: "a", content: "Tea." });
    await old.asked;
    expect(await rag.reindex(next)).toBe(0);
    old.go();
    await expect(ingest).rejects.toMatchObject({ code: "embedding_mismatch" });
    expect((await rag.listDocuments()).documents).toEqual([]);
    await rag.ingest({ sourceId: "a", content: "Tea." });
    expect((await store.searchVector({ owners: ["local"] }, [2, 1, 0, 0], 1))[0]?.cosine).toBeCloseTo(1);
  });

  it("takes none of a reindex that another one overtook", async () => {
    const store = createMemoryChunkStore();
    const [first, second] = [heldEmbedder("first", 1), heldEmbedder("second", 2)];
    const rag = await createRAG({ store });
    await rag.ingest({ sourceId: "a", content: "Tea." });
    const overtaken = rag.reindex(first);
    await first.asked;
    const other = (await createRAG({ store })).reindex(second);
    await second.asked;
    first.go();
    await expect(overtaken).rejects.toMatchObject({ code: "embedding_mismatch" });
    expect(await store.embedding()).toMatchObject({ model: "second", complete: false });
    second.go();
    expect(await other).toBe(1);
    expect((await store.searchVector({ owners: ["local"] }, [2, 1, 0, 0], 1))[0]?.cosine).toBeCloseTo(1);
  });
});

describe("versions of a source", () => {
  it("field E8: of five chunks that become two nothing old answers, and nothing once it is empty", async () => {
    const embedder = { ...hashEmbedder({ dimensions: 32 }), semantic: true };
    const rag = await createRAG({
      store: createMemoryChunkStore(),
      embedder,
      chunker: { size: 20, overlap: 0 },
    });
    const content = (word: string, count: number): string =>
      Array.from({ length: count }, (_, index) => `${word} number ${index}.`).join("\n\n");
    const first = await rag.ingest({ sourceId: "s", content: content("before", 5) });
    expect(first).toMatchObject({ status: "created", chunks: 5 });
    expect(await rag.ingest({ sourceId: "s", content: content("after", 2) })).toMatchObject({
      status: "replaced",
      chunks: 2,
      removed: 5,
    });
    const found = await rag.search("before number", { limit: 20 });
    expect(found.mode).toBe("hybrid");
    expect(found.hits.map(({ content: text }) => text.trim()).toSorted()).toEqual([
      "after number 0.",
      "after number 1.",
    ]);
    expect(await rag.getDocument(first.documentId)).toBeUndefined();
    expect(await rag.ingest({ sourceId: "s", content: " " })).toMatchObject({
      status: "emptied",
      removed: 2,
    });
    expect((await rag.search("after before number", { limit: 20 })).hits).toEqual([]);
  });

  it("field E8: two that are ingested at once leave the one written last, whole", async () => {
    const [slow, quick] = [heldEmbedder("same", 1), heldEmbedder("same", 1)];
    const store = createMemoryChunkStore();
    const options = { store, chunker: { size: 20, overlap: 0 } };
    const late = (await createRAG({ ...options, embedder: slow })).ingest({
      sourceId: "s",
      content: "Begun first.\n\nWritten last.",
    });
    await slow.asked;
    quick.go();
    const rag = await createRAG({ ...options, embedder: quick });
    await rag.ingest({ sourceId: "s", content: "One.\n\nTwo.\n\nThree, written first." });
    slow.go();
    expect(await late).toMatchObject({ status: "replaced" });
    const { documents } = await rag.listDocuments();
    expect(documents).toHaveLength(1);
    expect((await rag.getDocument(documents[0]?.id ?? ""))?.text).toBe("Begun first.\n\nWritten last.");
    const { hits } = await rag.search("written first last one", { limit: 20 });
    expect(new Set(hits.map(({ documentId }) => documentId)).size).toBe(1);
  });
});
