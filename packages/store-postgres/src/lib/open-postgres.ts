/** Opens one database and hands out the stores in it. */

import type { ChunkStore } from "@openfunctions/core/search";
import { checkStoreName, RunBells, storeClosed } from "@openfunctions/core/stores";
import {
  type ApprovalStore,
  ConfigError,
  createApprovalStore,
  createEffectLedger,
  type EffectLedger,
  type Json,
  OpenFunctionsError,
  type RunStore,
  type Store,
} from "@openfunctions/core";
import { sql } from "drizzle-orm/sql/sql";
import { Database } from "./database.ts";
import type { Driver } from "./driver.ts";
import { KeyQueue } from "./key-queue.ts";
import { migrateTables } from "./migrations.ts";
import { type PgPool, pgPoolDriver, pgUrlDriver } from "./pg-driver.ts";
import { pgliteDriver } from "./pglite-driver.ts";
import { PlannerStatistics } from "./planner-statistics.ts";
import { prepareVectors } from "./pgvector.ts";
import { PostgresChunkStore } from "./postgres-chunk-store.ts";
import { PostgresRunStore } from "./postgres-run-store.ts";
import { PostgresStore, type StorePlace } from "./postgres-store.ts";
import { type Tables, tablesOf } from "./tables.ts";

/** Which tables. */
export interface TableOptions {
  /** What the names of all tables begin with: `/^[a-z][a-z0-9_]{0,30}$/`. Default `openfunctions`. */
  readonly tablePrefix?: string;
}

/** A server, by its address or by a pool of `pg` that stays yours: it is used and never ended here. */
export type PostgresOptions = TableOptions & ({ readonly url: string } | { readonly pool: PgPool });

/** A database inside the process. */
export interface PgliteOptions extends TableOptions {
  /** Made when it is missing, for its owner only. A library has no default place. */
  readonly dir: string;
}

/** The stores of one database. Closing them ends their use; the connection is ended by `close` here. */
export interface PostgresStores {
  /** The store of this name. Throws `ConfigError` `bad_store_name`. */
  store<T extends Json = Json>(name: string): Store<T>;
  runStore(): RunStore;
  /**
   * The documents of this name, by word and by vector. Throws `ConfigError` `bad_store_name`, and `StoreError`
   * `no_pgvector` where the server has no pgvector 0.8.
   */
  chunkStore(name: string, options?: ChunkStoreOptions): Promise<ChunkStore>;
  /** Effects of calls, in the store `effects`. */
  ledger(): EffectLedger;
  /** Tickets of calls that wait for a person, in the store `approvals`. */
  approvals(): ApprovalStore;
  /** Waits for what is under way, ends the connection and the use of all stores; calling it again does nothing. */
  close(): Promise<void>;
}

/** What a chunk store must be able to do. */
export interface ChunkStoreOptions {
  /** Without pgvector the store searches by word alone, and takes no vectors. Default false. */
  readonly allowKeywordOnly?: boolean;
}

const DEFAULT_PREFIX = "openfunctions";

/**
 * Connects to a server and brings its tables to the shape this version needs. Many processes on many machines may use
 * them at once. Throws `ConfigError` for options that cannot work and `StoreError` where the database cannot be used:
 * `store_migration` or `store_failed`.
 */
export function openPostgres(options: PostgresOptions): Promise<PostgresStores> {
  return openStores(options, () => driverOf(options));
}

/**
 * Opens a database in a directory, for this process alone, with `@electric-sql/pglite` and its pgvector. Throws
 * `ConfigError` `package_missing` without them, and `StoreError` `store_locked` where somebody else has it open.
 */
export function openPglite(options: PgliteOptions): Promise<PostgresStores> {
  return openStores(options, () => pgliteDriver(options.dir));
}

/** The store of one name on a server; closing it closes what was opened for it. */
export async function createPgStore<T extends Json = Json>(
  name: string,
  options: PostgresOptions,
): Promise<Store<T>> {
  checkStoreName(name);
  return alone<T>(await openPostgres(options), name);
}

