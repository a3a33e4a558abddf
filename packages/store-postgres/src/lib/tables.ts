/** The tables of one prefix. */

import { ConfigError } from "@openfunctions/core";
import { type SQL, sql } from "drizzle-orm/sql/sql";

const NAMES = [
  "values",
  "documents",
  "chunks",
  "embeddings",
  "vectors",
  "runs",
  "run_events",
  "run_redactions",
  "migrations",
] as const;

/** Each table as it stands in a statement, and the prefix they share. */
export type Tables = Readonly<Record<(typeof NAMES)[number], SQL>> & { readonly prefix: string };

const PREFIX = /^[a-z][a-z0-9_]{0,30}$/;

/** The tables of a prefix. Throws `ConfigError` for a prefix that none takes. */
export function tablesOf(prefix: string): Tables {
  if (typeof prefix !== "string" || !PREFIX.test(prefix))
    throw new ConfigError(
      `Table prefix ${JSON.stringify(prefix)} is not allowed: use a-z, 0-9 and _, beginning with a letter, at most 31 characters.`,
      { code: "invalid_config" },
    );
  const name = (table: string): SQL => sql`${sql.identifier(`${prefix}_${table}`)}`;
  return {
    prefix,
    values: name("values"),
    documents: name("documents"),
    chunks: name("chunks"),
    embeddings: name("embeddings"),
    vectors: name("vectors"),
    runs: name("runs"),
    run_events: name("run_events"),
    run_redactions: name("run_redactions"),
    migrations: name("migrations"),
  };
}
