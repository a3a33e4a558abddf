import { setTimeout as wait } from "node:timers/promises";
import { type Embedder, hashEmbedder } from "@openfunctions/core/search";
import { describe, expect, it } from "vitest";
import { createMemoryChunkStore } from "./memory-chunk-store.ts";
import { createRAG, type Rag, type RagOptions } from "./rag.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 1);

interface CountingEmbedder extends Embedder {
  /** Every batch that came in. */
  readonly batches: (readonly string[])[];
  atOnce: number;
}

/** The words' embedder, which claims to know their meaning and counts what it is asked. */
function countingEmbedder(options: Partial<Embedder> = {}): CountingEmbedder {
  const inner = hashEmbedder({ dimensions: 64 });
  let running = 0;
  const embedder: CountingEmbedder = {
    ...inner,
    model: "counting",
    semantic: true,
    batches: [],
    atOnce: 0,
    embed: async (texts, how) => {
      embedder.batches.push(texts);
      running += 1;
      embedder.atOnce = Math.max(embedder.atOnce, running);
      await wait(1);
      running -= 1;
      how.signal?.throwIfAborted();
      return inner.embed(texts, how);
    },
    ...options,
  };
  return embedder;
}

async function open(options: Partial<RagOptions> = {}): Promise<Rag> {
  return createRAG({ store: createMemoryChunkStore(), ...options });
}

const paragraphs = (count: number): string =>
  Array.from(
    { length: count },
    (_, index) => `Paragraph ${index} speaks of topic${index} and of nothing else.`,
  ).join("\n\n");