/** The store of one name in a directory; closing it closes the directory. */
export async function createPgliteStore<T extends Json = Json>(
  name: string,
  options: PgliteOptions,
): Promise<Store<T>> {
  checkStoreName(name);
  return alone<T>(await openPglite(options), name);
}

/**
 * Brings the tables to the shape this version needs, those of vectors too, and gives the SQL it took. With `dryRun` the
 * SQL alone, for somebody with more rights to run; nothing is changed then.
 */
export async function migrate(
  options: (PostgresOptions | PgliteOptions) & { readonly dryRun?: boolean },
): Promise<readonly string[]> {
  const tables = tablesOf(options.tablePrefix ?? DEFAULT_PREFIX);
  const database = new Database(await ("dir" in options ? pgliteDriver(options.dir) : driverOf(options)));
  try {
    return await migrateTables(database, tables, { vectors: true, dryRun: options.dryRun });
  } finally {
    await database.close();
  }
}

async function driverOf(options: PostgresOptions): Promise<Driver> {
  if ("url" in options && "pool" in options)
    throw new ConfigError('Give "url" or "pool", not both.', { code: "invalid_config" });
  return "pool" in options ? pgPoolDriver(options.pool) : pgUrlDriver(options.url);
}

async function openStores(
  { tablePrefix = DEFAULT_PREFIX }: TableOptions,
  connect: () => Promise<Driver>,
): Promise<PostgresStores> {
  const tables = tablesOf(tablePrefix);
  const database = new Database(await connect());
  try {
    await migrateTables(database, tables, { vectors: false });
    const durability = await durabilityOf(database);
    const statistics = new PlannerStatistics(database, tables);
    return storesOf({ database, tables, durability, queue: new KeyQueue(), statistics });
  } catch (cause) {
    await database.close();
    throw cause;
  }
}

/** What all that is handed out shares. */
interface DatabasePlace extends StorePlace {
  readonly statistics: PlannerStatistics;
}

function storesOf(place: DatabasePlace): PostgresStores {
  const bells = new RunBells();
  let closed = false;
  const use = (): DatabasePlace => {
    if (closed) throw storeClosed();
    return place;
  };
  return {
    store: (name) => new PostgresStore(use(), name),
    runStore: () => new PostgresRunStore(use(), bells),
    chunkStore: (name, options) => openChunks(use(), name, options),
    ledger: () => createEffectLedger(new PostgresStore(use(), "effects")),
    approvals: () => createApprovalStore(new PostgresStore(use(), "approvals")),
    close: async () => {
      closed = true;
      await place.database.close();
      bells.ring();
    },
  };
}

async function openChunks(
  { database, tables, durability, statistics }: DatabasePlace,
  store: string,
  { allowKeywordOnly = false }: ChunkStoreOptions = {},
): Promise<ChunkStore> {
  checkStoreName(store);
  const vectors = await canHoldVectors(database, tables, allowKeywordOnly);
  return new PostgresChunkStore(database, { tables, store, vectors, statistics }, durability);
}

async function canHoldVectors(
  database: Database,
  tables: Tables,
  allowKeywordOnly: boolean,
): Promise<boolean> {
  try {
    await prepareVectors(database, tables);
    return true;
  } catch (cause) {
    if (allowKeywordOnly && OpenFunctionsError.is(cause) && cause.code === "no_pgvector") return false;
    throw cause;
  }
}

function alone<T extends Json>(stores: PostgresStores, name: string): Store<T> {
  const store = stores.store<T>(name);
  const closeStore = store.close.bind(store);
  const close = async (): Promise<void> => {
    await closeStore();
    await stores.close();
  };
  return Object.assign(store, { close });
}

/** A server may be told not to wait for its disk; what it says then has survived our end alone. */
async function durabilityOf(database: Database): Promise<"process" | "disk"> {
  const row = await database.get(sql`SELECT current_setting('fsync') AS fsync,
    current_setting('synchronous_commit') AS commit`);
  return row?.["fsync"] === "on" && row["commit"] !== "off" ? "disk" : "process";
}
