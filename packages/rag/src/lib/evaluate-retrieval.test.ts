import { describe, expect, it } from "vitest";
import { evaluateRetrieval } from "./evaluate-retrieval.ts";

const relevant = new Map([
  [
    "q1",
    new Map([
      ["a", 2],
      ["b", 1],
      ["x", 0],
    ]),
  ],
  ["q2", new Map([["c", 1]])],
  ["q3", new Map([["d", 0]])],
]);
const queries = ["q1", "q2", "q3", "q4"].map((id) => ({ id, text: `text of ${id}` }));

/** A search that gives these rankings. */
const ranked =
  (rankings: Readonly<Record<string, readonly string[]>>) =>
  async (text: string): Promise<readonly string[]> =>
    rankings[text.replace("text of ", "")] ?? [];

describe("evaluateRetrieval", () => {
  it("gives 1 for a ranking that could not be better, and counts queries with something to find", async () => {
    const search = ranked({ q1: ["a", "b", "x"], q2: ["c"] });
    expect(await evaluateRetrieval({ queries, relevant, search })).toEqual({
      ndcg10: 1,
      recall: { 10: 1, 100: 1 },
      mrr: 1,
      queries: 2,
    });
  });

  it("measures what came too low, and what did not come", async () => {
    const search = ranked({ q1: ["x", "b", "b", "a"], q2: [] });
    const { ndcg10, recall, mrr } = await evaluateRetrieval({ queries, relevant, search, k: [2, 3] });
    const gain = 1 / Math.log2(3) + 2 / Math.log2(4);
    const best = 2 + 1 / Math.log2(3);
    expect(ndcg10).toBeCloseTo(gain / best / 2, 12);
    expect(recall).toEqual({ 2: 0.25, 3: 0.5 });
    expect(mrr).toBe(0.25);
  });

  it("asks for as many as it looks at, never more than that", async () => {
    const asked: number[] = [];
    const filler = Array.from({ length: 20 }, (_, index) => `z${index}`);
    const search = async (_text: string, limit: number): Promise<readonly string[]> => {
      asked.push(limit);
      return [...filler, "c"];
    };
    const one = await evaluateRetrieval({ queries: queries.slice(1, 2), relevant, search, k: [5] });
    expect(asked).toEqual([10]);
    expect(one).toEqual({ ndcg10: 0, recall: { 5: 0 }, mrr: 0, queries: 1 });
  });

  it("refuses depths that are none, and judgements without anything relevant", async () => {
    const search = ranked({});
    await expect(evaluateRetrieval({ queries, relevant, search, k: [0] })).rejects.toMatchObject({
      code: "invalid_argument",
    });
    const endless = new Map([["1", new Map([["a", Number.POSITIVE_INFINITY]])]]);
    const asked = [{ id: "1", text: "x" }];
    await expect(evaluateRetrieval({ queries: asked, relevant: endless, search })).rejects.toMatchObject({
      code: "invalid_argument",
    });
    await expect(evaluateRetrieval({ queries, relevant: new Map(), search })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });
});
