/** State, runs and document chunks in Postgres. */

export {
  type ChunkStoreOptions,
  createPgliteStore,
  createPgStore,
  migrate,
  openPglite,
  openPostgres,
  type PgliteOptions,
  type PostgresOptions,
  type PostgresStores,
  type TableOptions,
} from "./lib/open-postgres.ts";
export type { PgClient, PgPool, PgResult } from "./lib/pg-driver.ts";
