import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "./json.ts";
import { RecordScan } from "./record-scan.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");

function scans(content: string | Uint8Array): boolean {
  const text = Buffer.from(content);
  return new RecordScan().canonical(Buffer.concat([text, Buffer.from("\n")]), 0, text.length);
}

/** The slow way: parse, write again, compare. */
function isCanonical(bytes: Buffer): boolean {
  try {
    return bytes.equals(Buffer.from(canonicalJson(JSON.parse(bytes.toString("utf8")))));
  } catch {
    return false;
  }
}

const json = fc.jsonValue({ maxDepth: 4, stringUnit: "binary" });
const texts = json.map((value) => Buffer.from(canonicalJson(value)));

describe("RecordScan", () => {
  it("takes every canonical text, with keys and strings of any characters", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(scans(text)).toBe(true);
      }),
      { numRuns: Math.max(300, 10_000 * SCALE) },
    );
  });

  it("agrees with parsing and writing again on texts with a byte changed, taken out or put in", () => {
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(255), fc.nat(2), (text, place, byte, how) => {
        const at = place % text.length;
        const kept = text.subarray(how === 2 ? at : at + 1);
        const put = how === 1 ? [] : [byte];
        const changed = Buffer.concat([text.subarray(0, at), Buffer.from(put), kept]);
        // The caller has cut the lines and checked their encoding.
        fc.pre(isUtf8(changed) && !changed.includes(10));
        expect(scans(changed), changed.toString()).toBe(isCanonical(changed));
      }),
      { numRuns: Math.max(1_000, 50_000 * SCALE) },
    );
  });

  it("knows the one way to write a number, an escape and an order of keys", () => {
    const good = [
      "0",
      "-1",
      "0.5",
      "1e+21",
      "1e-7",
      "100000000000000000000",
      "123456789012345680000",
      "5e-324",
      "9007199254740992",
      "0.30000000000000004",
      "-0.5",
      "0.000001",
      "123456789012345.6",
    ];
    const bad = [
      "-0",
      "9999999999999999",
      "0.50",
      "5.0",
      "0.0000001",
      "-0.0",
      "0.",
      "1.5e",
      "0.1000000000000000055",
      "00",
      "01",
      "-01",
      "1.0",
      "1e21",
      "1E+21",
      "+1",
      ".5",
      "1.",
      "0x1",
      "Infinity",
      "NaN",
      "-",
    ];
    const strings = ['"\\n"', '"\\u0001"', '"\\u001f"', '"é"', '"\\""', '"/"', '"\u007f"', '"\u2028"'];
    const badStrings = [
      '"\\u000a"',
      '"\\u001F"',
      '"\\u0041"',
      '"\\/"',
      '"\\ud800"',
      '"\t"',
      '"\\x"',
      '"',
      "'a'",
    ];
    const objects = [
      '{"":1}',
      '{"a":1,"a!":2}',
      '{"\u{1f600}":1,"\ufb33":2}',
      '{"\\u0001":1,"!":2}',
      '{"\\n":1,"a":2}',
    ];
    const badObjects = [
      '{"b":1,"a":2}',
      '{"a":1,"a":1}',
      '{"\ufb33":1,"\u{1f600}":2}',
      '{"a!":1,"a":2}',
      '{"a":1,}',
      "{a:1}",
      "[1,]",
      "[1 ]",
      "{",
      "",
      "tru",
      "nulll",
      "1 1",
    ];
    for (const text of [...good, ...strings, ...objects]) expect(scans(text), text).toBe(true);
    for (const text of [...bad, ...badStrings, ...badObjects]) expect(scans(text), text).toBe(false);
  });

  it("stops at nesting that the writer refuses", () => {
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    for (const levels of [512, 513, 514, 100_000])
      expect(scans(nested(levels)), String(levels)).toBe(isCanonical(Buffer.from(nested(levels))));
  });
});
