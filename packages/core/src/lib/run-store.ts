/** Where runs live: an append-only log per run. */

import type { Json } from "./json.ts";
import { RecordError, StoreError } from "./errors.ts";
import type { RunKind } from "./run-event.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { RedactionLine, RunAnnex, SealLine } from "./record-line.ts";
import { redactEvent } from "./redact-event.ts";
import { RunFold } from "./run-fold.ts";
import type { RunRecord, RunStatus } from "./run-record.ts";

/** Which runs to list. Times are ISO-8601. */
export interface RunQuery {
  readonly status?: RunStatus;
  readonly kind?: RunKind;
  readonly actor?: string;
  readonly threadId?: string;
  readonly taskId?: string;
  readonly correlationId?: string;
  readonly since?: string;
  readonly until?: string;
  /** Default 50. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** A page of records, newest first. */
export interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly cursor?: string;
}

/** Append-only storage of run logs; one writer per run. */
export interface RunStore {
  /**
   * Appends atomically, the seal of a finished log with its last events. Throws `StoreError` `store_conflict` unless
   * the run holds exactly `expectedSeq` events.
   */
  append(
    runId: string,
    events: readonly AnyRunEvent[],
    options: { readonly expectedSeq: number; readonly seal?: SealLine },
  ): Promise<void>;
  /** The events from `fromSeq` (default 0); nothing for an unknown run. */
  read(runId: string, fromSeq?: number): AsyncIterable<AnyRunEvent>;
  /** The seal and the redactions of a run. */
  annex(runId: string): Promise<RunAnnex>;
  /**
   * Keeps a redaction and removes `value` and `salt` of the leaf it names, in one step. Throws `store_conflict`
   * unless `n` is the number of redactions so far, and `RecordError` where there is no such leaf.
   */
  redact(runId: string, redaction: RedactionLine): Promise<void>;
  /** The record as it stands, or undefined for an unknown run. */
  get(runId: string): Promise<RunRecord | undefined>;
  list(query?: RunQuery): Promise<RunPage>;
  /** The events from `fromSeq` and all that follow, until the run ends or the signal fires. */
  watch(runId: string, fromSeq: number, signal?: AbortSignal): AsyncIterable<AnyRunEvent>;
  /** Removes a whole run. False for an unknown one. */
  remove(runId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** One run's events; they are folded when somebody asks. */
class StoredRun {
  readonly events: AnyRunEvent[] = [];
  readonly waiting = new Set<() => void>();
  readonly redactions: RedactionLine[] = [];
  seal: SealLine | undefined;
  #fold: RunFold | undefined;
  #folded = 0;

  get fold(): RunFold {
    this.#fold ??= new RunFold();
    for (const event of this.events.slice(this.#folded)) this.#fold.apply(event);
    this.#folded = this.events.length;
    return this.#fold;
  }

  redact(redaction: RedactionLine): void {
    if (redaction.n !== this.redactions.length) {
      throw new StoreError(
        `The run has ${this.redactions.length} redactions; this one says ${redaction.n}.`,
        {
          code: "store_conflict",
        },
      );
    }
    this.events[redaction.seq] = redactEvent(this.events[redaction.seq], redaction);
    this.redactions.push(redaction);
    this.#fold = undefined;
    this.#folded = 0;
  }
}

/** A run store in memory, for tests and for runs that need no afterlife. */
export function createMemoryRunStore(): RunStore {
  const runs = new Map<string, StoredRun>();
  return {
    append: async (runId, events, { expectedSeq, seal }) =>
      appendTo(runs, runId, { events, expectedSeq, seal }),
    read: (runId, fromSeq = 0) => readFrom(runs.get(runId)?.events.slice(fromSeq) ?? []),
    annex: async (runId) => {
      const { seal, redactions = [] } = runs.get(runId) ?? {};
      return { redactions: [...redactions], ...(seal === undefined ? {} : { seal }) };
    },
    redact: async (runId, redaction) => {
      const run = runs.get(runId);
      if (run === undefined) throw new RecordError(`There is no run "${runId}".`, { code: "run_not_found" });
      run.redact(redaction);
    },
    get: async (runId) => runs.get(runId)?.fold.record(),
    list: async (query = {}) =>
      listRuns(
        [...runs.values()].map((run) => run.fold.record()),
        query,
      ),
    watch: (runId, fromSeq, signal) =>
      watchRun(runs, { runId, fromSeq, signal: signal ?? new AbortController().signal }),
    remove: async (runId) => runs.delete(runId),
    close: async () => {},
  };
}

function appendTo(
  runs: Map<string, StoredRun>,
  runId: string,
  batch: {
    readonly events: readonly AnyRunEvent[];
    readonly expectedSeq: number;
    readonly seal: SealLine | undefined;
  },
): void {
  const run = runs.get(runId) ?? new StoredRun();
  if (run.events.length !== batch.expectedSeq) {
    throw new StoreError(
      `Run "${runId}" holds ${run.events.length} events, not ${batch.expectedSeq}: another writer was here.`,
      {
        code: "store_conflict",
      },
    );
  }
  run.events.push(...batch.events);
  run.seal ??= batch.seal;
  runs.set(runId, run);
  for (const wake of run.waiting) wake();
}

async function* readFrom(events: readonly AnyRunEvent[]): AsyncGenerator<AnyRunEvent> {
  yield* events;
}

async function* watchRun(
  runs: Map<string, StoredRun>,
  from: { readonly runId: string; readonly fromSeq: number; readonly signal: AbortSignal },
): AsyncGenerator<AnyRunEvent> {
  let next = from.fromSeq;
  while (!from.signal.aborted) {
    const run = runs.get(from.runId);
    if (run === undefined) return;
    while (next < run.events.length) {
      const event = run.events[next];
      next += 1;
      if (event !== undefined) yield event;
    }
    if (run.fold.ended) return;
    await nextAppend(run, from.signal);
  }
}

function nextAppend(run: StoredRun, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      run.waiting.delete(wake);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    run.waiting.add(wake);
    signal.addEventListener("abort", wake, { once: true });
  });
}

const LIST_LIMIT = 50;

/** Filters, orders (newest first) and pages records. */
function listRuns(records: readonly RunRecord[], query: RunQuery): RunPage {
  const wanted = records.filter((record) => matches(record, query)).sort(newestFirst);
  const start =
    query.cursor === undefined ? 0 : wanted.findIndex((record) => sortKey(record) < (query.cursor ?? ""));
  const from = start === -1 ? wanted.length : start;
  const limit = query.limit ?? LIST_LIMIT;
  const runs = wanted.slice(from, from + limit);
  const last = runs.at(-1);
  const more = from + limit < wanted.length && last !== undefined;
  return more ? { runs, cursor: sortKey(last) } : { runs };
}

function sortKey(record: RunRecord): string {
  return `${record.startedAt} ${record.runId}`;
}

function newestFirst(left: RunRecord, right: RunRecord): number {
  const [a, b] = [sortKey(left), sortKey(right)];
  if (a === b) return 0;
  return a < b ? 1 : -1;
}

function matches(record: RunRecord, query: RunQuery): boolean {
  const { lineage } = record;
  const pairs: readonly (readonly [Json | undefined, Json | undefined])[] = [
    [query.status, record.status],
    [query.kind, record.kind],
    [query.actor, record.actor.name],
    [query.threadId, lineage.threadId],
    [query.taskId, lineage.taskId],
    [query.correlationId, lineage.correlationId],
  ];
  if (pairs.some(([wanted, got]) => wanted !== undefined && wanted !== got)) return false;
  if (query.since !== undefined && record.startedAt < query.since) return false;
  return query.until === undefined || record.startedAt <= query.until;
}