describe("ingest and search", () => {
  it("finds what was ingested, with its place, title and metadata", async () => {
    const rag = await open({ embedder: countingEmbedder() });
    const text = "# Tea\n\nGreen tea is steamed.\n\n# Coffee\n\nCoffee is roasted.";
    const result = await rag.ingest({
      sourceId: "drinks.md",
      content: text,
      title: "Drinks",
      uri: "https://example.com/d",
      metadata: { year: 2020 },
    });
    expect(result).toMatchObject({
      sourceId: "drinks.md",
      status: "created",
      chunks: 2,
      removed: 0,
      embedded: 2,
      mode: "hybrid",
      warnings: [],
    });
    const { mode, hits, total, reason } = await rag.search("steamed tea");
    expect([mode, reason, total]).toEqual(["hybrid", undefined, 2]);
    expect(hits[0]).toMatchObject({
      documentId: result.documentId,
      headings: ["Tea"],
      title: "Drinks",
      uri: "https://example.com/d",
      metadata: { year: 2020 },
      sourceId: "drinks.md",
      parts: { keyword: { rank: 1 }, vector: { rank: 1 } },
      score: 1,
    });
    for (const { content, start, end } of hits) expect(text.slice(start, end)).toBe(content);
    expect(await rag.getDocument(result.documentId)).toMatchObject({
      text,
      start: 0,
      end: text.length,
      title: "Drinks",
    });
    expect(await rag.getDocument(result.documentId, { start: 7, length: 5 })).toMatchObject({
      text: "Green",
      start: 7,
      end: 12,
    });
    expect((await rag.listDocuments()).documents.map(({ id }) => id)).toEqual([result.documentId]);
  });

  it("state Z44: without an embedder, searches by keyword and says why", async () => {
    const rag = await open();
    expect(await rag.ingest({ sourceId: "a", content: "Green tea." })).toMatchObject({
      mode: "keyword",
      embedded: 0,
    });
    expect(await rag.search("tea")).toMatchObject({
      mode: "keyword",
      reason: "no embedder configured",
      total: 1,
    });
    const demo = await open({ embedder: hashEmbedder() });
    await demo.ingest({ sourceId: "a", content: "Green tea." });
    expect(await demo.search("tea")).toMatchObject({ mode: "keyword", reason: "embedder is not semantic" });
    expect(await demo.search("tea", { weights: { keyword: 1, vector: 1 } })).toMatchObject({
      mode: "hybrid",
    });
  });

  it("says that an embedder failed or was late, and searches by keyword", async () => {
    let fails = false;
    const inner = hashEmbedder({ dimensions: 64 });
    const rag = await open({
      embedder: countingEmbedder({
        embed: async (texts, how) => {
          if (fails) throw new Error("down");
          return inner.embed(texts, how);
        },
      }),
    });
    await rag.ingest({ sourceId: "a", content: "Green tea." });
    fails = true;
    expect(await rag.search("tea")).toMatchObject({ mode: "keyword", reason: "embedder failed", total: 1 });
  });

  it("leaves out what is below minScore and what the filter excludes", async () => {
    const rag = await open();
    await rag.ingest({ sourceId: "a", content: "Green tea and more tea.", metadata: { year: 2020 } });
    await rag.ingest({
      sourceId: "b",
      content: "Tea in a long text of many other words.",
      metadata: { year: 1990 },
    });
    const all = await rag.search("tea");
    expect(all.hits).toHaveLength(2);
    expect((await rag.search("tea", { minScore: 1 })).hits).toHaveLength(1);
    const { hits } = await rag.search("tea", { filter: { path: "year", lt: 2000 } });
    expect(hits.map(({ sourceId }) => sourceId)).toEqual(["b"]);
    await expect(rag.search("tea", { filter: { path: "a b", eq: 1 } })).rejects.toMatchObject({
      code: "bad_filter",
    });
  });

  it("state K5: blank content is empty_document before any embedding", async () => {
    const embedder = countingEmbedder();
    const rag = await open({ embedder });
    for (const content of ["", " \n\t ", new Uint8Array(), "<html><script>x</script></html>"]) {
      const mediaType = content.length > 5 ? "text/html" : "text/plain";
      await expect(rag.ingest({ sourceId: "a", content, mediaType })).rejects.toMatchObject({
        code: "empty_document",
      });
    }
    expect(embedder.batches).toEqual([]);
    expect((await rag.listDocuments()).documents).toEqual([]);
  });

  it("field E8: empties a known source whose content became blank", async () => {
    const rag = await open();
    await rag.ingest({ sourceId: "a", content: "Tea." });
    expect(await rag.ingest({ sourceId: "a", content: "  " })).toMatchObject({
      status: "emptied",
      chunks: 0,
      removed: 1,
    });
    expect((await rag.search("tea")).hits).toEqual([]);
    expect(await rag.ingest({ sourceId: "a", content: "  " })).toMatchObject({ status: "unchanged" });
    expect(await rag.ingest({ sourceId: "a", content: "Tea." })).toMatchObject({
      status: "replaced",
      chunks: 1,
    });
  });

  it("field E8: answers nothing of the chunks that a shorter version left behind", async () => {
    const rag = await open({ chunker: { size: 80, overlap: 0 } });
    await rag.ingest({ sourceId: "a", content: paragraphs(5) });
    const again = await rag.ingest({ sourceId: "a", content: paragraphs(2) });
    expect(again).toMatchObject({ status: "replaced", chunks: 2, removed: 5 });
    const { hits } = await rag.search("topic4 topic3 paragraph", { limit: 50 });
    expect(hits.every(({ documentId }) => documentId === again.documentId)).toBe(true);
    expect(hits.length).toBeLessThanOrEqual(2);
  });

  it("does no work for the same content, and embeds only what changed", async () => {
    const embedder = countingEmbedder();
    const rag = await open({ embedder, chunker: { size: 80, overlap: 0 } });
    const content = paragraphs(1_000);
    const first = await rag.ingest({ sourceId: "a", content });
    expect(first).toMatchObject({ status: "created", chunks: 1000, embedded: 1000 });
    expect(embedder.batches.every((batch) => batch.length <= 64)).toBe(true);
    expect(embedder.batches).toHaveLength(16);
    expect(embedder.atOnce).toBe(4);
    const count = embedder.batches.length;
    expect(await rag.ingest({ sourceId: "a", content })).toMatchObject({ status: "unchanged", embedded: 0 });
    expect(embedder.batches).toHaveLength(count);
    const changed = content.replaceAll(/topic(\d*)7\b of|topic(\d)77 and/g, "subject and");
    const edited = changed === content ? content.replaceAll(/topic(\d)77\b/g, "subject$1") : changed;
    const again = await rag.ingest({ sourceId: "a", content: edited });
    expect(again).toMatchObject({ status: "replaced", chunks: 1000, removed: 1000, embedded: 9 });
    expect(embedder.batches.slice(count).flat()).toHaveLength(9);
    expect((await rag.search("topic500")).hits[0]?.content).toContain("topic500");
  });

  it("replaces a document whose metadata changed, without embedding it again", async () => {
    const embedder = countingEmbedder();
    const rag = await open({ embedder });
    await rag.ingest({ sourceId: "a", content: "Tea.", metadata: { year: 1 } });
    const again = await rag.ingest({ sourceId: "a", content: "Tea.", metadata: { year: 2 } });
    expect(again).toMatchObject({ status: "replaced", embedded: 0 });
    expect((await rag.search("tea")).hits[0]?.metadata).toEqual({ year: 2 });
  });

  it("takes a hash that the caller knows", async () => {
    const rag = await open();
    const { documentId } = await rag.ingest({ sourceId: "a", content: "Tea.", contentHash: "etag-1" });
    expect(await rag.ingest({ sourceId: "a", content: "Other.", contentHash: "etag-1" })).toMatchObject({
      status: "unchanged",
      documentId,
    });
    expect((await rag.getDocument(documentId))?.contentHash).toBe("etag-1");
  });

  it("writes nothing when the embedder fails or the ingest is aborted", async () => {
    const store = createMemoryChunkStore();
    const controller = new AbortController();
    let calls = 0;
    let mode: "good" | "bad" | "abort" = "good";
    const inner = hashEmbedder({ dimensions: 64 });
    const rag = await open({
      store,
      chunker: { size: 80, overlap: 0 },
      embedder: countingEmbedder({
        embed: async (texts, how) => {
          calls += 1;
          if (mode === "bad" && calls > 2) throw new Error("down");
          if (mode === "abort" && calls > 2) controller.abort(new Error("stop it"));
          return inner.embed(texts, how);
        },
      }),
    });
    await rag.ingest({ sourceId: "a", content: "The first version." });
    for (const next of ["bad", "abort"] as const) {
      [mode, calls] = [next, 0];
      const failing = rag.ingest({ sourceId: "a", content: paragraphs(400) }, { signal: controller.signal });
      await expect(failing).rejects.toThrow(next === "bad" ? /text at \d+ to \d+ of "a".*down/ : "stop it");
      const { documents } = await store.listDocuments({ owners: ["local"] });
      expect(documents.map(({ length }) => length)).toEqual(["The first version.".length]);
      expect((await rag.search("first version")).hits[0]?.content).toBe("The first version.");
    }
  });

  it("field E8: ends two ingests of one source at once with one whole version", async () => {
    const rag = await open({ embedder: countingEmbedder(), chunker: { size: 80, overlap: 0 } });
    const versions = [paragraphs(100), paragraphs(150), paragraphs(100), `${paragraphs(120)} end`];
    const results = await Promise.all(versions.map((content) => rag.ingest({ sourceId: "a", content })));
    const { documents } = await rag.listDocuments();
    expect(documents).toHaveLength(1);
    const text = (await rag.getDocument(documents[0]?.id ?? ""))?.text ?? "";
    expect(versions).toContain(text);
    expect(results.map(({ documentId }) => documentId)).toContain(documents[0]?.id);
    const { hits } = await rag.search("paragraph", { limit: 400 });
    expect(new Set(hits.map(({ documentId }) => documentId)).size).toBe(1);
  });

  it("finds a version done that another ingest of it wrote meanwhile", async () => {
    const rag = await open({ embedder: countingEmbedder() });
    const input = { sourceId: "a", content: "Tea." };
    const results = await Promise.all([rag.ingest(input), rag.ingest(input), rag.ingest(input)]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["created", "unchanged", "unchanged"]);
    expect(new Set(results.map(({ documentId }) => documentId)).size).toBe(1);
    expect((await rag.search("tea")).total).toBe(1);
  });

  it("ingests many, in order, in batches across documents", async () => {
    const embedder = countingEmbedder();
    const rag = await open({ embedder });
    const seen: number[] = [];
    const errors: unknown[] = [];
    async function* inputs() {
      for (let index = 0; index < 200; index += 1)
        yield { sourceId: `doc ${index}`, content: index === 50 ? "" : `Text number ${index}.` };
    }
    const results = [];
    const options = {
      onProgress: ({ embedded }: { readonly embedded: number }) => seen.push(embedded),
      onError: (error: unknown) => errors.push(error),
    };
    for await (const result of rag.ingestMany(inputs(), options)) results.push(result);
    expect(results.map(({ sourceId }) => sourceId)).toEqual(
      Array.from({ length: 200 }, (_, index) => `doc ${index}`).filter((id) => id !== "doc 50"),
    );
    expect(errors).toEqual([expect.objectContaining({ code: "empty_document" })]);
    expect(embedder.batches.length).toBeLessThanOrEqual(4);
    expect(seen.length).toBeGreaterThan(0);
  });

  it("takes a source that comes again among many as its next version", async () => {
    const rag = await open();
    const many = ["Tea.", "Tea.", "", "Coffee."].map((content) => ({ sourceId: "a", content }));
    const statuses: string[] = [];
    for await (const { status } of rag.ingestMany(many)) statuses.push(status);
    expect(statuses).toEqual(["created", "unchanged", "emptied", "replaced"]);
  });

  it("finds the new version of a document that was replaced while it was searched", async () => {
    const store = createMemoryChunkStore();
    const rag = await open({ store });
    await rag.ingest({ sourceId: "a", content: "Tea, the old version." });
    let replaced = false;
    const search = store.searchKeyword.bind(store);
    store.searchKeyword = async (...args) => {
      const hits = await search(...args);
      if (!replaced) await rag.ingest({ sourceId: "a", content: "Tea, the new version." });
      replaced = true;
      return hits;
    };
    expect((await rag.search("tea")).hits.map(({ content }) => content)).toEqual(["Tea, the new version."]);
  });

  it("ends ingestMany at a document that cannot be read, where nobody is told", async () => {
    const rag = await open();
    const many = rag.ingestMany([
      { sourceId: "a", content: "x" },
      { sourceId: "b", content: "" },
    ]);
    await expect(many.next()).rejects.toMatchObject({ code: "empty_document" });
  });

  it("adds a text once, and finds it", async () => {
    const rag = await open();
    const first = await rag.addDocument("Tea is steamed.", { kind: "note" });
    expect(await rag.addDocument("Tea is steamed.", { kind: "note" })).toMatchObject({
      status: "unchanged",
      documentId: first.documentId,
    });
    expect((await rag.search("steamed")).hits).toHaveLength(1);
  });

  it("state K7: deleting an unknown document gives false", async () => {
    const rag = await open();
    const { documentId } = await rag.ingest({ sourceId: "a", content: "Tea." });
    expect(await rag.deleteDocument("doc_unknown")).toBe(false);
    expect(await rag.deleteDocument(documentId)).toBe(true);
    expect(await rag.deleteDocument(documentId)).toBe(false);
    await rag.ingest({ sourceId: "a", content: "Tea." });
    expect([await rag.deleteSource("a"), await rag.deleteSource("a")]).toEqual([1, 0]);
    expect(await rag.getDocument(documentId)).toBeUndefined();
  });

  it("asks again where a failure may pass", async () => {
    const inner = hashEmbedder({ dimensions: 64 });
    let calls = 0;
    const { EmbedderError } = await import("@openfunctions/core/search");
    const rag = await open({
      embedder: countingEmbedder({
        embed: async (texts, how) => {
          calls += 1;
          if (calls < 3) throw new EmbedderError("busy", { model: "counting", index: 0, retryable: true });
          return inner.embed(texts, how);
        },
      }),
    });
    expect(await rag.ingest({ sourceId: "a", content: "Tea." })).toMatchObject({ status: "created" });
    expect(calls).toBe(3);
  });
});

