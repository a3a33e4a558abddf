/** Where state lives: one small asynchronous contract for every backend. */

import { ConfigError, InputError, StoreError } from "./errors.ts";
import { type Json, copyJson } from "./json.ts";

/** What an `update` decides. */
export type StoreChange<T> = { readonly set: T } | { readonly delete: true } | { readonly keep: true };

/** A page of a store, ordered by key (code units). */
export interface StorePage<T> {
  readonly entries: readonly (readonly [string, T])[];
  /** Where the next page begins; stays valid under writes. */
  readonly cursor?: string;
}

/** Which keys to list. */
export interface StoreQuery {
  readonly prefix?: string;
  /** Default 100. */
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * Keys are 1 to 512 characters without control characters; values are JSON of at most 8 MiB, copied in and out.
 * Throws `InputError` for bad keys and values, `StoreError` otherwise; every call after `close` is `store_closed`.
 */
export interface Store<T extends Json = Json> {
  /** What a resolved write has survived. */
  readonly durability: "memory" | "process" | "disk";
  get(key: string): Promise<T | undefined>;
  set(key: string, value: T): Promise<void>;
  /** False where there was nothing. */
  delete(key: string): Promise<boolean>;
  has(key: string): Promise<boolean>;
  list(query?: StoreQuery): Promise<StorePage<T>>;
  entries(): AsyncIterable<readonly [string, T]>;
  size(): Promise<number>;
  clear(): Promise<void>;
  /** Atomic compare-and-set; `change` may run more than once and must be pure. Returns the value afterwards. */
  update(key: string, change: (value: T | undefined) => StoreChange<T>): Promise<T | undefined>;
  close(): Promise<void>;
}

const MAX_KEY_LENGTH = 512;
const MAX_VALUE_CHARS = 8 * 1024 * 1024;
const MAX_VALUE_DEPTH = 64;
const DEFAULT_PAGE = 100;
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;
const STORE_NAME = /^[a-z][a-z0-9_-]{0,62}$/;

/** True for 1 to 512 characters without control characters. */
export function isStoreKey(key: unknown): key is string {
  return typeof key === "string" && key.length > 0 && key.length <= MAX_KEY_LENGTH && !CONTROL.test(key);
}

/** Throws `InputError` for a key that no store takes. */
export function checkStoreKey(key: string): void {
  if (isStoreKey(key)) return;
  throw new InputError(
    `Store key ${JSON.stringify(key)?.slice(0, 80)} must have 1 to 512 characters and no control characters.`,
  );
}

/** Throws `ConfigError` `bad_store_name` for a name that no store takes. */
export function checkStoreName(name: string): void {
  if (STORE_NAME.test(name)) return;
  throw new ConfigError(
    `Store name ${JSON.stringify(name)} is not allowed: use a-z, 0-9, _ and -, beginning with a letter, at most 63 characters.`,
    {
      code: "bad_store_name",
    },
  );
}

/** A copy of a value that is JSON and not too large. Throws `InputError` otherwise. */
export function copyStoreValue<T extends Json>(value: T): T {
  const { copy, problems } = copyJson(value, MAX_VALUE_DEPTH);
  const [first] = problems;
  if (first !== undefined || value === undefined) {
    throw new InputError(
      `A stored value must be JSON${first === undefined ? "" : `: "${first.path}" ${first.problem}`}.`,
    );
  }
  if (JSON.stringify(copy).length > MAX_VALUE_CHARS)
    throw new InputError("A stored value may have at most 8 MiB of JSON text.");
  return copy as T; // Proof: a JSON copy of T is a T
}

/** The error of every call after `close`. */
export function storeClosed(): StoreError {
  return new StoreError("The store is closed.", { code: "store_closed" });
}

/** The limit of a page or search. Throws `InputError` for what is no whole number above 0. */
export function checkLimit(limit: number): number {
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new InputError(`"limit" is ${String(limit)}; use a whole number above 0.`);
}

/** One page out of sorted keys; shared by stores that hold all keys in memory. */
export function pageOfKeys(
  keys: readonly string[],
  { prefix = "", limit = DEFAULT_PAGE, cursor }: StoreQuery,
): { readonly keys: readonly string[]; readonly cursor?: string } {
  checkLimit(limit);
  const wanted = keys.filter((key) => key.startsWith(prefix) && (cursor === undefined || key > cursor));
  const page = wanted.slice(0, limit);
  const last = page.at(-1);
  return wanted.length > limit && last !== undefined ? { keys: page, cursor: last } : { keys: page };
}

/** The keys of a map in code-unit order. */
export function sortedKeys(map: ReadonlyMap<string, unknown>): readonly string[] {
  return [...map.keys()].sort();
}

/** A store in memory, for tests and scratch. */
export function createMemoryStore<T extends Json = Json>(): Store<T> {
  return new MemoryStore<T>();
}

class MemoryStore<T extends Json> implements Store<T> {
  readonly durability = "memory";
  readonly #values = new Map<string, T>();
  #closed = false;

  async get(key: string): Promise<T | undefined> {
    const value = this.#open(key).get(key);
    return value === undefined ? undefined : structuredClone(value);
  }

  async set(key: string, value: T): Promise<void> {
    this.#open(key).set(key, copyStoreValue(value));
  }

  async delete(key: string): Promise<boolean> {
    return this.#open(key).delete(key);
  }

  async has(key: string): Promise<boolean> {
    return this.#open(key).has(key);
  }

  async list(query: StoreQuery = {}): Promise<StorePage<T>> {
    const values = this.#open();
    const { keys, cursor } = pageOfKeys(sortedKeys(values), query);
    const entries = keys.map((key): [string, T] => [key, structuredClone(values.get(key)) as T]); // Proof: the key was just listed
    return cursor === undefined ? { entries } : { entries, cursor };
  }

  async *entries(): AsyncGenerator<readonly [string, T]> {
    for (const key of sortedKeys(this.#open())) {
      const value = await this.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  async size(): Promise<number> {
    return this.#open().size;
  }

  async clear(): Promise<void> {
    this.#open().clear();
  }

  async update(key: string, change: (value: T | undefined) => StoreChange<T>): Promise<T | undefined> {
    const values = this.#open(key);
    const before = values.get(key);
    const decision = change(before === undefined ? undefined : structuredClone(before));
    if ("set" in decision) values.set(key, copyStoreValue(decision.set));
    else if ("delete" in decision) values.delete(key);
    return this.get(key);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #open(key?: string): Map<string, T> {
    if (this.#closed) throw storeClosed();
    if (key !== undefined) checkStoreKey(key);
    return this.#values;
  }
}
