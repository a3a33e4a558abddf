/** A store in a SQLite file: one row per key. */

import type { Json, Store, StoreChange, StorePage, StoreQuery } from "@openfunctions/core";
import {
  checkLimit,
  checkStoreKey,
  checkStoreName,
  copyStoreValue,
  storeClosed,
} from "@openfunctions/core/stores";
import type { Database, Row } from "./database.ts";
import { fromKeyBytes, toKeyBytes } from "./key-bytes.ts";

const DEFAULT_PAGE = 100;

/** One name of a file's stores. */
export class SqliteStore<T extends Json> implements Store<T> {
  readonly durability = "disk";
  readonly #database: Database;
  readonly #name: string;
  #closed = false;

  constructor(database: Database, name: string) {
    checkStoreName(name);
    this.#database = database;
    this.#name = name;
  }

  async get(key: string): Promise<T | undefined> {
    return this.#read(this.#open(key), key);
  }

  async set(key: string, value: T): Promise<void> {
    const database = this.#open(key);
    this.#write(database, key, copyStoreValue(value));
  }

  async delete(key: string): Promise<boolean> {
    return this.#remove(this.#open(key), key);
  }

  async has(key: string): Promise<boolean> {
    const sql = "SELECT 1 FROM openfunctions_values WHERE store = ? AND key = ?";
    return this.#open(key).get(sql, [this.#name, toKeyBytes(key)]) !== undefined;
  }

  async list({ prefix = "", limit = DEFAULT_PAGE, cursor }: StoreQuery = {}): Promise<StorePage<T>> {
    const database = this.#open();
    checkLimit(limit);
    const first = toKeyBytes(prefix);
    const rows = database.all(
      `SELECT key, value FROM openfunctions_values
       WHERE store = ? AND key >= ? AND key > ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?`,
      [
        this.#name,
        first,
        cursor === undefined ? Buffer.alloc(0) : toKeyBytes(cursor),
        first.length,
        first,
        limit + 1,
      ],
    );
    const entries = rows
      .slice(0, limit)
      .map((row): [string, T] => [fromKeyBytes(row["key"]), this.#parse(row)]);
    const last = entries.at(-1);
    return rows.length > limit && last !== undefined ? { entries, cursor: last[0] } : { entries };
  }

  async *entries(): AsyncGenerator<readonly [string, T]> {
    let cursor: string | undefined;
    do {
      const page = await this.list(cursor === undefined ? {} : { cursor });
      yield* page.entries;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async size(): Promise<number> {
    const sql = "SELECT count(*) AS size FROM openfunctions_values WHERE store = ?";
    return Number(this.#open().get(sql, [this.#name])?.["size"]);
  }

  async clear(): Promise<void> {
    this.#open().run("DELETE FROM openfunctions_values WHERE store = ?", [this.#name]);
  }

  async update(key: string, change: (value: T | undefined) => StoreChange<T>): Promise<T | undefined> {
    const database = this.#open(key);
    return database.transaction(() => {
      const before = this.#read(database, key);
      const decision = change(before);
      if ("set" in decision) this.#write(database, key, copyStoreValue(decision.set));
      else if ("delete" in decision) this.#remove(database, key);
      return this.#read(database, key);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #open(key?: string): Database {
    if (this.#closed) throw storeClosed();
    if (key !== undefined) checkStoreKey(key);
    return this.#database;
  }

  #read(database: Database, key: string): T | undefined {
    const sql = "SELECT value FROM openfunctions_values WHERE store = ? AND key = ?";
    const row = database.get(sql, [this.#name, toKeyBytes(key)]);
    return row === undefined ? undefined : this.#parse(row);
  }

  #write(database: Database, key: string, value: T): void {
    const sql = `INSERT INTO openfunctions_values (store, key, value) VALUES (?, ?, ?)
      ON CONFLICT (store, key) DO UPDATE SET value = excluded.value`;
    database.run(sql, [this.#name, toKeyBytes(key), JSON.stringify(value)]);
  }

  #remove(database: Database, key: string): boolean {
    const sql = "DELETE FROM openfunctions_values WHERE store = ? AND key = ?";
    return database.run(sql, [this.#name, toKeyBytes(key)]) > 0;
  }

  #parse(row: Row): T {
    return JSON.parse(String(row["value"])) as T; // Proof: only values of T are ever written under this name
  }
}
