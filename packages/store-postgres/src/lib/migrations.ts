/** Brings a database to the shape this version knows; forwards only. */

import { StoreError, digest } from "@openfunctions/core";
import { sql } from "drizzle-orm/sql/sql";
import type { Database, Session } from "./database.ts";
import { MIGRATION_STEPS, type MigrationStep } from "./migration-steps.ts";
import type { Tables } from "./tables.ts";

/** Which steps to take. */
export interface MigrationOptions {
  /** Whether steps that need pgvector are among them. */
  readonly vectors: boolean;
  /** Changes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** A step with what names it. */
interface NumberedStep extends MigrationStep {
  readonly version: number;
  readonly checksum: string;
}

/**
 * Takes the steps that are missing, each of them whole or not at all, one process at a time, and gives their SQL.
 * Throws `StoreError` `store_migration` before any write where the database is newer than the code or a step is not the
 * one it was made with.
 */
export async function migrateTables(
  database: Database,
  tables: Tables,
  { vectors, dryRun = false }: MigrationOptions,
): Promise<readonly string[]> {
  const missing = (await missingSteps(database, tables)).filter((step) => vectors || !step.needsVector);
  const texts = missing.map((step) => step.sql.replaceAll("{p}", tables.prefix).trim());
  if (dryRun) return texts;
  for (const [index, step] of missing.entries())
    await database.transaction(async (session) => {
      // One lock for all prefixes, since they share the extension.
      await session.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('openfunctions/migrations', 0))`);
      // Another process may have been here meanwhile.
      const left = await missingSteps(session, tables);
      if (!left.some(({ version }) => version === step.version)) return;
      await session.execute(historyTable(tables));
      await session.execute(texts[index] ?? "");
      await session.run(sql`INSERT INTO ${tables.migrations} (version, checksum, applied_at)
        VALUES (${step.version}::int, ${step.checksum}, now())`);
    });
  return texts;
}

function historyTable({ prefix }: Tables): string {
  return `CREATE TABLE IF NOT EXISTS ${prefix}_migrations (
    version integer PRIMARY KEY,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL
  )`;
}

async function missingSteps(session: Session, tables: Tables): Promise<readonly NumberedStep[]> {
  const steps = MIGRATION_STEPS.map((step, index): NumberedStep => ({
    ...step,
    version: index + 1,
    checksum: digest("migration/1", step.sql),
  }));
  // Read from the catalog itself: a function such as to_regclass may answer from what the connection knew before.
  const name = `${tables.prefix}_migrations`;
  const history = await session.get(
    sql`SELECT count(*) > 0 AS made FROM pg_class WHERE relname = ${name} AND pg_table_is_visible(oid)`,
  );
  if (history?.["made"] !== true) return steps;
  const rows = await session.all(sql`SELECT version, checksum FROM ${tables.migrations} ORDER BY version`);
  const applied = new Set<number>();
  for (const row of rows) {
    const version = Number(row["version"]);
    checkStep(version, steps[version - 1], row["checksum"]);
    applied.add(version);
  }
  return steps.filter(({ version }) => !applied.has(version));
}

function checkStep(version: number, step: NumberedStep | undefined, checksum: unknown): void {
  if (step === undefined)
    throw new StoreError(
      `The database has version ${version}, this program knows ${MIGRATION_STEPS.length}: it was made by a newer one.`,
      {
        code: "store_migration",
        hint: "Update @openfunctions/store-postgres, or use another table prefix.",
      },
    );
  if (step.checksum === checksum) return;
  throw new StoreError(`Migration ${version} of the database is not the one of this program.`, {
    code: "store_migration",
    hint: "Use the program that made it, or another table prefix.",
  });
}
