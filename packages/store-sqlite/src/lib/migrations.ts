/** The shape of the database, step by step. A released step never changes; a new shape is a new step. */

import { StoreError, digest } from "@openfunctions/core";
import type { Database } from "./database.ts";

/** One step; its version is its place in the list, from 1. */
const STEPS: readonly string[] = [
  `
CREATE TABLE openfunctions_values (
  store TEXT NOT NULL,
  -- UTF-16 big endian, so that keys are ordered by code unit.
  key BLOB NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (store, key)
) STRICT;

CREATE TABLE openfunctions_runs (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  started_at TEXT NOT NULL,
  status TEXT NOT NULL,
  kind TEXT NOT NULL,
  actor TEXT NOT NULL,
  thread_id TEXT,
  task_id TEXT,
  correlation_id TEXT NOT NULL,
  seal TEXT,
  -- The record of a run that ended or is suspended; others are folded when asked for.
  record TEXT
) STRICT;
-- Kind and actor have few values: they are looked at here, and no index of their own is written for each run.
CREATE INDEX openfunctions_runs_by_time ON openfunctions_runs (started_at, run_id, kind, actor);
CREATE INDEX openfunctions_runs_by_status ON openfunctions_runs (status, started_at, run_id);
CREATE INDEX openfunctions_runs_by_thread ON openfunctions_runs (thread_id, started_at, run_id)
  WHERE thread_id IS NOT NULL;
CREATE INDEX openfunctions_runs_by_task ON openfunctions_runs (task_id, started_at, run_id)
  WHERE task_id IS NOT NULL;
CREATE INDEX openfunctions_runs_by_correlation ON openfunctions_runs (correlation_id, started_at, run_id);

-- One number for run and event keeps the events of a run together in the order they come, without an index of its own.
CREATE TABLE openfunctions_run_events (
  id INTEGER PRIMARY KEY,
  event TEXT NOT NULL,
  run INTEGER GENERATED ALWAYS AS (id >> 24) VIRTUAL,
  seq INTEGER GENERATED ALWAYS AS (id & 0xffffff) VIRTUAL
) STRICT;

CREATE TABLE openfunctions_run_redactions (
  run_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  redaction TEXT NOT NULL,
  PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;
`,
  `
CREATE TABLE openfunctions_chunk_stores (
  n INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- What its vectors are made with, and how often one came, changed or left.
  model TEXT,
  dimensions INTEGER,
  changes INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The last changes, for processes that hold the vectors in memory.
CREATE TABLE openfunctions_vector_changes (
  store INTEGER NOT NULL,
  change INTEGER NOT NULL,
  chunk INTEGER NOT NULL,
  PRIMARY KEY (store, change)
) STRICT, WITHOUT ROWID;

-- Ids, owners and sources are bytes as the keys of values are. A record is what was written, in JSON.
CREATE TABLE openfunctions_documents (
  n INTEGER PRIMARY KEY,
  store INTEGER NOT NULL,
  id BLOB NOT NULL,
  owner BLOB NOT NULL,
  source BLOB NOT NULL,
  record TEXT NOT NULL,
  UNIQUE (store, id)
) STRICT;
CREATE INDEX openfunctions_documents_by_source ON openfunctions_documents (store, owner, source, id);

-- Their words are in openfunctions_words_<store>, which is made with the store. A vector is 32-bit floats.
CREATE TABLE openfunctions_chunks (
  n INTEGER PRIMARY KEY,
  store INTEGER NOT NULL,
  document INTEGER NOT NULL,
  id BLOB NOT NULL,
  start_at INTEGER NOT NULL,
  end_at INTEGER NOT NULL,
  hash TEXT NOT NULL,
  record TEXT NOT NULL,
  vector BLOB,
  UNIQUE (store, id)
) STRICT;
CREATE INDEX openfunctions_chunks_by_document ON openfunctions_chunks (document, start_at);
CREATE INDEX openfunctions_chunks_by_hash ON openfunctions_chunks (store, hash);
CREATE INDEX openfunctions_chunks_without_vector ON openfunctions_chunks (store, id) WHERE vector IS NULL;
`,
];

const HISTORY = `
CREATE TABLE IF NOT EXISTS openfunctions_migrations (
  version INTEGER NOT NULL PRIMARY KEY,
  checksum TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT`;

/**
 * Brings the database to the shape this version knows, all of it or nothing, one process at a time. Throws `StoreError`
 * `store_migration` before any write where the database is newer than the code or a step is not the one it was made with.
 */
export function migrate(database: Database, now: () => number): void {
  if (missingSteps(database).length === 0) return;
  database.transaction(() => {
    database.execute(HISTORY);
    for (const { version, sql } of missingSteps(database)) {
      database.execute(sql);
      database.run("INSERT INTO openfunctions_migrations (version, checksum, applied_at) VALUES (?, ?, ?)", [
        version,
        checksumOf(sql),
        new Date(now()).toISOString(),
      ]);
    }
  });
}

interface Step {
  readonly version: number;
  readonly sql: string;
}

function missingSteps(database: Database): readonly Step[] {
  const steps = STEPS.map((sql, index) => ({ version: index + 1, sql }));
  const made = database.get("SELECT 1 FROM sqlite_master WHERE name = 'openfunctions_migrations'");
  if (made === undefined) return steps;
  const applied = database.all("SELECT version, checksum FROM openfunctions_migrations ORDER BY version");
  for (const [index, { version, checksum }] of applied.entries())
    checkStep(steps[index], { version, checksum });
  return steps.slice(applied.length);
}

function checkStep(
  step: Step | undefined,
  applied: { readonly version: unknown; readonly checksum: unknown },
): void {
  if (step === undefined) {
    throw new StoreError(
      `The database has version ${String(applied.version)}, this program knows ${STEPS.length}: it was made by a newer one.`,
      { code: "store_migration", hint: "Update @openfunctions/store-sqlite, or use another file." },
    );
  }
  if (step.version === applied.version && checksumOf(step.sql) === applied.checksum) return;
  throw new StoreError(
    `Migration ${String(applied.version)} of the database is not the one of this program.`,
    {
      code: "store_migration",
      hint: "Open the file with the program that made it, or use another file.",
    },
  );
}

function checksumOf(sql: string): string {
  return digest("migration/1", sql);
}
