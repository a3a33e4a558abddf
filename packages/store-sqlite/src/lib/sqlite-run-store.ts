/** Runs in a SQLite file: events by number, and a row per run that lists are made from. */

import type {
  AnyRunEvent,
  AppendOptions,
  RunPage,
  RunQuery,
  RunRecord,
  RunStatus,
  RunStore,
} from "@openfunctions/core";
import { InputError } from "@openfunctions/core";
import type { RedactionLine, RunAnnex, SealLine } from "@openfunctions/core/records";
import {
  type HeldRun,
  type RunBatch,
  type RunBells,
  RunFold,
  type RunSummary,
  checkRedaction,
  checkRunId,
  isEnded,
  planRunQuery,
  redactEvent,
  runCursor,
  runNotFound,
  statusAfter,
  storeClosed,
  summarizeRun,
  watchRun,
} from "@openfunctions/core/stores";
import type { Database, Row } from "./database.ts";
import { runListSql } from "./run-list-sql.ts";

/** How often to look for appends of other processes. */
const POLL_MS = 250;
/** How many events are read at a time. */
const READ_SIZE = 256;
/** Open runs whose fold is kept between appends. */
const MAX_FOLDS = 512;

/** What is known of an open run without reading it. */
interface OpenFold {
  /** Its number in this file. */
  readonly run: number;
  readonly fold: RunFold;
  readonly events: number;
}

/** The runs of one file. */
export class SqliteRunStore implements RunStore {
  readonly #database: Database;
  readonly #bells: RunBells;
  readonly #folds = new Map<string, OpenFold>();
  #closed = false;

  constructor(database: Database, bells: RunBells) {
    this.#database = database;
    this.#bells = bells;
  }

