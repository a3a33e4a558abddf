/** Statements with their parameters, transactions, and failures in our terms, over whichever driver. */

import { InputError } from "@openfunctions/core";
import { storeClosed } from "@openfunctions/core/stores";
import { PgDialect } from "drizzle-orm/pg-core/dialect";
import type { SQL } from "drizzle-orm/sql/sql";
import type { Answer, Connection, Driver, Parameter, Row } from "./driver.ts";
import { toStoreError } from "./to-store-error.ts";

/** Runs statements, inside a transaction or outside. */
export interface Session {
  all(statement: SQL): Promise<readonly Row[]>;
  /** The first row, or undefined. */
  get(statement: SQL): Promise<Row | undefined>;
  /** How many rows were changed. */
  run(statement: SQL): Promise<number>;
  /** Several statements without parameters. */
  execute(text: string): Promise<void>;
}

/** A database and what is under way in it. */
export class Database implements Session {
  readonly #driver: Driver;
  readonly #session: Session;
  readonly #dialect = new PgDialect();
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
    this.#session = this.#sessionOf(driver);
  }

  all(statement: SQL): Promise<readonly Row[]> {
    return this.#track(() => this.#session.all(statement));
  }

  get(statement: SQL): Promise<Row | undefined> {
    return this.#track(() => this.#session.get(statement));
  }

  run(statement: SQL): Promise<number> {
    return this.#track(() => this.#session.run(statement));
  }

  execute(text: string): Promise<void> {
    return this.#track(() => this.#session.execute(text));
  }

  /** Does all of the work or none of it, reading what was committed before each statement. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#track(() =>
      this.#driver.transaction((connection) => work(this.#sessionOf(connection))).catch(fail),
    );
  }

  /** Statements that count as one piece of work: `close` waits for the last of them. */
  during<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#track(() => work(this.#session));
  }

  /** Waits for what is under way now. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Waits for what is under way and ends the connection; calling it again waits for the same. */
  close(): Promise<void> {
    this.#closing ??= this.idle().then(() => this.#driver.close());
    return this.#closing;
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw storeClosed();
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  #sessionOf(connection: Connection): Session {
    const ask = async (statement: SQL): Promise<Answer> => {
      const { sql, params } = this.#dialect.sqlToQuery(statement);
      return connection.query(sql, params.map(toParameter)).catch(fail);
    };
    return {
      all: async (statement) => (await ask(statement)).rows,
      get: async (statement) => (await ask(statement)).rows[0],
      run: async (statement) => (await ask(statement)).count,
      execute: (text) => connection.execute(text).catch(fail),
    };
  }
}

function fail(cause: unknown): never {
  throw toStoreError(cause);
}

/** Postgres has no text with NUL, and half characters would be written as another character. */
function toParameter(value: unknown): Parameter {
  if (value === undefined || value === null) return null;
  if (typeof value === "number" || typeof value === "boolean" || value instanceof Uint8Array) return value;
  if (typeof value !== "string") throw new TypeError(`A parameter is of type ${typeof value}.`);
  if (value.includes("\u0000") || !value.isWellFormed())
    throw new InputError("Postgres cannot hold text with a NUL character or half of a character.");
  return value;
}
