/** One process at a time: PGlite itself does not notice a second one, and both would go their own ways. */

import { withFileLock } from "@openfunctions/core/stores";

// A long statement keeps the process from giving a sign, so silence means little. A process that ended is known at once.
const STALE_MS = 10 * 60_000;

/**
 * Takes the lock `<directory>.lock` and gives what lets go of it. Throws `StoreError` `store_locked` where a living
 * process, this one too, has it.
 */
export function holdDirectory(directory: string): Promise<() => Promise<void>> {
  return new Promise((resolve, reject) => {
    const held: Promise<void> = withFileLock(
      `${directory}.lock`,
      () =>
        new Promise<void>((release) => {
          resolve(() => {
            release();
            return held;
          });
        }),
      { waitMs: 0, staleMs: STALE_MS },
    );
    held.catch(reject);
  });
}
