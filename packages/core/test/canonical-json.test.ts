import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { digest } from "@openfunctions/core";
import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../src/lib/json.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const VECTORS = join(import.meta.dirname, "..", "..", "..", "contracts", "vectors");

interface CanonicalVectors {
  readonly texts: readonly { readonly input: string; readonly canonical: string }[];
  readonly numbers: readonly { readonly bits: string; readonly text: string }[];
}

interface DigestVectors {
  readonly digests: readonly { readonly tag: string; readonly value: unknown; readonly digest: string }[];
}

async function vectors<T>(name: string): Promise<T> {
  return JSON.parse(await readFile(join(VECTORS, name), "utf8"));
}

describe("canonical JSON", () => {
  it("is what an independent implementation of RFC 8785 writes", () => {
    const value = fc.jsonValue({ maxDepth: 5, stringUnit: "binary" });
    fc.assert(
      fc.property(value, (json) => {
        expect(canonicalJson(json)).toBe(canonicalize(json));
      }),
      { numRuns: Math.max(500, 20_000 * SCALE) },
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(canonicalJson(number)).toBe(canonicalize(number));
      }),
      { numRuns: Math.max(1_000, 50_000 * SCALE) },
    );
  });

  it("writes the texts and numbers of the RFC, and our digests, as the shared vectors have them", async () => {
    const { texts, numbers } = await vectors<CanonicalVectors>("canonical.json");
    for (const { input, canonical } of texts) expect(canonicalJson(JSON.parse(input))).toBe(canonical);
    for (const { bits, text } of numbers)
      expect(canonicalJson(Buffer.from(bits, "hex").readDoubleBE()), bits).toBe(text);
    const { digests } = await vectors<DigestVectors>("digests.json");
    expect(digests.length).toBeGreaterThan(3);
    for (const one of digests) expect(digest(one.tag, one.value)).toBe(one.digest);
  });
});
