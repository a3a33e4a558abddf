/** The report says what the numbers say. */

import { describe, expect, it } from "vitest";
import { type Target, toMarkdown } from "./report.ts";
import { interleave, summarize } from "./statistics.ts";

describe("a report", () => {
  const target: Target = { name: "CPU", relation: "at most", limit: 1.25, measured: 1.2, unit: "x" };
  const write = (targets: readonly Target[]): string =>
    toMarkdown([{ title: "Part", method: "How.", tables: [], targets }], {
      command: "npm run bench",
    });

  it("says that a target holds", () => {
    const text = write([target]);
    expect(text).toContain("| CPU | at most 1.250 x | 1.200 x | holds |");
    expect(text).not.toContain("Missed");
  });

  it("says in a sentence which target is missed and why", () => {
    const text = write([{ ...target, measured: 1.4, because: "It hashes." }]);
    expect(text).toContain("| CPU | at most 1.250 x | 1.400 x | **missed** |");
    expect(text).toContain("- CPU: 1.400 x where at most 1.250 x is wanted. It hashes.");
  });

  it("counts the limit itself as met, unless it must be below", () => {
    const at = { ...target, measured: 1.25 };
    expect(write([at])).toContain("holds");
    expect(write([{ ...at, relation: "at least" }])).toContain("holds");
    expect(write([{ ...at, relation: "below" }])).toContain("**missed**");
  });
});

describe("statistics", () => {
  it("takes the middle, or the mean of the two in the middle", () => {
    expect(summarize([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9, count: 3 });
    expect(summarize([4, 1, 2, 9]).median).toBe(3);
  });

  it("refuses a median of nothing", () => {
    expect(() => summarize([])).toThrow("no measurement");
  });

  it("measures in turns", async () => {
    const order: string[] = [];
    await interleave(["a", "b"], 2, async (name, round) => order.push(`${name}${round}`));
    expect(order).toEqual(["a0", "b0", "a1", "b1"]);
  });
});
