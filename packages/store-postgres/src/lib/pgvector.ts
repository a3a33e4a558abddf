/** Whether a database can hold vectors, and what to do where it cannot. */

import { OpenFunctionsError, StoreError } from "@openfunctions/core";
import { sql } from "drizzle-orm/sql/sql";
import type { Database } from "./database.ts";
import { migrateTables } from "./migrations.ts";
import type { Tables } from "./tables.ts";

// Searches under a filter need its iterative scans.
const MIN_VERSION = [0, 8] as const;

/** Makes the tables of vectors. Throws `StoreError` `no_pgvector`, with the SQL to run, where there can be none. */
export async function prepareVectors(database: Database, tables: Tables): Promise<void> {
  const row = await database.get(sql`SELECT
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS installed,
    (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS available`);
  const { installed, available } = row ?? {};
  if (typeof installed === "string" && !isRecent(installed))
    throw noPgvector(`The database has pgvector ${installed}.`, "ALTER EXTENSION vector UPDATE;");
  if (typeof installed !== "string" && (typeof available !== "string" || !isRecent(available)))
    throw noPgvector("The server of the database has no pgvector 0.8.", "CREATE EXTENSION vector;");
  try {
    await migrateTables(database, tables, { vectors: true });
  } catch (cause) {
    if (typeof installed === "string" || !isForbidden(cause)) throw cause;
    throw noPgvector("This user of the database may not add pgvector to it.", "CREATE EXTENSION vector;");
  }
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > MIN_VERSION[0] || minor >= MIN_VERSION[1];
}

/** SQLSTATE 42501: insufficient privilege. */
function isForbidden(error: unknown): boolean {
  return OpenFunctionsError.is(error) && Object(error.cause).code === "42501";
}

function noPgvector(message: string, command: string): StoreError {
  return new StoreError(`${message} Searching by vector needs it.`, {
    code: "no_pgvector",
    hint: `Install pgvector 0.8 or later on the server and run "${command}", or pass { allowKeywordOnly: true }.`,
  });
}
