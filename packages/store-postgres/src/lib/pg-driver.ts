/** A Postgres server through a pool of `pg`. The only file that knows `pg`. */

import { ConfigError } from "@openfunctions/core";
import type { Answer, Connection, Driver, Row } from "./driver.ts";

/** What is used of a connection that `pg` gives out. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<PgResult>;
  release(destroy?: boolean): void;
  on(event: "error", listener: (cause: Error) => void): unknown;
  off(event: "error", listener: (cause: Error) => void): unknown;
}

/** What is used of the answer to a statement. */
export interface PgResult {
  readonly rows: readonly object[];
  readonly rowCount: number | null;
}

/** What is used of a pool; `new Pool()` of `pg` is one. Whoever made it handles its `error` event and ends it. */
export interface PgPool {
  connect(): Promise<PgClient>;
  query(text: string, values?: unknown[]): Promise<PgResult>;
}

/** How long a server may take to answer at first; without an end, an address with a wrong port is waited for forever. */
const CONNECT_MS = 15_000;

/** Uses a pool that stays its maker's. */
export function pgPoolDriver(pool: PgPool): Driver {
  return new PgDriver(pool, async () => {});
}

/** Makes a pool of its own. Nothing is connected yet. Throws `ConfigError` for what is no address of a server. */
export async function pgUrlDriver(url: string): Promise<Driver> {
  checkUrl(url);
  const { Pool } = await import("pg");
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  // A connection that breaks while nobody uses it is dropped by the pool; the next statement gets another.
  pool.on("error", ignore);
  // One that is being ended may still be told that the server ends it too.
  pool.on("connect", (client) => client.on("error", ignore));
  return new PgDriver(pool, () => pool.end());
}

class PgDriver implements Driver {
  readonly #pool: PgPool;
  readonly #end: () => Promise<void>;

  constructor(pool: PgPool, end: () => Promise<void>) {
    this.#pool = pool;
    this.#end = end;
  }

  async query(text: string, parameters: readonly unknown[]): Promise<Answer> {
    return toAnswer(await this.#pool.query(text, [...parameters]));
  }

  async execute(text: string): Promise<void> {
    await this.#pool.query(text);
  }

  async transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    // A connection that breaks between two statements: the next one fails.
    client.on("error", ignore);
    let isBroken = true;
    try {
      await client.query("BEGIN");
      try {
        const result = await work({
          query: async (text, parameters) => toAnswer(await client.query(text, [...parameters])),
          execute: async (text) => void (await client.query(text)),
        });
        await client.query("COMMIT");
        isBroken = false;
        return result;
      } catch (cause) {
        isBroken = !(await rollBack(client));
        throw cause;
      }
    } finally {
      client.off("error", ignore);
      client.release(isBroken);
    }
  }

  close(): Promise<void> {
    return this.#end();
  }
}

function ignore(): void {}

/** False where the connection is no longer any good; it is then ended, which undoes the same. */
async function rollBack(client: PgClient): Promise<boolean> {
  try {
    await client.query("ROLLBACK");
    return true;
  } catch {
    return false;
  }
}

function toAnswer({ rows, rowCount }: PgResult): Answer {
  return { rows: rows as readonly Row[], count: rowCount ?? 0 }; // Proof: pg makes a row an object of its columns
}

function checkUrl(url: unknown): void {
  const isUrl = typeof url === "string" && /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
  // pg waits for ever where a port in the query is none.
  const port = isUrl ? new URL(url).searchParams.get("port") : null;
  if (isUrl && (port === null || /^\d{1,5}$/.test(port))) return;
  // The address may hold a password: it is not shown.
  throw new ConfigError('"url" is not the address of a Postgres server.', {
    code: "invalid_config",
    hint: "Use postgres://user:password@host:5432/database, or give a pool.",
  });
}
