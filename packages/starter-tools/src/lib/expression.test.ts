import { describe, expect, it } from "vitest";
import { evaluate } from "./expression.ts";
import { convert } from "./units.ts";

const value = (text: string): unknown => {
  const result = evaluate(text);
  return result.ok ? Number(result.value.toPrecision(12)) : result.problem;
};

describe("evaluate", () => {
  it.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["2 ^ 3 ^ 2", 512],
    ["-2 ^ 2", -4],
    ["10 / 4", 2.5],
    ["15% of 2,340", 351],
    ["50%", 0.5],
    ["200 - 25%", 150],
    ["10% + 5%", 0.15],
    ["1,234,567.5 + 0.5", 1_234_568],
    ["3 plus 4 times 2", 11],
    ["twelve", 'has "twelve", which is no number, operator or function'],
    ["sqrt(16) + max(1, 2, 3)", 7],
    ["2 pi", 'has "pi" where it should end'],
    ["1e3 + .5", 1000.5],
    ["0.1 + 0.2", 0.3],
    ["7 =", 7],
  ])("%s is %s", (text, expected) => expect(value(text)).toBe(expected));

  it("refuses what is no arithmetic, and never runs it", () => {
    for (const text of [
      "",
      "1 +",
      "(1",
      "1 2",
      "process.exit()",
      "constructor",
      "__proto__",
      "1;2",
      "a".repeat(501),
      `${"(".repeat(100)}1${")".repeat(100)}`,
      "1/0",
      "10^400",
    ]) {
      expect(evaluate(text).ok).toBe(false);
    }
  });
});

describe("convert", () => {
  it("knows units by short and long name, and keeps kinds apart", () => {
    expect(convert(1, "mile", "KM")).toEqual({ ok: true, value: 1.609344 });
    expect(
      convert(-40, "C", "fahrenheit").ok &&
        Math.round((convert(-40, "C", "fahrenheit") as { value: number }).value),
    ).toBe(-40);
    expect(convert(1, "kg", "m")).toMatchObject({ ok: false, problem: expect.stringContaining("length") });
    expect(convert(1, "parsnips", "m")).toMatchObject({ ok: false });
  });
});