describe("the embedder of an index", () => {
  it("state K8: another model or size is an error at open, naming both and the command", async () => {
    const store = createMemoryChunkStore();
    await (await open({ store, embedder: countingEmbedder() })).ingest({ sourceId: "a", content: "Tea." });
    for (const embedder of [countingEmbedder({ model: "other" }), countingEmbedder({ dimensions: 32 })]) {
      const opening = open({ store, embedder });
      await expect(opening).rejects.toMatchObject({
        code: "embedding_mismatch",
        hint: expect.stringContaining("reindex"),
      });
      await expect(opening).rejects.toThrow(`"counting" (64 dimensions)`);
      await expect(opening).rejects.toThrow(`"${embedder.model}" (${embedder.dimensions} dimensions)`);
    }
    expect((await (await open({ store })).search("tea")).hits).toHaveLength(1);
  });

  it("goes by keyword while it is embedded anew, and goes on after an interruption", async () => {
    const store = createMemoryChunkStore();
    const rag = await open({ store, embedder: countingEmbedder(), chunker: { size: 80, overlap: 0 } });
    await rag.ingest({ sourceId: "a", content: paragraphs(600) });
    const controller = new AbortController();
    const next = countingEmbedder({ model: "next" });
    const progress: number[] = [];
    const interrupted = rag.reindex(next, {
      signal: controller.signal,
      onProgress: (embedded) => {
        progress.push(embedded);
        controller.abort(new Error("power cut"));
      },
    });
    await expect(interrupted).rejects.toThrow("power cut");
    expect(await store.embedding()).toEqual({ model: "next", dimensions: 64, complete: false });
    const between = await rag.search("topic5");
    expect(between).toMatchObject({ mode: "keyword", reason: expect.stringContaining("not embedded yet") });
    expect(between.hits.length).toBeGreaterThan(0);
    const again = await open({ store, embedder: countingEmbedder({ model: "next" }) });
    expect(await again.reindex(countingEmbedder({ model: "next" }))).toBe(600 - (progress[0] ?? 0));
    expect(await again.search("topic5")).toMatchObject({ mode: "hybrid" });
    expect(await again.reindex(next)).toBe(0);
  });

  it("writes nothing once another embedder took over the index", async () => {
    const store = createMemoryChunkStore();
    const rag = await open({ store, embedder: countingEmbedder() });
    await rag.ingest({ sourceId: "a", content: "Tea." });
    await (await open({ store })).reindex(countingEmbedder({ model: "next" }));
    await expect(rag.ingest({ sourceId: "b", content: "Coffee." })).rejects.toMatchObject({
      code: "embedding_mismatch",
    });
    expect((await rag.listDocuments()).documents).toHaveLength(1);
    expect(await rag.search("tea")).toMatchObject({
      mode: "keyword",
      reason: expect.stringContaining("another model"),
    });
  });

  it("warns where documents go in without the embedder of their index", async () => {
    const store = createMemoryChunkStore();
    const rag = await open({ store, embedder: countingEmbedder() });
    expect((await rag.ingest({ sourceId: "a", content: "Tea." })).warnings).toEqual([]);
    const { warnings } = await (await open({ store })).ingest({ sourceId: "b", content: "Coffee." });
    expect(warnings).toEqual([expect.stringContaining('"counting"')]);
    expect(await rag.search("tea")).toMatchObject({ mode: "keyword" });
  });

  it("embeds what was ingested without an embedder once it is told to", async () => {
    const store = createMemoryChunkStore();
    await (await open({ store })).ingest({ sourceId: "a", content: "Tea." });
    const rag = await open({ store, embedder: countingEmbedder() });
    expect(await rag.search("tea")).toMatchObject({
      mode: "keyword",
      reason: expect.stringContaining("reindex"),
    });
    expect(await rag.reindex(countingEmbedder())).toBe(1);
    expect(await rag.search("tea")).toMatchObject({ mode: "hybrid" });
  });

  it.each([
    [
      "not a number",
      { embed: async (texts: readonly string[]) => texts.map(() => Array(64).fill(Number.NaN)) },
    ],
    ["another size", { embed: async (texts: readonly string[]) => texts.map(() => [1, 2]) }],
    ["too few vectors", { embed: async () => [] }],
    ["nothing", { embed: async () => undefined as never }],
    ["an error of its own", { embed: () => Promise.reject(new TypeError("fetch failed")) }],
  ])("refuses an embedder that gives %s, with nothing written", async (_, hostile) => {
    const rag = await open({ embedder: countingEmbedder(hostile) });
    await expect(rag.ingest({ sourceId: "a", content: "Tea." })).rejects.toMatchObject({
      code: "embedding_failed",
      model: "counting",
    });
    expect((await rag.listDocuments()).documents).toEqual([]);
  });

  it("leaves an embedder that never answers behind on abort", async () => {
    const rag = await open({ embedder: countingEmbedder({ embed: () => new Promise(() => {}) }) });
    const signal = AbortSignal.timeout(20);
    await expect(rag.ingest({ sourceId: "a", content: "Tea." }, { signal })).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });
});

