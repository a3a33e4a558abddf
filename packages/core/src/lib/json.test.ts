import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, copyJson } from "./json.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");

/** Canonical JSON by the plainest reading of RFC 8785: sort everything, then let JSON.stringify write. */
function plainly(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(plainly).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([left], [right]) =>
    left < right ? -1 : left > right ? 1 : 0,
  );
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${plainly(item)}`).join(",")}}`;
}

describe("canonicalJson", () => {
  it("sorts keys by code unit at every depth, whatever their number, and writes numbers as ECMAScript does", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 5 }), (value) => {
        expect(canonicalJson(value)).toBe(plainly(value));
      }),
      { numRuns: Math.max(200, 5_000 * SCALE) },
    );
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${60 - index}`, index]));
    expect(canonicalJson(many)).toBe(plainly(many));
    expect(canonicalJson({ b: 1, a: 2, "\u20ac": 3, "\r": 4, "1": 5, "\u{1f600}": 6, "\ufb33": 7 })).toBe(
      '{"\\r":4,"1":5,"a":2,"b":1,"€":3,"😀":6,"\ufb33":7}',
    );
    expect(canonicalJson([1e21, 1e-7, -0, 333333333.3333333, 0.1])).toBe(
      "[1e+21,1e-7,0,333333333.3333333,0.1]",
    );
  });

  it("drops undefined keys and refuses what is not JSON", () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const bad of [
      new Date(),
      () => 1,
      1n,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      [undefined],
      "\ud800",
      { "\ud800": 1 },
      cycle,
      new Map(),
    ]) {
      expect(() => canonicalJson(bad)).toThrow(expect.objectContaining({ code: "not_json" }));
    }
  });
});

describe("copyJson", () => {
  it("copies, and lists each place that is not JSON", () => {
    const source = { a: [1, { b: "x" }], gone: undefined };
    const { copy, problems } = copyJson(source);
    expect(copy).toEqual({ a: [1, { b: "x" }] });
    expect(problems).toEqual([]);
    expect(
      copyJson({ o: { k: Number.NaN }, list: [1, 2n, () => 1], when: new Date() }).problems.map(
        ({ path }) => path,
      ),
    ).toEqual(["o.k", "list[1]", "list[2]", "when"]);
    expect(Object.keys(Object(copyJson(JSON.parse('{"__proto__":{"x":1},"constructor":1}')).copy))).toEqual([
      "constructor",
    ]);
  });
});
