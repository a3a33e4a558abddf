/** A Postgres inside the process, over a directory. The only file that knows PGlite. */

import { mkdir, realpath } from "node:fs/promises";
import { ConfigError, StoreError } from "@openfunctions/core";
import { holdDirectory } from "./directory-lock.ts";
import type { Answer, Connection, Driver, Parameter, Row } from "./driver.ts";

/**
 * Opens a directory, makes it when it is missing (for its owner only), and holds it until it is closed. Throws
 * `ConfigError` `package_missing` without PGlite, `StoreError` `store_locked` where somebody else has it open.
 */
export async function pgliteDriver(dir: string): Promise<Driver> {
  if (typeof dir !== "string" || dir === "" || dir.includes("://"))
    throw new ConfigError(`"dir" is "${String(dir)}", which is not the path of a directory.`, {
      code: "invalid_config",
    });
  const create = await loadPglite();
  const path = await makeDirectory(dir);
  const letGo = await holdDirectory(path);
  try {
    const database = await create(path);
    return {
      ...toConnection(database),
      transaction: (work) => database.transaction((connection) => work(toConnection(connection))),
      close: async () => {
        try {
          await database.close();
        } finally {
          await letGo();
        }
      },
    };
  } catch (cause) {
    await letGo();
    throw new StoreError(`The directory "${dir}" could not be opened as a database.`, {
      code: "store_failed",
      cause,
    });
  }
}

/** What a database and a transaction of PGlite have in common. */
interface PgliteConnection {
  query(
    text: string,
    parameters: unknown[],
  ): Promise<{ readonly rows: readonly unknown[]; readonly affectedRows?: number }>;
  exec(text: string): Promise<unknown>;
}

function toConnection(database: PgliteConnection): Connection {
  return {
    query: async (text: string, parameters: readonly Parameter[]): Promise<Answer> => {
      const { rows, affectedRows } = await database.query(text, [...parameters]);
      return { rows: rows as readonly Row[], count: affectedRows ?? 0 }; // Proof: PGlite makes a row an object of its columns
    },
    execute: async (text) => void (await database.exec(text)),
  };
}

async function makeDirectory(dir: string): Promise<string> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    return await realpath(dir);
  } catch (cause) {
    throw new StoreError(`The directory "${dir}" could not be made.`, { code: "store_failed", cause });
  }
}

/** What is used of PGlite. */
interface PgliteDatabase extends PgliteConnection {
  transaction<T>(work: (connection: PgliteConnection) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

async function loadPglite(): Promise<(dir: string) => Promise<PgliteDatabase>> {
  const { PGlite } = await import("@electric-sql/pglite").catch(packageMissing("@electric-sql/pglite"));
  const { vector } = await import("@electric-sql/pglite-pgvector").catch(
    packageMissing("@electric-sql/pglite-pgvector"),
  );
  return (dir) => PGlite.create({ dataDir: dir, extensions: { vector } });
}

function packageMissing(name: string): (cause: unknown) => never {
  return (cause) => {
    throw new ConfigError(`A database in a directory needs the package "${name}".`, {
      code: "package_missing",
      hint: "npm install @electric-sql/pglite @electric-sql/pglite-pgvector",
      cause,
    });
  };
}
