/** What the planner knows of the tables of chunks. Without it no search by vector would go by the index. */

import { sql } from "drizzle-orm/sql/sql";
import type { Database } from "./database.ts";
import type { Tables } from "./tables.ts";

const FIRST_AFTER = 1_000;

/**
 * Has the planner look at the tables when many chunks were written: a database in a directory never does so by itself,
 * a server within minutes.
 */
export class PlannerStatistics {
  readonly #database: Database;
  readonly #tables: Tables;
  #written = 0;
  #next = FIRST_AFTER;

  constructor(database: Database, tables: Tables) {
    this.#database = database;
    this.#tables = tables;
  }

  /** Counts what was written; looks after the first 1,000, and each time that they have doubled. */
  async count(written: number, { vectors }: { readonly vectors: boolean }): Promise<void> {
    this.#written += written;
    if (this.#written < this.#next) return;
    this.#next = 2 * this.#written;
    const { documents, chunks, vectors: table } = this.#tables;
    const looking = this.#database.run(
      sql`ANALYZE ${documents}, ${chunks}${vectors ? sql`, ${table}` : sql``}`,
    );
    // The write is done, and stays so: a search without statistics is slower, not wrong.
    await looking.catch(() => {});
  }
}
