/** Runs in Postgres: events by number, and a row per run that lists are made from. */

import type {
  AnyRunEvent,
  AppendOptions,
  RunPage,
  RunQuery,
  RunRecord,
  RunStatus,
  RunStore,
} from "@openfunctions/core";
import type { RedactionLine, RunAnnex, SealLine } from "@openfunctions/core/records";
import {
  checkRedaction,
  checkRunId,
  isEnded,
  planRunQuery,
  redactEvent,
  type RunBatch,
  type RunBells,
  runCursor,
  type RunFold,
  runNotFound,
  statusAfter,
  storeClosed,
  summarizeRun,
  watchRun,
} from "@openfunctions/core/stores";
import { sql } from "drizzle-orm/sql/sql";
import type { Database, Session } from "./database.ts";
import type { Row } from "./driver.ts";
import { runListSql } from "./run-list-sql.ts";
import { countEvents, findRun, foldEvents, insertEvents, insertRun, readEvents } from "./run-rows.ts";
import type { StorePlace } from "./postgres-store.ts";
import type { Tables } from "./tables.ts";

/** How often to look for appends of other processes. */
const POLL_MS = 250;
/** How many events are read at a time. */
const READ_SIZE = 256;
/** Open runs whose fold is kept between appends. */
const MAX_FOLDS = 512;

/** An open run as it stood after so many events. */
interface OpenFold {
  readonly run: number;
  readonly fold: RunFold;
  readonly events: number;
}

/** The runs of one database. */
export class PostgresRunStore implements RunStore {
  readonly #place: StorePlace;
  readonly #bells: RunBells;
  readonly #folds = new Map<string, OpenFold>();
  #closed = false;

  constructor(place: StorePlace, bells: RunBells) {
    this.#place = place;
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
      await database.transaction(async (session) => {
        // The next commit that waits for the disk takes this one with it.
        if (!durable) await session.get(sql`SELECT set_config('synchronous_commit', 'off', true)`);
        await this.#append(session, batch);
      });
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
      const events = await readEvents(database, this.#tables, { runId, from: next, limit: READ_SIZE });
      yield* events;
      next += events.length;
      if (events.length < READ_SIZE) return;
    }
  }

