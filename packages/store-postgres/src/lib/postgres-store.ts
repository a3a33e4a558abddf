/** A store in Postgres: one row per key. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Json, type Store, type StoreChange, StoreError } from "@openfunctions/core";
import type { StorePage, StoreQuery } from "@openfunctions/core";
import {
  checkLimit,
  checkStoreKey,
  checkStoreName,
  copyStoreValue,
  storeClosed,
} from "@openfunctions/core/stores";
import { type SQL, sql } from "drizzle-orm/sql/sql";
import type { Database, Session } from "./database.ts";
import type { Row } from "./driver.ts";
import type { KeyQueue } from "./key-queue.ts";
import type { Tables } from "./tables.ts";

/** What the stores of one database share. */
export interface StorePlace {
  readonly database: Database;
  readonly tables: Tables;
  readonly durability: "process" | "disk";
  readonly queue: KeyQueue;
}

const DEFAULT_PAGE = 100;
const MAX_TRIES = 20;
const WAIT_MS = 5;
const LOCK_AFTER = 5;

interface Found<T> {
  readonly value: T;
  /** Never given twice, so that a row that was deleted and made again is another one. */
  readonly version: string;
}

interface Swap<T> {
  readonly change: (value: T | undefined) => StoreChange<T>;
  /** True inside a transaction: the row is held until it ends. */
  readonly lock?: boolean;
}

/** One name of a database's stores. */
export class PostgresStore<T extends Json> implements Store<T> {
  readonly durability: "process" | "disk";
  readonly #place: StorePlace;
  readonly #name: string;
  #closed = false;

  constructor(place: StorePlace, name: string) {
    checkStoreName(name);
    this.durability = place.durability;
    this.#place = place;
    this.#name = name;
  }

