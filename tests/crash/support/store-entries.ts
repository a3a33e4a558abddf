/** What a writer that is killed writes: every entry tells its number and shows whether it is whole. */

import type { Json } from "@openfunctions/core";

/** How many keys take turns. */
export const KEYS = 8;

/** The key of a write. */
export function keyOf(n: number): string {
  return `key-${n % KEYS}`;
}

/** The value of a write, from a few characters to some pages. */
export function entryOf(n: number): Json {
  return { n, text: `${n} `.repeat((n * 37) % 900), end: n };
}
