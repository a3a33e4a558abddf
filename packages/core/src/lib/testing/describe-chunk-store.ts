/** The contract suite of `ChunkStore`: every implementation runs it. */

import type { ChunkStoreFixture, ChunkStoreTest } from "./chunk-store-situation.ts";
import { describeChunkSearch } from "./chunk-store-search-cases.ts";
import { describeChunkWrites } from "./chunk-store-write-cases.ts";
import type { SuiteRunner } from "./suite-runner.ts";

/** A chunk store to put to the test. */
export interface ChunkStoreSuite {
  /** An empty store; called once per test. */
  make(): Promise<ChunkStoreFixture>;
  /** False where the store searches by word alone. Default true. */
  readonly vectors?: boolean;
}

/** Runs the contract of `ChunkStore` against what the suite makes. */
export function describeChunkStore(
  name: string,
  { make, vectors = true }: ChunkStoreSuite,
  { describe, it }: SuiteRunner,
): void {
  const test: ChunkStoreTest = (title, body) =>
    it(title, async () => {
      const fixture = await make();
      try {
        await body(fixture);
      } finally {
        await fixture.store.close();
        await fixture.release?.();
      }
    });
  describe(`ChunkStore contract: ${name}`, () => {
    describeChunkWrites(test, { vectors });
    describeChunkSearch(test, { vectors });
  });
}
