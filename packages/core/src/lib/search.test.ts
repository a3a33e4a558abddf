/** Search: how texts are cut into terms, ranked by their words, and fused with vectors. */

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { Bm25Index } from "./bm25.ts";
import { cosine, embedChecked, type Embedder, hashEmbedder } from "./embedder.ts";
import { hybridSearch, type SearchSource } from "./hybrid-search.ts";
import { searchTerms } from "./search-terms.ts";
import { stem } from "./stem.ts";

describe("searchTerms", () => {
  it("folds case, accents, widths and endings, so that one form finds the other", () => {
    expect(searchTerms("Zürich RUNNING ﬁsh ＡＢＣ")).toEqual(searchTerms("zurich runs fish abc"));
  });

  it("cuts scripts without spaces into pairs, and keeps their marks", () => {
    expect(searchTerms("我喜欢绿茶")).toEqual(["我喜", "喜欢", "欢绿", "绿茶"]);
    expect(searchTerms("が見る tea")).toEqual(["が見", "見る", "tea"]);
  });

  it.each(["c++", "foo-bar", '"unbalanced', "a OR b*", "'; DROP TABLE x; --", "\u0000", "", "🙂"])(
    "finds no syntax in %j",
    (text) => {
      for (const term of searchTerms(text)) expect(term).toMatch(/^[\p{L}\p{N}\p{M}]+$/u);
    },
  );

  it("gives the same terms for any text in whatever case", () => {
    fastCheck.assert(
      fastCheck.property(fastCheck.string({ unit: "grapheme" }), (text) => {
        expect(searchTerms(text.toLowerCase())).toEqual(searchTerms(text));
      }),
    );
  });
});

describe("stem", () => {
  // Examples of the paper, step by step.
  it.each([
    ["caresses", "caress"],
    ["ponies", "poni"],
    ["cats", "cat"],
    ["feed", "feed"],
    ["agreed", "agre"],
    ["plastered", "plaster"],
    ["bled", "bled"],
    ["motoring", "motor"],
    ["sing", "sing"],
    ["hopping", "hop"],
    ["falling", "fall"],
    ["filing", "file"],
    ["happy", "happi"],
    ["sky", "sky"],
    ["relational", "relat"],
    ["conditional", "condit"],
    ["vietnamization", "vietnam"],
    ["operator", "oper"],
    ["triplicate", "triplic"],
    ["formalize", "formal"],
    ["hopeful", "hope"],
    ["adjustable", "adjust"],
    ["replacement", "replac"],
    ["adoption", "adopt"],
    ["probate", "probat"],
    ["rate", "rate"],
    ["cease", "ceas"],
    ["controlling", "control"],
    ["roll", "roll"],
  ])("%s is %s", (word, expected) => expect(stem(word)).toBe(expected));
});

describe("Bm25Index", () => {
  it("finds a text by any of the words, and the one with more of them first", () => {
    const index = new Bm25Index();
    index.add("tea", "User likes tea");
    index.add("coffee", "User hates coffee");
    index.add("green", "Green tea is made from leaves");
    const found = index.search("likes green tea", 10).map(({ id }) => id);
    expect(found.toSorted()).toEqual(["green", "tea"]);
    expect(index.search("coffee", 10)).toMatchObject([{ id: "coffee" }]);
    expect(index.search("nothing of that", 10)).toEqual([]);
  });

  it("forgets what was removed or put in another's place", () => {
    const index = new Bm25Index();
    index.add("a", "red apple");
    index.add("a", "blue plum");
    expect(index.search("apple", 10)).toEqual([]);
    expect(index.search("plum", 10)).toMatchObject([{ id: "a" }]);
    expect([index.remove("a"), index.remove("a"), index.size]).toEqual([true, false, 0]);
    expect(index.search("plum", 10)).toEqual([]);
  });

  const folder = fileURLToPath(new URL("../../../../../shared/fixtures/rag/", import.meta.url));
  it.skipIf(!existsSync(folder)).each([
    ["cranfield", 0.371],
    ["cacm", 0.481],
  ])("comes within a point of a standard BM25 on %s (nDCG@10 %f)", (set, standard) => {
    const lines = (file: string) => readFileSync(`${folder}${set}/${file}`, "utf8").trim().split("\n");
    const index = new Bm25Index();
    for (const line of lines("corpus.jsonl")) {
      const { _id, title, text } = JSON.parse(line);
      index.add(_id, `${title} ${text}`);
    }
    const judged = new Map<string, Map<string, number>>();
    for (const line of lines("qrels.tsv").slice(1)) {
      const [query = "", document = "", grade] = line.split("\t");
      judged.set(query, (judged.get(query) ?? new Map()).set(document, Number(grade)));
    }
    const gain = (grades: readonly number[]): number =>
      grades.reduce((sum, grade, rank) => sum + Math.max(0, grade) / Math.log2(rank + 2), 0);
    const scores = lines("queries.jsonl").flatMap((line) => {
      const { _id, text } = JSON.parse(line);
      const grades = judged.get(_id);
      if (grades === undefined) return [];
      const best = gain([...grades.values()].toSorted((one, two) => two - one).slice(0, 10));
      return [gain(index.search(text, 10).map(({ id }) => grades.get(id) ?? 0)) / best];
    });
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    expect(mean).toBeGreaterThan(standard - 0.01);
  });
});

