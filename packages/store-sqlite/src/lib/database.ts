/** One connection: prepared statements, transactions, and failures in our terms. The only file that knows node:sqlite. */

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { OpenFunctionsError, StoreError } from "@openfunctions/core";
import { storeClosed } from "@openfunctions/core/stores";

/** Filters make statements without end; the oldest are prepared anew. */
const MAX_STATEMENTS = 256;

/** How a connection behaves. */
export interface DatabaseOptions {
  readonly file: string;
  /** How long a writer waits for another process, in milliseconds. */
  readonly busyTimeoutMs: number;
  readonly synchronous: "full" | "normal";
}

/** A row as node:sqlite gives it. */
export type Row = Readonly<Record<string, unknown>>;

/** A value of a parameter; undefined is written as NULL. */
export type Parameter = SQLInputValue | undefined;

/** A connection to one file. Everything in it is synchronous. */
export class Database {
  readonly #connection: DatabaseSync;
  readonly #file: string;
  readonly #isFull: boolean;
  #isDurable = true;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(connection: DatabaseSync, { file, synchronous }: DatabaseOptions) {
    this.#connection = connection;
    this.#file = file;
    this.#isFull = synchronous === "full";
  }

  /** Opens the file, which must exist. Closes it again where that fails half way. */
  static async open(options: DatabaseOptions): Promise<Database> {
    const { DatabaseSync } = await import("node:sqlite");
    const { file, busyTimeoutMs, synchronous } = options;
    let connection: DatabaseSync | undefined;
    try {
      connection = new DatabaseSync(file);
      connection.exec(`PRAGMA busy_timeout = ${Math.trunc(busyTimeoutMs)}`);
      await useWriteAheadLog(connection, busyTimeoutMs);
      connection.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA secure_delete = ON`);
      return new Database(connection, options);
    } catch (cause) {
      connection?.close();
      throw toStoreError(cause, file);
    }
  }

  /** The first row, or undefined. */
  get(sql: string, parameters: readonly Parameter[] = []): Row | undefined {
    return this.#try(() => this.#prepare(sql).get(...parameters.map(toInput)));
  }

  /** All rows. */
  all(sql: string, parameters: readonly Parameter[] = []): readonly Row[] {
    return this.#try(() => this.#prepare(sql).all(...parameters.map(toInput)));
  }

  /** Rows one after the other. Whoever stops early leaves nothing open. */
  *each(sql: string, parameters: readonly Parameter[]): Generator<Row, void> {
    try {
      yield* this.#prepare(sql).iterate(...parameters.map(toInput));
    } catch (cause) {
      throw toStoreError(cause, this.#file);
    }
  }

  /** How many rows were changed. */
  run(sql: string, parameters: readonly Parameter[] = []): number {
    if (this.#connection.isOpen && !this.#connection.isTransaction) this.#sync(true);
    return this.#try(() => Number(this.#prepare(sql).run(...parameters.map(toInput)).changes));
  }

  /** Statements without parameters. */
  execute(sql: string): void {
    this.#try(() => this.#connection.exec(sql));
  }

  /**
   * Does all of the work or none of it; no other writer, of whatever process, comes in between. What is not `durable`
   * has survived the end of the process only.
   */
  transaction<T>(work: () => T, { durable = true }: { readonly durable?: boolean } = {}): T {
    this.#sync(durable);
    return this.#within("BEGIN IMMEDIATE", work);
  }

  /** Whether the next commit syncs the disk. In a write-ahead log, a later one that does syncs what this one leaves. */
  #sync(durable: boolean): void {
    if (!this.#isFull || durable === this.#isDurable) return;
    this.#step(`PRAGMA synchronous = ${durable ? "full" : "normal"}`);
    this.#isDurable = durable;
  }

  /** Reads the state of one moment, whatever others write meanwhile. */
  snapshot<T>(work: () => T): T {
    return this.#within("BEGIN", work);
  }

  /** Moves what the write-ahead log holds into the file, so that removed content is in neither. */
  checkpoint(): void {
    const busy = this.get("PRAGMA wal_checkpoint(TRUNCATE)")?.["busy"];
    if (busy !== 1) return;
    throw new StoreError(
      "The change was made, but another reader keeps the old content in the log of the database.",
      {
        code: "store_locked",
        retryable: true,
        hint: "Close the other program and make another change, or checkpoint the database.",
      },
    );
  }

  /** Closes the connection; calling it again does nothing. */
  close(): void {
    this.#statements.clear();
    if (this.#connection.isOpen) this.#connection.close();
  }

  #within<T>(begin: string, work: () => T): T {
    this.#step(begin);
    try {
      const result = work();
      this.#step("COMMIT");
      return result;
    } catch (cause) {
      // A full disk rolls back by itself.
      if (this.#connection.isTransaction) this.#step("ROLLBACK");
      throw cause;
    }
  }

  /** A statement that begins, ends or prepares others. */
  #step(sql: string): void {
    this.#try(() => this.#prepare(sql).run());
  }

  #prepare(sql: string): StatementSync {
    if (!this.#connection.isOpen) throw storeClosed();
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    const [oldest] = this.#statements.keys();
    if (this.#statements.size > MAX_STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
    return statement;
  }

  #try<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw toStoreError(cause, this.#file);
    }
  }
}

const RETRY_MS = 20;

/** The busy timeout does not hold for this change, which several processes may try at once. */
async function useWriteAheadLog(connection: DatabaseSync, busyTimeoutMs: number): Promise<void> {
  const until = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      connection.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (cause) {
      if (codeOf(cause) !== BUSY || performance.now() > until) throw cause;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function toInput(value: Parameter): SQLInputValue {
  return value ?? null;
}

// Result codes of SQLite: https://www.sqlite.org/rescode.html
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/** The primary result code, or undefined for what is no failure of SQLite. */
function codeOf(cause: unknown): number | undefined {
  return cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number"
    ? cause.errcode & 0xff
    : undefined;
}

function toStoreError(cause: unknown, file: string): unknown {
  if (OpenFunctionsError.is(cause)) return cause;
  const code = codeOf(cause);
  if (code === BUSY || code === LOCKED) {
    return new StoreError(`The database "${file}" is busy with another process.`, {
      code: "store_locked",
      retryable: true,
      hint: "Wait for that process, or give a longer busy timeout.",
      cause,
    });
  }
  if (code === CORRUPT || code === NOT_A_DATABASE) {
    return new StoreError(`The file "${file}" is not a database, or a damaged one. It was left as it is.`, {
      code: "store_corrupt",
      hint: "Move the file away to start afresh, or mend it.",
      cause,
    });
  }
  return new StoreError(`The database "${file}" failed.`, { code: "store_failed", cause });
}
