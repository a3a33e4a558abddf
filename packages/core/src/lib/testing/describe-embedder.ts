/** The contract suite of `Embedder`: every implementation runs it. */

import assert from "node:assert/strict";
import { type Embedder, EmbedderError } from "../embedder.ts";
import type { SuiteRunner } from "./suite-runner.ts";

/** What a test is given. */
export interface EmbedderFixture {
  readonly embedder: Embedder;
  /** Releases what `make` opened. */
  readonly release?: () => Promise<void>;
}

/** An embedder to put to the test. */
export interface EmbedderSuite {
  /** Called once per test. The same text has to give the same vector, and two texts two vectors. */
  make(): Promise<EmbedderFixture>;
  /** False where any text is taken, however long. Default true. */
  readonly bounded?: boolean;
}

/** More than any provider takes in one request. */
const MANY = 2_100;

/** Runs the contract of `Embedder` against what the suite makes. */
export function describeEmbedder(
  name: string,
  { make, bounded = true }: EmbedderSuite,
  { describe, it }: SuiteRunner,
): void {
  const test = (title: string, body: (embedder: Embedder) => Promise<void>): unknown =>
    it(title, async () => {
      const { embedder, release } = await make();
      try {
        await body(embedder);
      } finally {
        await release?.();
      }
    });
  describe(`Embedder contract: ${name}`, () => {
    test("says what it is", async ({ model, dimensions, maxInputTokens, semantic }) => {
      assert.ok(typeof model === "string" && model !== "");
      assert.ok(Number.isInteger(dimensions) && dimensions > 0);
      assert.ok(Number.isInteger(maxInputTokens) && maxInputTokens > 0);
      assert.equal(typeof semantic, "boolean");
    });

    test("gives each text a vector of its dimensions, for documents and queries", async (embedder) => {
      for (const kind of ["document", "query"] as const) {
        const vectors = await embedder.embed(["green tea", "我喜欢绿茶 🍵"], { kind });
        assert.equal(vectors.length, 2);
        for (const vector of vectors) {
          assert.equal(vector.length, embedder.dimensions);
          assert.ok(vector.every(Number.isFinite));
        }
      }
    });

    test("gives nothing for nothing", async (embedder) => {
      assert.deepEqual(await embedder.embed([], { kind: "document" }), []);
    });

    test("keeps the order of many texts, in requests of the size that is taken", async (embedder) => {
      const texts = Array.from({ length: MANY }, (_, index) => `text number ${index}`);
      const vectors = await embedder.embed(texts, { kind: "document" });
      assert.equal(vectors.length, MANY);
      for (const index of [0, 1, 63, 64, 99, 100, 2_047, 2_048, MANY - 1]) {
        const [alone] = await embedder.embed([texts[index] ?? ""], { kind: "document" });
        assert.deepEqual(vectors[index], alone, `text ${index}`);
      }
    });

    if (bounded) {
      test("refuses a text over its limit, names it, and cuts nothing", async (embedder) => {
        const long = "word ".repeat(embedder.maxInputTokens * 2);
        await assert.rejects(embedder.embed(["short", "short", long], { kind: "document" }), (error) => {
          assert.ok(error instanceof EmbedderError);
          assert.equal(error.index, 2);
          assert.equal(error.model, embedder.model);
          assert.equal(error.retryable, false);
          return true;
        });
      });
    }

    test("rejects with the reason of an abort", async (embedder) => {
      const reason = new Error("enough");
      const signal = AbortSignal.abort(reason);
      await assert.rejects(
        embedder.embed(["tea"], { kind: "document", signal }),
        (error) => error === reason,
      );
    });
  });
}
