/** What a test of the chunk-store suite is given. */

import type { ChunkStore } from "../chunk-store.ts";

/** What a test is given: a store that is empty, and where state lasts, the same store opened again. */
export interface ChunkStoreFixture {
  readonly store: ChunkStore;
  /** Opens the same place a second time; left out where nothing lasts. */
  readonly reopen?: () => Promise<ChunkStore>;
  /** Releases what `make` opened besides the store. */
  readonly release?: () => Promise<void>;
}

/** A test of the suite. */
export type ChunkStoreTest = (title: string, body: (fixture: ChunkStoreFixture) => Promise<void>) => unknown;