  async append(
    runId: string,
    events: readonly AnyRunEvent[],
    { expectedSeq, seal, durable = true }: AppendOptions,
  ): Promise<void> {
    const database = this.#open(runId);
    const batch = { runId, events, expectedSeq, ...(seal === undefined ? {} : { seal }) };
    try {
      database.transaction(() => this.#append(database, batch), { durable });
    } catch (cause) {
      this.#folds.delete(runId);
      throw cause;
    }
    this.#bells.ring(runId);
  }

  async *read(runId: string, fromSeq: number = 0): AsyncGenerator<AnyRunEvent> {
    let next = Math.max(0, fromSeq);
    for (;;) {
      const database = this.#open(runId);
      const run = numberOf(database, runId);
      const events = run === undefined ? [] : readEvents(database, { run, from: next, limit: READ_SIZE });
      yield* events;
      next += events.length;
      if (events.length < READ_SIZE) return;
    }
  }

  async annex(runId: string): Promise<RunAnnex> {
    const database = this.#open(runId);
    const seal = database.get("SELECT seal FROM openfunctions_runs WHERE run_id = ?", [runId])?.["seal"];
    const rows = database.all(
      "SELECT redaction FROM openfunctions_run_redactions WHERE run_id = ? ORDER BY n",
      [runId],
    );
    const redactions = rows.map((row) => parse<RedactionLine>(row["redaction"]));
    return typeof seal === "string" ? { seal: parse<SealLine>(seal), redactions } : { redactions };
  }

  async redact(runId: string, redaction: RedactionLine): Promise<void> {
    const database = this.#open(runId);
    database.transaction(() => {
      const held = findRun(database, runId);
      if (held === undefined) throw runNotFound(runId);
      checkRedaction(redaction, held);
      const { seq, n } = redaction;
      const [event] = readEvents(database, { run: held.run, from: seq, limit: 1 });
      const redacted = redactEvent(event?.seq === seq ? event : undefined, redaction);
      const sql = "UPDATE openfunctions_run_events SET event = ? WHERE id = (? << 24) + ?";
      database.run(sql, [JSON.stringify(redacted), held.run, seq]);
      database.run("INSERT INTO openfunctions_run_redactions (run_id, n, redaction) VALUES (?, ?, ?)", [
        runId,
        n,
        JSON.stringify(redaction),
      ]);
      const record = JSON.stringify(foldAll(database, held.run).record());
      database.run("UPDATE openfunctions_runs SET record = ? WHERE run_id = ?", [record, runId]);
    });
    database.checkpoint();
  }

  async get(runId: string): Promise<RunRecord | undefined> {
    const database = this.#open(runId);
    return database.snapshot(() => {
      const sql = "SELECT id, run_id, record FROM openfunctions_runs WHERE run_id = ?";
      const row = database.get(sql, [runId]);
      return row === undefined ? undefined : this.#recordOf(database, row);
    });
  }

  async list(query?: RunQuery): Promise<RunPage> {
    const database = this.#open();
    const plan = planRunQuery(query);
    const { sql, parameters } = runListSql(plan);
    return database.snapshot(() => {
      const rows = database.all(sql, parameters);
      const runs = rows.slice(0, plan.limit).map((row) => this.#recordOf(database, row));
      const last = runs.at(-1);
      return rows.length > plan.limit && last !== undefined ? { runs, cursor: runCursor(last) } : { runs };
    });
  }

  watch(runId: string, fromSeq: number, signal?: AbortSignal): AsyncIterable<AnyRunEvent> {
    const source = {
      bells: this.#bells,
      pollMs: POLL_MS,
      read: (id: string, from: number) => this.read(id, from),
      status: async (id: string) => findRun(this.#open(id), id)?.status,
    };
    return watchRun(source, { runId, fromSeq, signal });
  }

  async remove(runId: string): Promise<boolean> {
    const database = this.#open(runId);
    const found = database.transaction(() => {
      const run = numberOf(database, runId);
      if (run === undefined) return false;
      database.run(`DELETE FROM openfunctions_run_events WHERE ${EVENTS_OF_RUN}`, [run, run]);
      database.run("DELETE FROM openfunctions_run_redactions WHERE run_id = ?", [runId]);
      return database.run("DELETE FROM openfunctions_runs WHERE id = ?", [run]) > 0;
    });
    this.#folds.delete(runId);
    this.#bells.ring(runId);
    if (found) database.checkpoint();
    return found;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#folds.clear();
    this.#bells.ring();
  }

  #append(database: Database, batch: RunBatch): void {
    const { runId, events, expectedSeq } = batch;
    const known = this.#folds.get(runId);
    const held = known === undefined ? findRun(database, runId) : findOpenRun(database, runId, known);
    const status = statusAfter(batch, held);
    if (expectedSeq + events.length > MAX_EVENTS)
      throw new InputError(`A run in SQLite has at most ${MAX_EVENTS} events.`);
    const [first] = events;
    const run =
      held?.run ?? (first?.type === "run.started" ? insertRun(database, summarizeRun(first, status)) : 0);
    const fold = this.#foldOf(database, { runId, run, events: expectedSeq });
    insertEvents(database, run, events);
    for (const event of events) fold.apply(event);
    if (isEnded(status)) this.#folds.delete(runId);
    else this.#folds.set(runId, { run, fold, events: expectedSeq + events.length });
    // A running run is folded when it is asked for: an append writes its events and nothing else.
    if (status === "running" && status === (held?.status ?? status)) return;
    const record = status === "running" ? undefined : JSON.stringify(fold.record());
    database.run(
      "UPDATE openfunctions_runs SET status = ?, record = ?, seal = coalesce(?, seal) WHERE id = ?",
      [status, record, batch.seal && JSON.stringify(batch.seal), run],
    );
  }

  /** The fold as it stands before event number `events`; read anew where another process wrote. */
  #foldOf(
    database: Database,
    { runId, run, events }: { readonly runId: string; readonly run: number; readonly events: number },
  ): RunFold {
    const known = this.#folds.get(runId);
    if (known?.events === events) return known.fold;
    const fold = foldAll(database, run);
    this.#folds.set(runId, { run, fold, events });
    const [oldest] = this.#folds.keys();
    if (this.#folds.size > MAX_FOLDS && oldest !== undefined) this.#folds.delete(oldest);
    return fold;
  }

  #recordOf(database: Database, row: Row): RunRecord {
    if (typeof row["record"] === "string") return parse<RunRecord>(row["record"]);
    const run = Number(row["id"]);
    return this.#foldOf(database, {
      runId: String(row["run_id"]),
      run,
      events: countOf(database, run),
    }).record();
  }

  #open(runId?: string): Database {
    if (this.#closed) throw storeClosed();
    if (runId !== undefined) checkRunId(runId);
    return this.#database;
  }
}

