/** Which runs a list holds, and where its next page begins. */

import { defined } from "./defined.ts";
import { InputError } from "./errors.ts";
import { checkLimit } from "./store.ts";
import type { RunEvent, RunKind } from "./run-event.ts";
import type { RunRecord, RunStatus } from "./run-record.ts";

/** Which runs to list. Times are ISO-8601. */
export interface RunQuery {
  readonly status?: RunStatus;
  readonly kind?: RunKind;
  readonly actor?: string;
  readonly threadId?: string;
  readonly taskId?: string;
  readonly correlationId?: string;
  /** Runs that started at this time or later. */
  readonly since?: string;
  /** Runs that started at this time or earlier. */
  readonly until?: string;
  /** Default 50. */
  readonly limit?: number;
  /** Of the page before; stays valid while runs arrive and go. */
  readonly cursor?: string;
}

/** A page of records, newest first. */
export interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly cursor?: string;
}

/** What a store keeps of a run to find it by. */
export interface RunSummary {
  readonly runId: string;
  readonly startedAt: string;
  readonly status: RunStatus;
  readonly kind: RunKind;
  readonly actor: string;
  readonly threadId?: string;
  readonly taskId?: string;
  readonly correlationId: string;
}

/** A run's place in the order of runs. */
export type RunPlace = Pick<RunSummary, "startedAt" | "runId">;

/** A query that was checked: times in one form, the cursor taken apart. */
export interface RunPlan {
  /** What must be equal; absent fields match all. */
  readonly equal: Partial<Omit<RunSummary, "runId" | "startedAt">>;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  /** The last run of the page before. */
  readonly after?: RunPlace;
}

const DEFAULT_LIMIT = 50;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Checks a query. Throws `InputError` for a limit, time or cursor that is none. */
export function planRunQuery(query: RunQuery = {}): RunPlan {
  const { limit = DEFAULT_LIMIT, since, until, cursor } = query;
  checkLimit(limit);
  const { status, kind, actor, threadId, taskId, correlationId } = query;
  return {
    equal: defined({ status, kind, actor, threadId, taskId, correlationId }),
    limit,
    ...defined({
      since: toTime("since", since),
      until: toTime("until", until),
      after: toPlace(cursor),
    }),
  };
}

/** The cursor of the page that ends with this run. */
export function runCursor({ startedAt, runId }: RunPlace): string {
  return `${startedAt} ${runId}`;
}

/** What to find a run by. */
export function summarizeRun(first: RunEvent<"run.started">, status: RunStatus): RunSummary {
  const { kind, actor, lineage } = first.data;
  const { threadId, taskId, correlationId } = lineage;
  return {
    runId: first.runId,
    startedAt: first.at,
    status,
    kind,
    actor: actor.name,
    correlationId,
    ...defined({ threadId, taskId }),
  };
}

/** One page of runs whose summaries are all at hand. */
export function pageOfRuns<T extends RunSummary>(
  summaries: Iterable<T>,
  plan: RunPlan,
): { readonly runs: readonly T[]; readonly cursor?: string } {
  const wanted = [...summaries].filter((run) => matches(run, plan)).sort((a, b) => comparePlaces(b, a));
  const runs = wanted.slice(0, plan.limit);
  const last = runs.at(-1);
  return wanted.length > plan.limit && last !== undefined ? { runs, cursor: runCursor(last) } : { runs };
}

function matches(run: RunSummary, { equal, since, until, after }: RunPlan): boolean {
  const fields = Object.entries(equal) as [keyof RunSummary, string][]; // Proof: `equal` has fields of a summary only
  return (
    fields.every(([field, wanted]) => run[field] === wanted) &&
    (since === undefined || run.startedAt >= since) &&
    (until === undefined || run.startedAt <= until) &&
    (after === undefined || comparePlaces(run, after) < 0)
  );
}

/** Older runs first; those of one millisecond by id. */
function comparePlaces(a: RunPlace, b: RunPlace): number {
  if (a.startedAt !== b.startedAt) return a.startedAt < b.startedAt ? -1 : 1;
  if (a.runId === b.runId) return 0;
  return a.runId < b.runId ? -1 : 1;
}

function toTime(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new InputError(`"${name}" is "${text}"; use an ISO-8601 time such as 2026-01-31T12:00:00Z.`);
}

function toPlace(cursor: string | undefined): RunPlace | undefined {
  if (cursor === undefined) return undefined;
  const space = cursor.indexOf(" ");
  const [startedAt, runId] = [cursor.slice(0, space), cursor.slice(space + 1)];
  if (TIME.test(startedAt) && runId !== "") return { startedAt, runId };
  throw new InputError(`"${cursor.slice(0, 80)}" is no cursor of a list of runs; pass one that a page gave.`);
}