  async get(key: string): Promise<T | undefined> {
    return (await this.#find(this.#open(key), key))?.value;
  }

  async set(key: string, value: T): Promise<void> {
    const database = this.#open(key);
    const text = JSON.stringify(copyStoreValue(value));
    await database.run(sql`INSERT INTO ${this.#table} (store, key, value) VALUES (${this.#name}, ${toBytes(key)}, ${text})
      ON CONFLICT (store, key) DO UPDATE SET value = excluded.value, version = DEFAULT`);
  }

  async delete(key: string): Promise<boolean> {
    return (await this.#open(key).run(sql`DELETE FROM ${this.#table} WHERE ${this.#isAt(key)}`)) > 0;
  }

  async has(key: string): Promise<boolean> {
    const row = await this.#open(key).get(
      sql`SELECT 1 AS found FROM ${this.#table} WHERE ${this.#isAt(key)}`,
    );
    return row !== undefined;
  }

  async list({ prefix = "", limit = DEFAULT_PAGE, cursor }: StoreQuery = {}): Promise<StorePage<T>> {
    const database = this.#open();
    checkLimit(limit);
    const first = toBytes(prefix);
    const rows = await database.all(sql`SELECT key, value FROM ${this.#table}
      WHERE store = ${this.#name} AND key >= ${first} AND key > ${toBytes(cursor ?? "")}
        AND substring(key FROM 1 FOR ${first.length}::int) = ${first}
      ORDER BY key LIMIT ${limit + 1}::bigint`);
    const entries = rows.slice(0, limit).map((row): [string, T] => [toKey(row), this.#parse(row)]);
    const last = entries.at(-1);
    return rows.length > limit && last !== undefined ? { entries, cursor: last[0] } : { entries };
  }

  async *entries(): AsyncGenerator<readonly [string, T]> {
    let cursor: string | undefined;
    do {
      const page: StorePage<T> = await this.list(cursor === undefined ? {} : { cursor });
      yield* page.entries;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async size(): Promise<number> {
    const counting = sql`SELECT count(*) AS size FROM ${this.#table} WHERE store = ${this.#name}`;
    return Number((await this.#open().get(counting))?.["size"]);
  }

  async clear(): Promise<void> {
    await this.#open().run(sql`DELETE FROM ${this.#table} WHERE store = ${this.#name}`);
  }

  async update(key: string, change: (value: T | undefined) => StoreChange<T>): Promise<T | undefined> {
    const database = this.#open(key);
    // Within this process they wait for each other; the tries are for others.
    return database.during((session) =>
      this.#place.queue.run(`${this.#name}/${key}`, () => this.#swapUntilDone(session, key, change)),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#place.database.idle();
  }

  get #table(): SQL {
    return this.#place.tables.values;
  }

  #open(key?: string): Database {
    if (this.#closed) throw storeClosed();
    if (key !== undefined) checkStoreKey(key);
    return this.#place.database;
  }

  #isAt(key: string): SQL {
    return sql`store = ${this.#name} AND key = ${toBytes(key)}`;
  }

  async #swapUntilDone(
    session: Session,
    key: string,
    change: (value: T | undefined) => StoreChange<T>,
  ): Promise<T | undefined> {
    for (let tried = 0; tried < MAX_TRIES; tried += 1) {
      if (tried > 0) await sleep(WAIT_MS * tried * Math.random());
      // Who lost several times holds the row while it decides: others then wait for this one.
      const swapped =
        tried < LOCK_AFTER
          ? await this.#swapOnce(session, key, { change })
          : await this.#place.database.transaction((locked) =>
              this.#swapOnce(locked, key, { change, lock: true }),
            );
      if (swapped !== undefined) return swapped.value;
    }
    throw new StoreError(`The key "${key}" was changed by others in each of ${MAX_TRIES} tries.`, {
      code: "store_conflict",
      retryable: true,
    });
  }

  /** The value afterwards; undefined where somebody else was first. */
  async #swapOnce(
    session: Session,
    key: string,
    { change, lock = false }: Swap<T>,
  ): Promise<{ readonly value: T | undefined } | undefined> {
    const found = await this.#find(session, key, lock);
    const decision = change(found === undefined ? undefined : structuredClone(found.value));
    if ("keep" in decision) return { value: found?.value };
    const text = "set" in decision ? JSON.stringify(copyStoreValue(decision.set)) : undefined;
    if (text === undefined && found === undefined) return { value: undefined };
    if ((await session.run(this.#swap(key, text, found?.version))) === 0) return undefined;
    return { value: text === undefined ? undefined : parse<T>(text) };
  }

  /** Puts a value, or none, in the place of the version that was read, or of none. */
  #swap(key: string, text: string | undefined, version: string | undefined): SQL {
    if (version === undefined)
      return sql`INSERT INTO ${this.#table} (store, key, value) VALUES (${this.#name}, ${toBytes(key)}, ${text})
        ON CONFLICT (store, key) DO NOTHING`;
    const at = sql`${this.#isAt(key)} AND version = ${version}::bigint`;
    return text === undefined
      ? sql`DELETE FROM ${this.#table} WHERE ${at}`
      : sql`UPDATE ${this.#table} SET value = ${text}, version = DEFAULT WHERE ${at}`;
  }

  async #find(session: Session, key: string, lock: boolean = false): Promise<Found<T> | undefined> {
    const row = await session.get(
      sql`SELECT value, version::text AS version FROM ${this.#table} WHERE ${this.#isAt(key)} ${lock ? sql`FOR UPDATE` : sql``}`,
    );
    return row && { value: this.#parse(row), version: String(row["version"]) };
  }

  #parse(row: Row): T {
    return parse<T>(row["value"]);
  }
}

function parse<T>(text: unknown): T {
  return JSON.parse(String(text)) as T; // Proof: only values of T are ever written under this name
}

/** UTF-16 big endian: Postgres compares bytes, and these are ordered as JavaScript orders strings. */
function toBytes(key: string): Buffer {
  return Buffer.from(key, "utf16le").swap16();
}

function toKey(row: Row): string {
  const bytes = row["key"];
  return bytes instanceof Uint8Array ? Buffer.from(bytes).swap16().toString("utf16le") : "";
}
