import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ChunkOptions, chunkText, type TextChunk } from "./chunk-text.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 1);
const RUNS = Math.ceil(600 * SCALE);

const pieces = fc.oneof(
  { weight: 4, arbitrary: fc.lorem({ maxCount: 4, mode: "sentences" }) },
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "# Top\n",
    "## Below\n",
    "\n\n",
    "\r\n",
    "```js\nlet a = 1;\n",
    "```\n",
    "| a | b |\n",
    "- item\n",
    "   ",
  ),
  fc.constantFrom(
    "今天天气很好。",
    "你想去公园吗？",
    "好！",
    "吾輩は猫である。",
    "👩‍👩‍👧‍👦",
    "🇨🇭",
    "e\u0301\u0302\u0303",
    "Dr. No met Mr. Yes.",
  ),
);
const texts = fc.array(pieces, { maxLength: 60 }).map((all) => all.join("").toWellFormed());
const sizes = fc
  .tuple(fc.integer({ min: 2, max: 300 }), fc.nat(299))
  .map(([size, overlap]) => ({ size, overlap: overlap % size }));

/** The overlap of each chunk with the one before it. */
function shared(chunks: readonly TextChunk[]): readonly number[] {
  return chunks.map(({ start }, index) => (index === 0 ? 0 : (chunks[index - 1]?.end ?? 0) - start));
}

function joined(chunks: readonly TextChunk[]): string {
  const overlaps = shared(chunks);
  return chunks.map(({ content }, index) => content.slice(overlaps[index])).join("");
}

