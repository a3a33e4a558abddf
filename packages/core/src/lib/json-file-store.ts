/** A store in one JSON file: small state that people can read, safe with several processes of one machine. */

import { lstat, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, stampOf } from "./durable-file.ts";
import { StoreError } from "./errors.ts";
import { isCode, withFileLock } from "./file-lock.ts";
import { type Json, isPlainObject } from "./json.ts";
import { type Logger, silentLogger } from "./logger.ts";
import {
  type Store,
  type StoreChange,
  type StorePage,
  type StoreQuery,
  checkStoreKey,
  checkStoreName,
  copyStoreValue,
  pageOfKeys,
  sortedKeys,
  storeClosed,
} from "./store.ts";

/** Options of `createStore`. */
export interface JsonFileStoreOptions {
  /** The file is `<dir>/stores/<name>.json`. A library has no default folder. */
  readonly dir: string;
  readonly logger?: Logger;
}

const WARN_BYTES = 10 * 1024 * 1024;

/**
 * A store in `<dir>/stores/<name>.json`; nothing is created before the first write. Throws `ConfigError`
 * `bad_store_name`. A file that is not valid is `store_corrupt` on every call and is left exactly as it is.
 */
export async function createStore<T extends Json = Json>(
  name: string,
  options: JsonFileStoreOptions,
): Promise<Store<T>> {
  checkStoreName(name);
  return new JsonFileStore<T>(join(options.dir, "stores"), name, options.logger ?? silentLogger);
}

class JsonFileStore<T extends Json> implements Store<T> {
  readonly durability = "disk";
  readonly #folder: string;
  readonly #path: string;
  readonly #logger: Logger;
  #cache: { readonly stamp: string; readonly values: ReadonlyMap<string, T> } | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(folder: string, name: string, logger: Logger) {
    this.#folder = folder;
    this.#path = join(folder, `${name}.json`);
    this.#logger = logger;
  }

  async get(key: string): Promise<T | undefined> {
    const value = (await this.#read(key)).get(key);
    return value === undefined ? undefined : structuredClone(value);
  }

  async has(key: string): Promise<boolean> {
    return (await this.#read(key)).has(key);
  }

  async size(): Promise<number> {
    return (await this.#read()).size;
  }

  async list(query: StoreQuery = {}): Promise<StorePage<T>> {
    const values = await this.#read();
    const { keys, cursor } = pageOfKeys(sortedKeys(values), query);
    const entries = keys.map((key): [string, T] => [key, structuredClone(values.get(key)) as T]); // Proof: the key was just listed
    return cursor === undefined ? { entries } : { entries, cursor };
  }

  async *entries(): AsyncGenerator<readonly [string, T]> {
    const values = await this.#read();
    for (const key of sortedKeys(values)) yield [key, structuredClone(values.get(key)) as T]; // Proof: the key was just listed
  }

  async set(key: string, value: T): Promise<void> {
    const copy = copyStoreValue(value);
    await this.update(key, () => ({ set: copy }));
  }

  async delete(key: string): Promise<boolean> {
    let found = false;
    await this.update(key, (value) => {
      found = value !== undefined;
      return found ? { delete: true } : { keep: true };
    });
    return found;
  }

  async clear(): Promise<void> {
    await this.#change(() => new Map());
  }

  async update(key: string, change: (value: T | undefined) => StoreChange<T>): Promise<T | undefined> {
    checkStoreKey(key);
    const values = await this.#change((before) => {
      const value = before.get(key);
      const decision = change(value === undefined ? undefined : structuredClone(value));
      if ("set" in decision) return new Map(before).set(key, copyStoreValue(decision.set));
      if (!("delete" in decision) || value === undefined) return undefined;
      const after = new Map(before);
      after.delete(key);
      return after;
    });
    const after = values.get(key);
    return after === undefined ? undefined : structuredClone(after);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue;
  }

  /** The values as they are on disk; read again only when the file changed. */
  async #read(key?: string): Promise<ReadonlyMap<string, T>> {
    if (this.#closed) throw storeClosed();
    if (key !== undefined) checkStoreKey(key);
    await this.#refuseLink();
    const stamp = await this.#stamp();
    if (stamp === undefined) return new Map();
    if (this.#cache?.stamp === stamp) return this.#cache.values;
    const values = this.#parse(await readFile(this.#path, "utf8"));
    this.#cache = { stamp, values };
    return values;
  }

  /** One change after the other in this process, and one process after the other. */
  #change(
    change: (before: ReadonlyMap<string, T>) => ReadonlyMap<string, T> | undefined,
  ): Promise<ReadonlyMap<string, T>> {
    if (this.#closed) return Promise.reject(storeClosed());
    const done = this.#queue.then(() => this.#changeLocked(change));
    this.#queue = done.catch(() => {});
    return done;
  }

  async #changeLocked(
    change: (before: ReadonlyMap<string, T>) => ReadonlyMap<string, T> | undefined,
  ): Promise<ReadonlyMap<string, T>> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
      throw new StoreError(`The folder "${this.#folder}" could not be made.`, {
        code: "store_failed",
        cause,
      });
    });
    return withFileLock(`${this.#path}.lock`, async () => {
      await this.#refuseLink();
      const before =
        (await this.#stamp()) === undefined
          ? new Map<string, T>()
          : this.#parse(await readFile(this.#path, "utf8"));
      const after = change(before);
      if (after === undefined) return before;
      await this.#write(after);
      return after;
    });
  }

  async #write(values: ReadonlyMap<string, T>): Promise<void> {
    const text = `${JSON.stringify(Object.fromEntries(sortedKeys(values).map((key) => [key, values.get(key)])), null, 2)}\n`;
    if (text.length > WARN_BYTES)
      this.#logger.warn("A JSON store is above 10 MiB; SQLite suits it better.", { path: this.#path });
    try {
      await replaceFile(this.#path, text);
    } catch (cause) {
      throw new StoreError(`The store "${this.#path}" could not be written.`, {
        code: "store_failed",
        cause,
      });
    }
  }

  #parse(text: string): ReadonlyMap<string, T> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw this.#corrupt("is not JSON", cause);
    }
    if (!isPlainObject(value)) throw this.#corrupt("does not hold an object", undefined);
    return new Map(Object.entries(value) as [string, T][]); // Proof: only values of T are ever written
  }

  #corrupt(what: string, cause: unknown): StoreError {
    return new StoreError(`The store file "${this.#path}" ${what}. It was left as it is.`, {
      code: "store_corrupt",
      cause,
      hint: "Move the file away to start afresh, or mend it.",
    });
  }

  /** Changes whenever the file does; undefined where there is none. */
  async #stamp(): Promise<string | undefined> {
    try {
      return (await stampOf(this.#path))?.text;
    } catch (cause) {
      throw new StoreError(`The store "${this.#path}" could not be read.`, { code: "store_failed", cause });
    }
  }

  async #refuseLink(): Promise<void> {
    try {
      if (!(await lstat(this.#path)).isSymbolicLink()) return;
    } catch (cause) {
      if (isCode(cause, "ENOENT")) return;
      throw new StoreError(`The store "${this.#path}" could not be read.`, { code: "store_failed", cause });
    }
    throw new StoreError(`The store "${this.#path}" is a symbolic link, which is refused.`, {
      code: "store_failed",
    });
  }
}