  async annex(runId: string): Promise<RunAnnex> {
    const { runs, run_redactions: redacted } = this.#tables;
    const rows = await this.#open(runId).all(sql`SELECT r.seal, d.redaction FROM ${runs} r
      LEFT JOIN ${redacted} d ON d.run = r.number WHERE r.run_id = ${runId} ORDER BY d.n`);
    const redactions = rows.flatMap(({ redaction }) =>
      typeof redaction === "string" ? [parse<RedactionLine>(redaction)] : [],
    );
    const seal = rows[0]?.["seal"];
    return typeof seal === "string" ? { seal: parse<SealLine>(seal), redactions } : { redactions };
  }

  async redact(runId: string, redaction: RedactionLine): Promise<void> {
    const tables = this.#tables;
    await this.#open(runId).transaction(async (session) => {
      const held = await findRun(session, tables, runId);
      if (held === undefined) throw runNotFound(runId);
      checkRedaction(redaction, held);
      const { seq, n } = redaction;
      const [event] = await readEvents(session, tables, { runId, from: seq, limit: 1 });
      const redacted = redactEvent(event?.seq === seq ? event : undefined, redaction);
      await session.run(sql`UPDATE ${tables.run_events} SET event = ${JSON.stringify(redacted)}
        WHERE run = ${held.run}::bigint AND seq = ${seq}::int`);
      await session.run(sql`INSERT INTO ${tables.run_redactions} (run, n, redaction)
        VALUES (${held.run}::bigint, ${n}::int, ${JSON.stringify(redaction)})`);
      const record = JSON.stringify((await foldEvents(session, tables, runId)).record());
      await session.run(sql`UPDATE ${tables.runs} SET record = ${record} WHERE number = ${held.run}::bigint`);
    });
  }

  async get(runId: string): Promise<RunRecord | undefined> {
    const database = this.#open(runId);
    const { runs } = this.#tables;
    const row = await database.get(sql`SELECT number, run_id, record FROM ${runs} WHERE run_id = ${runId}`);
    return row && this.#recordOf(database, row);
  }

  async list(query?: RunQuery): Promise<RunPage> {
    const database = this.#open();
    const plan = planRunQuery(query);
    const rows = await database.all(runListSql(plan, this.#tables));
    const runs: RunRecord[] = [];
    for (const row of rows.slice(0, plan.limit)) runs.push(await this.#recordOf(database, row));
    const last = runs.at(-1);
    return rows.length > plan.limit && last !== undefined ? { runs, cursor: runCursor(last) } : { runs };
  }

  watch(runId: string, fromSeq: number, signal?: AbortSignal): AsyncIterable<AnyRunEvent> {
    const source = {
      bells: this.#bells,
      pollMs: POLL_MS,
      read: (id: string, from: number) => this.read(id, from),
      status: (id: string) => this.#statusOf(id),
    };
    return watchRun(source, { runId, fromSeq, signal });
  }

  async remove(runId: string): Promise<boolean> {
    const { runs } = this.#tables;
    const removed = await this.#open(runId).run(sql`DELETE FROM ${runs} WHERE run_id = ${runId}`);
    this.#folds.delete(runId);
    this.#bells.ring(runId);
    return removed > 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#folds.clear();
    this.#bells.ring();
    await this.#place.database.idle();
  }

  async #append(session: Session, batch: RunBatch): Promise<void> {
    const { runId, events, expectedSeq } = batch;
    const tables = this.#tables;
    const held = await findRun(session, tables, runId);
    const status = statusAfter(batch, held);
    const [first] = events;
    const run =
      held?.run ??
      (first?.type === "run.started" ? await insertRun(session, tables, summarizeRun(first, status)) : 0);
    const fold = await this.#foldOf(session, { runId, run, events: expectedSeq });
    await insertEvents(session, tables, { run, events });
    for (const event of events) fold.apply(event);
    if (isEnded(status)) this.#folds.delete(runId);
    else this.#keep(runId, { run, fold, events: expectedSeq + events.length });
    // A running run is folded when it is asked for: an append writes its events and nothing else.
    if (status === "running" && status === (held?.status ?? status)) return;
    const record = status === "running" ? null : JSON.stringify(fold.record());
    const seal = batch.seal === undefined ? null : JSON.stringify(batch.seal);
    await session.run(sql`UPDATE ${tables.runs}
      SET status = ${status}, record = ${record}, seal = coalesce(${seal}, seal) WHERE number = ${run}::bigint`);
  }

  /** The fold as it stands before event number `events`; read anew where another process wrote. */
  async #foldOf(
    session: Session,
    { runId, run, events }: Omit<OpenFold, "fold"> & { readonly runId: string },
  ): Promise<RunFold> {
    const known = this.#folds.get(runId);
    if (known?.events === events && known.run === run) return known.fold;
    return foldEvents(session, this.#tables, runId);
  }

  #keep(runId: string, open: OpenFold): void {
    this.#folds.set(runId, open);
    const [oldest] = this.#folds.keys();
    if (this.#folds.size > MAX_FOLDS && oldest !== undefined) this.#folds.delete(oldest);
  }

  async #recordOf(database: Database, row: Row): Promise<RunRecord> {
    if (typeof row["record"] === "string") return parse<RunRecord>(row["record"]);
    const runId = String(row["run_id"]);
    const events = await countEvents(database, this.#tables, runId);
    return (await this.#foldOf(database, { runId, run: Number(row["number"]), events })).record();
  }

  async #statusOf(runId: string): Promise<RunStatus | undefined> {
    const { runs } = this.#tables;
    const row = await this.#open(runId).get(sql`SELECT status FROM ${runs} WHERE run_id = ${runId}`);
    return row && (row["status"] as RunStatus); // Proof: only statuses are ever written
  }

  get #tables(): Tables {
    return this.#place.tables;
  }

  #open(runId?: string): Database {
    if (this.#closed) throw storeClosed();
    if (runId !== undefined) checkRunId(runId);
    return this.#place.database;
  }
}

function parse<T>(text: unknown): T {
  return JSON.parse(String(text)) as T; // Proof: these columns hold what this package wrote into them
}