describe("what cannot be kept", () => {
  it.each([
    ["no owner", { owner: "" }, "owner_required"],
    ["a reader without name", { readOwners: [" "] }, "owner_required"],
    ["an owner with a line end", { owner: "a\nb" }, "bad_id"],
    ["an overlap as large as the size", { chunker: { size: 10, overlap: 10 } }, "bad_chunking"],
    ["an embedder of no dimensions", { embedder: countingEmbedder({ dimensions: 0 }) }, "invalid_config"],
  ])("refuses %s at creation", async (_, options, code) => {
    await expect(open(options)).rejects.toMatchObject({ code });
  });

  it("refuses hostile sources, metadata and content", async () => {
    const rag = await open();
    const bad = [
      [{ sourceId: "", content: "x" }, "bad_id"],
      [{ sourceId: "a\0b", content: "x" }, "bad_id"],
      [{ sourceId: "x".repeat(513), content: "x" }, "bad_id"],
      [{ sourceId: "\ud800", content: "x" }, "bad_id"],
      [{ sourceId: "a", content: "x", metadata: { a: "\0" } }, "invalid_argument"],
      [{ sourceId: "a", content: "x", metadata: { "\0": 1 } }, "invalid_argument"],
      [{ sourceId: "a", content: "x", metadata: { a: "y".repeat(70_000) } }, "too_large"],
      [{ sourceId: "a", content: "x\0y" }, "unsupported_media"],
      [{ sourceId: "a", content: new Uint8Array([1, 0, 2]) }, "unsupported_media"],
      [{ sourceId: "a", content: 7 as never }, "invalid_argument"],
    ] as const;
    for (const [input, code] of bad) await expect(rag.ingest(input)).rejects.toMatchObject({ code });
    expect((await rag.listDocuments()).documents).toEqual([]);
  });

  it("keeps SQL in keys and values of metadata as it is", async () => {
    const rag = await open();
    const metadata = { "'; DROP TABLE chunks; --": "x' OR '1'='1", path: "\\u0000 in words" };
    await rag.ingest({ sourceId: "'); DELETE FROM documents; --", content: "Tea.", metadata });
    expect((await rag.search("tea")).hits[0]).toMatchObject({
      metadata,
      sourceId: "'); DELETE FROM documents; --",
    });
  });

  it("ingests a text of 10 MB", async () => {
    const rag = await open();
    const text = "It is a long story about a tea pot. ".repeat(Math.ceil(290_000 * SCALE));
    const middle = text.length - (text.length % 72) - 720;
    const { chunks, documentId } = await rag.ingest({ sourceId: "long", content: text });
    expect(chunks).toBeGreaterThan(10_000 * SCALE);
    expect(await rag.getDocument(documentId, { start: middle, length: 36 })).toMatchObject({
      text: text.slice(middle, middle + 36),
    });
    await expect(
      rag.ingest({ sourceId: "b", content: "x".repeat(25 * 1024 * 1024 + 1) }),
    ).rejects.toMatchObject({ code: "too_large" });
  });

  it("closes with its store", async () => {
    const rag = await open();
    await rag.close();
    await rag.close();
    await expect(rag.search("tea")).rejects.toMatchObject({ code: "store_closed" });
  });
});
