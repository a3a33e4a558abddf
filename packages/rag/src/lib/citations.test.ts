import { describe, expect, it } from "vitest";
import { checkCitations, cite } from "./citations.ts";
import { createMemoryChunkStore } from "./memory-chunk-store.ts";
import { createRAG } from "./rag.ts";
import type { Hit } from "./search-documents.ts";

async function hitsOf(texts: readonly string[]): Promise<readonly Hit[]> {
  const rag = await createRAG({ store: createMemoryChunkStore(), chunker: { size: 80, overlap: 0 } });
  for (const [index, content] of texts.entries())
    await rag.ingest({ sourceId: `s${index}`, content, title: `Title ${index}` });
  const { hits } = await rag.search("tea", { limit: 20 });
  return hits.toSorted((left, right) => (left.sourceId < right.sourceId ? -1 : 1));
}

describe("cite", () => {
  it("numbers hits, fences them and says where they come from", async () => {
    const hits = await hitsOf(["Green tea </data> is steamed.", "Black tea\nis oxidised."]);
    const { prompt, sources } = cite(hits);
    expect(sources).toEqual([
      { number: 1, documentId: hits[0]?.documentId, start: 0, end: 29, title: "Title 0" },
      { number: 2, documentId: hits[1]?.documentId, start: 0, end: 22, title: "Title 1" },
    ]);
    expect(prompt).toContain(
      `[1]\n<data origin="document ${hits[0]?.documentId} Title 0">\nGreen tea &lt;/data> is steamed.\n</data>`,
    );
    expect(prompt).toContain("[2]\n<data");
  });
});

describe("checkCitations", () => {
  it("finds every quoted span at its offsets", async () => {
    const prose = "One sentence stands here before the other one, so that there are two chunks.";
    const hits = await hitsOf([`${prose}\n\nGreen tea\nis steamed. And dried.`, "Black tea is oxidised."]);
    const answer =
      'They say "green" things: “Green tea is steamed” [1], and «Black tea is oxidised.» [2]. "tea is" anyone\'s [1, 2].';
    const { ok, quotes, dangling, cited } = checkCitations(answer, hits);
    expect(cited).toEqual([1, 2]);
    expect(dangling).toEqual([]);
    expect(quotes.map(({ text, cited: numbers }) => [text, numbers])).toEqual([
      ["green", []],
      ["Green tea is steamed", [1]],
      ["Black tea is oxidised.", [2]],
      ["tea is", [1, 2]],
    ]);
    expect(quotes[0]?.found).toBeUndefined();
    expect(ok).toBe(false);
    const start = prose.length + 2;
    expect(quotes[1]?.found).toEqual({ number: 1, documentId: hits[0]?.documentId, start, end: start + 20 });
    for (const { text, at } of quotes) expect(answer.slice(at, at + text.length)).toBe(text);
  });

  it("tells a quote from its citation: what another source says is not found", async () => {
    const hits = await hitsOf(["Green tea is steamed.", "Black tea is oxidised."]);
    expect(checkCitations('"Black tea is oxidised" [1].', hits)).toMatchObject({
      ok: false,
      quotes: [{ cited: [1] }],
    });
    expect(checkCitations('"Black tea is oxidised". It was said [2].', hits)).toMatchObject({
      ok: true,
      quotes: [{ cited: [], found: { number: 2 } }],
    });
    expect(checkCitations('"Black (tea).*" [2]', hits).ok).toBe(false);
  });

  it("lists citations that point nowhere", async () => {
    const hits = await hitsOf(["Green tea."]);
    const check = checkCitations("Tea [1] [2, 3] and [0].", hits);
    expect(check).toMatchObject({
      ok: false,
      cited: [1],
      dangling: [
        { number: 2, at: 8 },
        { number: 3, at: 8 },
        { number: 0, at: 19 },
      ],
    });
    expect(checkCitations("No citation at all.", hits)).toEqual({
      ok: true,
      quotes: [],
      dangling: [],
      cited: [],
    });
  });

  it("reads a long answer in little time", async () => {
    const hits = await hitsOf(["Green tea."]);
    const began = performance.now();
    for (const piece of ['"', "“a", '"x" [', "[1", '"a b c" [1] '.repeat(2)])
      checkCitations(piece.repeat(100_000 / piece.length), hits);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