describe("chunkText", () => {
  it("gives back the text, in bounded, well-formed chunks that advance", () => {
    fc.assert(
      fc.property(texts, sizes, (text, { size, overlap }) => {
        const chunks = chunkText(text, { size, overlap });
        expect(joined(chunks)).toBe(text);
        let before = -1;
        for (const [index, { start, end, content }] of chunks.entries()) {
          expect(text.slice(start, end)).toBe(content);
          expect(content.length).toBeLessThanOrEqual(size);
          expect(content.isWellFormed()).toBe(true);
          expect(start).toBeGreaterThan(before);
          expect(shared(chunks)[index]).toBeGreaterThanOrEqual(0);
          expect(shared(chunks)[index]).toBeLessThanOrEqual(overlap);
          before = start;
        }
      }),
      { numRuns: RUNS },
    );
  });

  it("field E2: comes to an end with an overlap just below the size, and a sentence end inside it", () => {
    const text = "abc\n".repeat(50);
    const chunks = chunkText(text, { size: 50, overlap: 49 });
    expect(joined(chunks)).toBe(text);
    expect(chunks.length).toBeLessThanOrEqual(text.length);
    const sentences = "One. Two. Three. Four. Five. Six. Seven. Eight. Nine. Ten.".repeat(3);
    expect(joined(chunkText(sentences, { size: 20, overlap: 19 }))).toBe(sentences);
  });

  it("field E4: cuts between characters of two units, never through one", () => {
    const chunks = chunkText("😀".repeat(8), { size: 3, overlap: 0 });
    expect(chunks.map(({ content }) => content)).toEqual(Array.from({ length: 8 }, () => "😀"));
    expect(chunks.every(({ content }) => content.isWellFormed())).toBe(true);
  });

  it("bounds tokens as estimated", () => {
    const tokens = (text: string): number =>
      Math.ceil(
        Array.from({ length: text.length }, (_, at) => (text.charCodeAt(at) < 128 ? 1 : 4)).reduce(
          (a, b) => a + b,
          0,
        ) / 4,
      );
    fc.assert(
      fc.property(texts, sizes, (text, sized) => {
        const chunks = chunkText(text, { ...sized, unit: "tokens" });
        expect(joined(chunks)).toBe(text);
        for (const { content } of chunks) expect(tokens(content)).toBeLessThanOrEqual(sized.size);
      }),
      { numRuns: RUNS },
    );
  });

  it("state K1: a sentence of 2,500 characters makes chunks of at most 1,000", () => {
    const chunks = chunkText(`${"word ".repeat(499)}done.`, { size: 1_000 });
    expect(chunks.map(({ content }) => content.length)).toEqual([1000, 1000, 500]);
    expect(joined(chunks)).toHaveLength(2500);
  });

  it("state K2: Chinese and Japanese are cut at their full stops", () => {
    const text = "今天天气很好。我们去公园吧！你想去吗？吾輩は猫である。名前はまだ無い。どこで生れたか！";
    for (const size of [8, 12, 20]) {
      const chunks = chunkText(text, { size, overlap: 0 });
      for (const { start, end, content } of chunks) {
        expect(text.slice(start, end)).toBe(content);
        expect(content).toMatch(/[。！？]$/);
      }
    }
  });

  it("shares whole sentences, and no more than the overlap", () => {
    const text = Array.from({ length: 40 }, (_, index) => `This is sentence ${index}. `).join("");
    const chunks = chunkText(text, { size: 200, overlap: 60 });
    expect(
      shared(chunks)
        .slice(1)
        .every((length) => length > 20 && length <= 60),
    ).toBe(true);
    for (const { content } of chunks) expect(content).toMatch(/^This is sentence \d+\..*\. $/s);
  });

  it("shares nothing of a sentence that was cut", () => {
    const text = `${"word ".repeat(30)}last. Next one is here. Then comes one more. And this one. And that.`;
    const chunks = chunkText(text, { size: 60, overlap: 55 });
    expect(joined(chunks)).toBe(text);
    expect(chunks.map(({ content }) => content.split(" ").slice(0, 2).join(" "))).toEqual([
      "word word",
      "word word",
      "word word",
      "Next one",
      "Then comes",
    ]);
    expect(shared(chunks).slice(0, 3)).toEqual([0, 0, 0]);
  });

  it("ends no sentence after an abbreviation or a soft line end", () => {
    const text = "Dr. Smith met Prof. Jones of the U.S. embassy\nat noon. They ate.";
    expect(chunkText(text, { size: 60, overlap: 0 }).map(({ content }) => content)).toEqual([
      "Dr. Smith met Prof. Jones of the U.S. embassy\nat noon. ",
      "They ate.",
    ]);
  });

  it.each(["Dr. Smith ate.", "J. Smith paid.", "Ja, z. B. Tee."])("keeps %s in one", (sentence) => {
    const text = `One. ${sentence}`;
    expect(chunkText(text, { size: 14, overlap: 0 }).map(({ content }) => content)).toEqual([
      "One. ",
      sentence,
    ]);
  });

  it("begins a chunk with each section, and tells the headings above", () => {
    const text = "Intro.\n\n# A\n\n## B\n\nText of B.\n\n```\n# no heading\n```\n\n# C\n\nText of C.";
    const chunks = chunkText(text);
    expect(chunks.map(({ headings, content }) => [headings, content.split("\n")[0]])).toEqual([
      [[], "Intro."],
      [["A", "B"], "# A"],
      [["C"], "# C"],
    ]);
  });

  it("keeps a paragraph, a code fence and a table whole where they fit", () => {
    const code = `\`\`\`ts\n${"let a = 1; // Yes. No. Perhaps.\n".repeat(4)}\`\`\`\n`;
    const table = `| a | b |\n|---|---|\n${"| one. two. | three. |\n".repeat(5)}`;
    const prose = "A sentence of prose here. ".repeat(5).trim();
    const text = `${prose}\n\n${code}\n${table}\n${prose}\n`;
    const contents = chunkText(text, { size: 220, overlap: 0 }).map(({ content }) => content.trim());
    expect(contents).toEqual([prose, code.trim(), table.trim(), prose]);
  });

  it("cuts code and tables that are too long at the ends of lines", () => {
    const text = `\`\`\`\n${"call(first, second); // a comment.\n".repeat(30)}\`\`\`\n`;
    for (const { content } of chunkText(text, { size: 120, overlap: 40 })) expect(content).toMatch(/\n$/);
  });

  it("tells the page a chunk begins on", () => {
    const chunks = chunkText("One.\n\nTwo.\n\nThree.", { size: 7, overlap: 0 }, { pages: [0, 6, 12] });
    expect(chunks.map(({ page, content }) => [page, content.trim()])).toEqual([
      [1, "One."],
      [2, "Two."],
      [3, "Three."],
    ]);
  });

  it("holds no more than the beginning of a long heading, and the innermost of many", () => {
    const headings = Array.from({ length: 20 }, (_, level) => ({ start: 0, level, title: `${level}` }));
    const [chunk] = chunkText("x", {}, { headings });
    expect(chunk?.headings).toEqual(["12", "13", "14", "15", "16", "17", "18", "19"]);
    const title = `${"h".repeat(199)}😀${"h".repeat(1_000_000)}`;
    const [long] = chunkText("x", {}, { headings: [{ start: 0, level: 1, title }] });
    expect(long?.headings).toEqual([`${"h".repeat(199)}\ufffd`]);
  });

  it("reads headings that are closed by marks of their own", () => {
    const text = "## Tea ##\n\na\n\n# C#\n\nb\n\n# #\n\nc\n\n# F # G #  \r\n\nd\n";
    const titles = chunkText(text, { size: 20, overlap: 0 }).map(({ headings }) => headings.at(-1));
    expect([...new Set(titles)]).toEqual(["Tea", "C#", "F # G"]);
  });

  it("takes a character of two units whole at size 1", () => {
    expect(chunkText("a👍b", { size: 1, overlap: 0 }).map(({ content }) => content)).toEqual([
      "a",
      "👍",
      "b",
    ]);
  });

  it.each([
    ["a word", "a".repeat(1_000_000)],
    ["words", "word ".repeat(200_000)],
    ["sentences", "So it is. ".repeat(100_000)],
    ["one character of many marks", `e${"\u0301".repeat(1_000_000)}`],
    ["spaces", " ".repeat(1_000_000)],
    ["fences", "```\n\n".repeat(200_000)],
    ["headings", "# a\n".repeat(250_000)],
    ["headings of spaces", `# a${" ".repeat(490)}b\n`.repeat(2_000)],
    ["soft breaks", "\n  \t".repeat(250_000)],
  ])("cuts a megabyte of %s in little time", (_, text) => {
    const began = performance.now();
    const chunks = chunkText(text);
    expect(joined(chunks)).toBe(text);
    // A quadratic step would take minutes; this is no measurement.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it.each([
    ["short lines", "abc\n".repeat(50)],
    ["one word", "a".repeat(400)],
    ["a sentence that ends in the overlap", `${"a".repeat(45)}. ${"b ".repeat(80)}`],
  ])("field E2: ends, and each chunk begins and ends later than the one before: %s", (_, text) => {
    const began = performance.now();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(59), (size, rest) => {
        for (const overlap of new Set([rest % size, size - 1])) {
          const chunks = chunkText(text, { size, overlap });
          expect(joined(chunks)).toBe(text);
          for (const [index, { start, end }] of chunks.entries()) {
            const before = chunks[index - 1] ?? { start: -1, end: 0 };
            expect(start > before.start && end > before.end).toBe(true);
          }
        }
      }),
      { numRuns: RUNS },
    );
    // One that never ends fails the test; one that goes back and forth takes far longer.
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(() => chunkText(text, { size: 50, overlap: 50 })).toThrowError(
      expect.objectContaining({ code: "bad_chunking" }),
    );
  });

  it("field E4: no chunk ends within a character of two units, and together they are the text", () => {
    for (const text of [
      "😀".repeat(8),
      `a${"😀".repeat(8)}`,
      "👩‍👩‍👧‍👦".repeat(8),
      "e\u0301\u0302\u0303".repeat(8),
    ])
      for (let size = 2; size <= 17; size += 1) {
        const chunks = chunkText(text, { size, overlap: 0 });
        expect(chunks.map(({ content }) => content).join("")).toBe(text);
        for (const { content } of chunks) {
          expect(content.isWellFormed()).toBe(true);
          expect(content.length).toBeLessThanOrEqual(size);
        }
      }
  });

  it.each<ChunkOptions>([
    { size: 100, overlap: 100 },
    { size: 100, overlap: 200 },
    { size: 0 },
    { size: -5 },
    { size: 1.5 },
    { overlap: -1 },
    { size: Number.NaN },
  ])("state K4: refuses %o as bad_chunking", (options) => {
    expect(() => chunkText("text", options)).toThrowError(expect.objectContaining({ code: "bad_chunking" }));
  });
});
