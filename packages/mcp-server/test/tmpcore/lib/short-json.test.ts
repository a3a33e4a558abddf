import { describe, expect, it } from "vitest";
import { shortJson, shortText } from "./short-json.ts";

describe("shortJson", () => {
  it("cuts at 80 characters", () => {
    expect(shortJson("a".repeat(200))).toHaveLength(80);
    expect(shortJson({ a: 1 })).toBe('{"a":1}');
  });
  it("never cuts a character in half", () => {
    for (let length = 70; length < 90; length += 1)
      expect(shortText(`${"a".repeat(length)}${"😀".repeat(9)}`, 80).isWellFormed()).toBe(true);
  });
  it("names what JSON cannot hold", () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    expect([undefined, 5n, Symbol("s"), () => 1, cycle].map((value) => typeof shortJson(value))).toEqual(
      Array(5).fill("string"),
    );
  });
});
