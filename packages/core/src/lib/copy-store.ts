/** Moves state from one backend to another. */

import type { Json } from "./json.ts";
import type { Store } from "./store.ts";

/**
 * Writes every entry of one store into another, of whatever backend, and says how many there were. What the target holds
 * under other keys stays. Can be repeated: after one that broke off, or to bring over what was written since. Each entry
 * is written whole; what others write to `from` meanwhile may be missed.
 */
export async function copyStore<T extends Json>(
  from: Store<T>,
  to: Store<T>,
): Promise<{ readonly copied: number }> {
  let copied = 0;
  for await (const [key, value] of from.entries()) {
    await to.set(key, value);
    copied += 1;
  }
  return { copied };
}
