/** State, runs and documents in one SQLite file. */

export { openSqlite, type SqliteOptions, type SqliteStores } from "./lib/open-sqlite.ts";