describe("hybridSearch", () => {
  const texts = { a: "the cat sleeps", b: "a dog barks", c: "felines rest a lot" };
  const meaning: Readonly<Record<string, readonly number[]>> = {
    [texts.a]: [1, 0],
    [texts.b]: [0, 1],
    [texts.c]: [0.9, 0.1],
    "the cat": [1, 0.05],
  };
  const embedder: Embedder = {
    model: "by-hand",
    dimensions: 2,
    maxInputTokens: 100,
    semantic: true,
    embed: async (asked) => asked.map((text) => meaning[text] ?? [0, 0]),
  };
  const source: SearchSource = {
    keyword: async (query, limit) => {
      const index = new Bm25Index();
      for (const [id, text] of Object.entries(texts)) index.add(id, text);
      return index.search(query, limit);
    },
    vector: async (vector) =>
      Object.entries(texts)
        .map(([id, text]) => ({ id, cosine: cosine(vector, meaning[text] ?? []) }))
        .toSorted((one, two) => two.cosine - one.cosine),
  };

  it("scores the hit that is first in both as 1, and finds by meaning what has no word of the query", async () => {
    const { mode, hits } = await hybridSearch(source, "the cat", { embedder });
    expect(mode).toBe("hybrid");
    expect(hits[0]).toMatchObject({
      id: "a",
      score: 1,
      parts: { keyword: { rank: 1 }, vector: { rank: 1 } },
    });
    expect(hits.map(({ id }) => id)).toContain("c");
    for (const { score } of hits) expect(score).toBeLessThanOrEqual(1);
    const near = await hybridSearch(source, "the cat", { embedder, minCosine: 0.5 });
    expect(near.hits.map(({ id }) => id)).toEqual(["a", "c"]);
    expect((await hybridSearch(source, "the cat", { embedder, minScore: 0.9 })).hits).toHaveLength(1);
  });

  it.each<[string, Embedder | undefined]>([
    ["no embedder configured", undefined],
    ["embedder is not semantic", hashEmbedder({ dimensions: 2 })],
    ["embedder timed out", { ...embedder, embed: () => new Promise(() => {}) }],
    ["embedder failed", { ...embedder, embed: () => Promise.reject(new Error("no")) }],
    ["embedder failed", { ...embedder, embed: async () => [[Number.NaN, 0]] }],
    ["embedder failed", { ...embedder, embed: async () => [[1]] }],
  ])("state Z44: goes by keyword and says why: %s", async (reason, given) => {
    const {
      mode,
      reason: told,
      hits,
    } = await hybridSearch(source, "cat", { embedder: given, timeoutMs: 10 });
    expect([mode, told]).toEqual(["keyword", reason]);
    expect(hits).toMatchObject([{ id: "a", score: 1 }]);
  });

  it("takes weights for an embedder that knows no meaning as the caller's wish", async () => {
    const options = { embedder: { ...embedder, semantic: false }, weights: { keyword: 1, vector: 2 } };
    expect((await hybridSearch(source, "the cat", options)).mode).toBe("hybrid");
  });

  it("lets weights count in the fusion alone: without vectors the words do, whatever their weight", async () => {
    const weights = { keyword: 0, vector: 1 };
    expect(await hybridSearch(source, "cat", { weights })).toMatchObject({
      mode: "keyword",
      hits: [{ score: 1 }],
    });
    const { hits } = await hybridSearch(source, "the cat", { weights, embedder });
    expect(hits[0]).toMatchObject({ id: "a", score: 1 });
  });

  it.each([
    { weights: { keyword: 0, vector: 0 } },
    { weights: { keyword: -1, vector: 3 } },
    { weights: { keyword: Number.NaN, vector: 1 } },
    { weights: { keyword: Number.MAX_VALUE, vector: Number.MAX_VALUE } },
    { minScore: Number.NaN },
    { minCosine: Number.NaN },
  ])("refuses %o, by which nothing can be ranked", async (options) => {
    await expect(hybridSearch(source, "cat", { embedder, ...options })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });

  it("rejects with the caller's reason on abort, and refuses a limit that is none", async () => {
    const reason = new Error("enough");
    const slow = { ...embedder, embed: () => new Promise<never>(() => {}) };
    const signal = AbortSignal.abort(reason);
    await expect(hybridSearch(source, "cat", { embedder: slow, signal })).rejects.toBe(reason);
    await expect(hybridSearch(source, "cat", { limit: 0 })).rejects.toThrow("limit");
  });
});

it("embedChecked names the text whose vector is wrong", async () => {
  const wrong = { ...hashEmbedder({ dimensions: 2 }), embed: async () => [[1, 2], [3]] };
  await expect(embedChecked(wrong, ["a", "b"], { kind: "document" })).rejects.toMatchObject({
    code: "embedding_failed",
    index: 1,
    model: "hash-2",
  });
  const gap: number[] = [];
  gap[1] = 2;
  for (const vector of [[1, 1e39], [-1e300, 0], gap]) {
    const unkept = { ...wrong, embed: async () => [vector] };
    await expect(embedChecked(unkept, ["a"], { kind: "document" })).rejects.toMatchObject({ index: 0 });
  }
  const many = {
    ...wrong,
    embed: async () => [
      [1, 2],
      [3, 4],
      [5, 6],
    ],
  };
  await expect(embedChecked(many, ["a", "b"], { kind: "document" })).rejects.toMatchObject({ index: 1 });
  const few = { ...wrong, embed: async () => [[1, 2]] };
  await expect(embedChecked(few, ["a", "b"], { kind: "document" })).rejects.toMatchObject({ index: 1 });
});
