/** The rows of runs and their events. */

import type { AnyRunEvent, RunStatus } from "@openfunctions/core";
import { type HeldRun, RunFold, type RunSummary } from "@openfunctions/core/stores";
import { sql } from "drizzle-orm/sql/sql";
import type { Session } from "./database.ts";
import type { Tables } from "./tables.ts";

/** A run and the number it is kept under. */
export interface StoredRun extends HeldRun {
  readonly run: number;
  readonly redactions: number;
}

/** A run as it stands. In a transaction no other writer comes to it before the end. */
export async function findRun(
  session: Session,
  { runs, run_events: events, run_redactions: redacted }: Tables,
  runId: string,
): Promise<StoredRun | undefined> {
  const row = await session.get(sql`SELECT number, status, seal IS NOT NULL AS sealed FROM ${runs}
    WHERE run_id = ${runId} FOR UPDATE`);
  if (row === undefined) return undefined;
  const run = Number(row["number"]);
  // After the lock was waited for, and so with what the one before wrote.
  const counts = await session.get(sql`SELECT
    (SELECT coalesce(max(seq) + 1, 0) FROM ${events} WHERE run = ${run}::bigint) AS events,
    (SELECT count(*) FROM ${redacted} WHERE run = ${run}::bigint) AS redactions`);
  const redactions = Number(counts?.["redactions"]);
  return {
    run,
    events: Number(counts?.["events"]),
    status: row["status"] as RunStatus, // Proof: only statuses are ever written
    sealed: row["sealed"] === true || redactions > 0,
    redactions,
  };
}

/** The number a new run got. Throws `StoreError` `store_conflict` where another has its id. */
export async function insertRun(session: Session, { runs }: Tables, run: RunSummary): Promise<number> {
  const row = await session.get(sql`INSERT INTO ${runs}
      (run_id, started_at, status, kind, actor, thread_id, task_id, correlation_id)
    VALUES (${run.runId}, ${run.startedAt}, ${run.status}, ${run.kind}, ${run.actor},
      ${run.threadId ?? null}, ${run.taskId ?? null}, ${run.correlationId})
    RETURNING number`);
  return Number(row?.["number"]);
}

/** Adds events to a run. */
export async function insertEvents(
  session: Session,
  { run_events: table }: Tables,
  { run, events }: { readonly run: number; readonly events: readonly AnyRunEvent[] },
): Promise<void> {
  const rows = events.map((event) => ({ seq: event.seq, event: JSON.stringify(event) }));
  await session.run(sql`INSERT INTO ${table} (run, seq, event)
    SELECT ${run}::bigint, seq, event FROM json_to_recordset(${JSON.stringify(rows)}::json) AS e(seq integer, event text)`);
}

/** Events of a run in order; none of an unknown one. Without a limit all of them. */
export async function readEvents(
  session: Session,
  { runs, run_events: events }: Tables,
  { runId, from, limit }: { readonly runId: string; readonly from: number; readonly limit?: number },
): Promise<readonly AnyRunEvent[]> {
  const rows = await session.all(sql`SELECT e.event FROM ${events} e JOIN ${runs} r ON r.number = e.run
    WHERE r.run_id = ${runId} AND e.seq >= ${from}::bigint ORDER BY e.seq
    ${limit === undefined ? sql`` : sql`LIMIT ${limit}::bigint`}`);
  return rows.map((row) => JSON.parse(String(row["event"])) as AnyRunEvent); // Proof: only events are ever written
}

/** How many events a run has. */
export async function countEvents(
  session: Session,
  { runs, run_events: events }: Tables,
  runId: string,
): Promise<number> {
  const row = await session.get(sql`SELECT coalesce(max(e.seq) + 1, 0) AS events
    FROM ${events} e JOIN ${runs} r ON r.number = e.run WHERE r.run_id = ${runId}`);
  return Number(row?.["events"]);
}

/** The fold of all events of a run. */
export async function foldEvents(session: Session, tables: Tables, runId: string): Promise<RunFold> {
  const fold = new RunFold();
  for (const event of await readEvents(session, tables, { runId, from: 0 })) fold.apply(event);
  return fold;
}
