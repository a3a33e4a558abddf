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
