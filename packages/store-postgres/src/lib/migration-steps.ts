/** The shape of the database, step by step. A released step never changes; a new shape is a new step. */

/** One step. `{p}` stands for the prefix of the tables. */
export interface MigrationStep {
  readonly sql: string;
  /** Left out while the server has no pgvector. No later step may build on it. */
  readonly needsVector?: true;
}

/** A step's version is its place in the list, from 1. */
export const MIGRATION_STEPS: readonly MigrationStep[] = [
  {
    sql: `
CREATE TABLE {p}_values (
  store text COLLATE "C" NOT NULL,
  -- UTF-16 big endian, so that keys are ordered by code unit.
  key bytea NOT NULL,
  -- Text, because jsonb has no NUL.
  value text NOT NULL,
  version bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (store, key)
);
`,
  },
  {
    sql: `
CREATE TABLE {p}_documents (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  store text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  source_id text COLLATE "C" NOT NULL,
  record text NOT NULL,
  -- The metadata of the record once more, for filters.
  metadata jsonb NOT NULL,
  chunk_count integer NOT NULL,
  term_count bigint NOT NULL,
  UNIQUE (store, id),
  UNIQUE (store, owner, source_id)
);

CREATE TABLE {p}_chunks (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  document bigint NOT NULL REFERENCES {p}_documents ON DELETE CASCADE,
  store text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  start_at integer NOT NULL,
  end_at integer NOT NULL,
  hash text COLLATE "C" NOT NULL,
  -- Headings and page.
  place text NOT NULL,
  content text NOT NULL,
  term_count integer NOT NULL,
  -- Each term once, with as many positions as it occurs times.
  terms tsvector NOT NULL,
  UNIQUE (store, id)
);
CREATE INDEX {p}_chunks_by_document ON {p}_chunks (document, start_at);
CREATE INDEX {p}_chunks_by_hash ON {p}_chunks (store, hash);
CREATE INDEX {p}_chunks_by_term ON {p}_chunks USING gin (terms);

CREATE TABLE {p}_embeddings (
  store text COLLATE "C" PRIMARY KEY,
  -- What its vectors are kept under; another one each time that the embedding changes.
  number integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  model text NOT NULL,
  dimensions integer NOT NULL
);
`,
  },
  {
    needsVector: true,
    sql: `
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE {p}_vectors (
  chunk bigint PRIMARY KEY REFERENCES {p}_chunks ON DELETE CASCADE,
  embedding integer NOT NULL,
  vector vector NOT NULL
);
CREATE INDEX {p}_vectors_by_embedding ON {p}_vectors (embedding);
`,
  },
  {
    sql: `
CREATE TABLE {p}_runs (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run_id text COLLATE "C" NOT NULL UNIQUE,
  started_at text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  thread_id text COLLATE "C",
  task_id text COLLATE "C",
  correlation_id text COLLATE "C" NOT NULL,
  seal text,
  -- The record of a run that ended or is suspended; others are folded when asked for.
  record text
);
CREATE INDEX {p}_runs_by_time ON {p}_runs (started_at, run_id, kind, actor);
CREATE INDEX {p}_runs_by_status ON {p}_runs (status, started_at, run_id);
CREATE INDEX {p}_runs_by_thread ON {p}_runs (thread_id, started_at, run_id) WHERE thread_id IS NOT NULL;
CREATE INDEX {p}_runs_by_task ON {p}_runs (task_id, started_at, run_id) WHERE task_id IS NOT NULL;
CREATE INDEX {p}_runs_by_correlation ON {p}_runs (correlation_id, started_at, run_id);

CREATE TABLE {p}_run_events (
  run bigint NOT NULL REFERENCES {p}_runs ON DELETE CASCADE,
  seq integer NOT NULL,
  -- Text, because jsonb has no NUL and its own order of keys.
  event text NOT NULL,
  PRIMARY KEY (run, seq)
);

CREATE TABLE {p}_run_redactions (
  run bigint NOT NULL REFERENCES {p}_runs ON DELETE CASCADE,
  n integer NOT NULL,
  redaction text NOT NULL,
  PRIMARY KEY (run, n)
);
`,
  },
];
