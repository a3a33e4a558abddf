/** What this package keeps in a store, there and back. */

import type { Json } from "@openfunctions/core";

/** A value as the store takes it. */
export function toStore(value: object): Json {
  const json: unknown = value;
  return json as Json; // Proof: threads, turns, facts and changes are made of JSON alone, and the store checks it
}

/** A value as it was put in. */
export function fromStore<T extends object>(value: Json | undefined): T | undefined {
  const stored: unknown = value;
  return stored as T | undefined; // Proof: each key is written by one class, with one type
}