/** The number a new run got. */
function insertRun(database: Database, run: RunSummary): number {
  const row = database.get(
    `INSERT INTO openfunctions_runs (run_id, started_at, status, kind, actor, thread_id, task_id, correlation_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    [run.runId, run.startedAt, run.status, run.kind, run.actor, run.threadId, run.taskId, run.correlationId],
  );
  return Number(row?.["id"]);
}

// SQLite takes 32,766 parameters in one statement; a statement for every count up to this is kept.
const INSERTED_AT_ONCE = 32;

function insertEvents(database: Database, run: number, events: readonly AnyRunEvent[]): void {
  for (let from = 0; from < events.length; from += INSERTED_AT_ONCE) {
    const some = events.slice(from, from + INSERTED_AT_ONCE);
    const rows = some.map(() => "((? << 24) + ?, ?)").join(", ");
    database.run(
      `INSERT INTO openfunctions_run_events (id, event) VALUES ${rows}`,
      some.flatMap((event) => [run, event.seq, JSON.stringify(event)]),
    );
  }
}

interface StoredRun extends HeldRun {
  /** Its number in this file. */
  readonly run: number;
  readonly redactions: number;
}

function findRun(database: Database, runId: string): StoredRun | undefined {
  const row = database.get(
    `SELECT id, status, seal IS NOT NULL AS sealed,
       (SELECT count(*) FROM openfunctions_run_redactions WHERE run_id = runs.run_id) AS redactions
     FROM openfunctions_runs AS runs WHERE run_id = ?`,
    [runId],
  );
  if (row === undefined) return undefined;
  const [run, redactions] = [Number(row["id"]), Number(row["redactions"])];
  return {
    run,
    events: countOf(database, run),
    status: row["status"] as RunStatus, // Proof: only statuses are ever written
    sealed: row["sealed"] === 1 || redactions > 0,
    redactions,
  };
}

/** The same for a run that was seen open, which has no redactions: by its number, in one look. */
function findOpenRun(database: Database, runId: string, { run, events }: OpenFold): StoredRun | undefined {
  const row = database.get(
    `SELECT status, seal IS NOT NULL AS sealed,
       (SELECT seq + 1 FROM openfunctions_run_events WHERE id >= (? << 24) + ? AND id < (? + 1) << 24 ORDER BY id DESC LIMIT 1) AS events
     FROM openfunctions_runs WHERE id = ? AND run_id = ?`,
    [run, Math.max(0, events - 1), run, run, runId],
  );
  if (row === undefined) return undefined;
  const status = row["status"] as RunStatus; // Proof: only statuses are ever written
  return { run, events: Number(row["events"] ?? 0), status, sealed: row["sealed"] === 1, redactions: 0 };
}

function numberOf(database: Database, runId: string): number | undefined {
  const row = database.get("SELECT id FROM openfunctions_runs WHERE run_id = ?", [runId]);
  return row === undefined ? undefined : Number(row["id"]);
}

// Event numbers have 24 bits: sixteen million events a run.
const MAX_EVENTS = 2 ** 24;
const EVENTS_OF_RUN = "id >= ? << 24 AND id < (? + 1) << 24";

/** How many events a run has, found at its last one. */
function countOf(database: Database, run: number): number {
  const sql = `SELECT seq + 1 AS events FROM openfunctions_run_events WHERE ${EVENTS_OF_RUN} ORDER BY id DESC LIMIT 1`;
  return Number(database.get(sql, [run, run])?.["events"] ?? 0);
}

function readEvents(
  database: Database,
  { run, from, limit }: { readonly run: number; readonly from: number; readonly limit: number },
): readonly AnyRunEvent[] {
  const rows = database.all(
    `SELECT event FROM openfunctions_run_events WHERE ${EVENTS_OF_RUN} AND id >= (? << 24) + ? ORDER BY id LIMIT ?`,
    [run, run, run, from, limit],
  );
  return rows.map((row) => parse<AnyRunEvent>(row["event"]));
}

function foldAll(database: Database, run: number): RunFold {
  const fold = new RunFold();
  for (const event of readEvents(database, { run, from: 0, limit: -1 })) fold.apply(event);
  return fold;
}

function parse<T>(text: unknown): T {
  return JSON.parse(String(text)) as T; // Proof: these columns hold what this file wrote into them
}
