/** Opens one SQLite file and hands out the stores in it. */

import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import {
  type ApprovalStore,
  ConfigError,
  createApprovalStore,
  createEffectLedger,
  type EffectLedger,
  type Json,
  type RunStore,
  type Store,
  StoreError,
} from "@openfunctions/core";
import type { ChunkStore } from "@openfunctions/core/search";
import { RunBells, storeClosed } from "@openfunctions/core/stores";
import { Database } from "./database.ts";
import { migrate } from "./migrations.ts";
import { SqliteChunkStore } from "./sqlite-chunk-store.ts";
import { SqliteRunStore } from "./sqlite-run-store.ts";
import { SqliteStore } from "./sqlite-store.ts";

/** Options of `openSqlite`. */
export interface SqliteOptions {
  /** Made when it is missing, folders too, for its owner only. A library has no default place. */
  readonly file: string;
  /** How long a writer waits for another process, in milliseconds. Default 5 000. */
  readonly busyTimeoutMs?: number;
  /**
   * `full` (default): what resolved has survived a power cut. `normal`: it has survived the end of the process, and a
   * power cut may take the last appends, whole ones.
   */
  readonly synchronous?: "full" | "normal";
}

/** The stores of one file. Closing them ends their use; the file is closed by `close` here. */
export interface SqliteStores {
  /** The store of this name. Throws `ConfigError` `bad_store_name`. */
  store<T extends Json = Json>(name: string): Store<T>;
  runStore(): RunStore;
  /** The documents of this name, cut into chunks. Throws `ConfigError` `bad_store_name`. */
  chunkStore(name: string): ChunkStore;
  /** Effects of calls, in the store `effects`. */
  ledger(): EffectLedger;
  /** Tickets of calls that wait for a person, in the store `approvals`. */
  approvals(): ApprovalStore;
  /** Closes the file and ends the use of all its stores; calling it again does nothing. */
  close(): Promise<void>;
}

const BUSY_TIMEOUT_MS = 5_000;
const INVALID = { code: "invalid_config" } as const;

/**
 * Opens a file and brings it to the shape this version needs. Several processes of one machine may use it at once.
 * Throws `ConfigError` for options that cannot work and `StoreError` where the file cannot be used: `store_corrupt`,
 * `store_locked`, `store_migration` or `store_failed`.
 */
export async function openSqlite(options: SqliteOptions): Promise<SqliteStores> {
  const { file, busyTimeoutMs = BUSY_TIMEOUT_MS, synchronous = "full" } = options;
  checkOptions({ file, busyTimeoutMs, synchronous });
  await makeFile(file);
  const database = await Database.open({ file, busyTimeoutMs, synchronous });
  try {
    migrate(database, Date.now);
  } catch (cause) {
    database.close();
    throw cause;
  }
  const bells = new RunBells();
  let closed = false;
  const use = (): Database => {
    if (closed) throw storeClosed();
    return database;
  };
  return {
    store: (name) => new SqliteStore(use(), name),
    runStore: () => new SqliteRunStore(use(), bells),
    chunkStore: (name) => new SqliteChunkStore(use(), name),
    ledger: () => createEffectLedger(new SqliteStore(use(), "effects")),
    approvals: () => createApprovalStore(new SqliteStore(use(), "approvals")),
    close: async () => {
      closed = true;
      database.close();
      bells.ring();
    },
  };
}

function checkOptions({ file, busyTimeoutMs, synchronous }: Required<SqliteOptions>): void {
  if (typeof file !== "string" || file === "" || file.startsWith(":") || file.startsWith("file:")) {
    throw new ConfigError(
      `"${file}" is not the path of a file; for state in memory use the memory stores of core.`,
      INVALID,
    );
  }
  if (!Number.isFinite(busyTimeoutMs) || busyTimeoutMs < 0) {
    throw new ConfigError(
      `"busyTimeoutMs" is ${String(busyTimeoutMs)}; use a number of milliseconds from 0 on.`,
      INVALID,
    );
  }
  if (synchronous !== "full" && synchronous !== "normal") {
    throw new ConfigError(`"synchronous" is "${String(synchronous)}"; use "full" or "normal".`, INVALID);
  }
}

// SQLite gives the files beside the database the rights of the database.
async function makeFile(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await (await open(file, "a", 0o600)).close();
  } catch (cause) {
    throw new StoreError(`The database "${file}" could not be made.`, { code: "store_failed", cause });
  }
}
