/** Digests name values, and nothing that is no value. */

import { describe, expect, it } from "vitest";
import { digest } from "./digest.ts";

describe("digest", () => {
  it("runs L8: an undefined key makes no difference, and neither does the order of keys", () => {
    expect(digest("t", { a: 1, b: undefined })).toBe(digest("t", { a: 1 }));
    expect(digest("t", { a: 1, b: 2 })).toBe(digest("t", { b: 2, a: 1 }));
    expect(digest("t", { a: 1 })).not.toBe(digest("u", { a: 1 }));
  });

  it.each([
    ["a Date", new Date(0)],
    ["a function", () => 1],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a BigInt", 1n],
    ["undefined in a list", [undefined]],
    ["half a character", "\ud800"],
  ])("runs L8: %s throws", (_, value) => {
    expect(() => digest("t", { value })).toThrow("Canonical JSON cannot hold");
  });
});
