/** Where runs live: an append-only log per run. */

import { RecordError } from "./errors.ts";
import type { RedactionLine, RunAnnex, SealLine } from "./record-line.ts";
import { redactEvent } from "./redact-event.ts";
import { type RunBatch, checkRedaction, checkRunId, runNotFound, statusAfter } from "./run-append.ts";
import type { AnyRunEvent, RunEvent } from "./run-event.ts";
import { RunFold } from "./run-fold.ts";
import { type RunPage, type RunQuery, pageOfRuns, planRunQuery, summarizeRun } from "./run-query.ts";
import type { RunRecord, RunStatus } from "./run-record.ts";
import { RunBells, watchRun } from "./run-watch.ts";
import { storeClosed } from "./store.ts";

export type { RunPage, RunQuery } from "./run-query.ts";

/** How a batch is appended. */
export interface AppendOptions {
  readonly expectedSeq: number;
  readonly seal?: SealLine;
  /**
   * False where surviving the end of the process is enough; a store may then leave the disk for the next append that
   * is durable. Default true: what resolved has survived whatever the store says it survives.
   */
  readonly durable?: boolean;
}

/**
 * Append-only storage of run logs; one writer per run. Run ids are 1 to 512 characters without control characters,
 * else `InputError` `bad_id`. Every call after `close` is `StoreError` `store_closed`.
 */
export interface RunStore {
  /**
   * Appends atomically, the seal of a finished log with its last events. Throws `StoreError` `store_conflict` unless
   * the run holds exactly `expectedSeq` events, and `RecordError` where the batch does not continue the log: it skips a
   * number, belongs to another run, follows the terminal event or seals what has not ended.
   */
  append(runId: string, events: readonly AnyRunEvent[], options: AppendOptions): Promise<void>;
  /** The events from `fromSeq` (default 0); nothing for an unknown run. */
  read(runId: string, fromSeq?: number): AsyncIterable<AnyRunEvent>;
  /** The seal and the redactions of a run. */
  annex(runId: string): Promise<RunAnnex>;
  /**
   * Keeps a redaction and removes `value` and `salt` of the leaf it names, in one step. Throws `store_conflict`
   * unless `n` is the number of redactions so far, and `RecordError` where there is no such leaf or the run has not
   * ended: redactions stand behind all events and the seal.
   */
  redact(runId: string, redaction: RedactionLine): Promise<void>;
  /** The record as it stands, or undefined for an unknown run. */
  get(runId: string): Promise<RunRecord | undefined>;
  /** Newest first. Throws `InputError` for a query that cannot be answered. */
  list(query?: RunQuery): Promise<RunPage>;
  /** The events from `fromSeq` and all that follow, until the run ends, is removed, or the signal fires. */
  watch(runId: string, fromSeq: number, signal?: AbortSignal): AsyncIterable<AnyRunEvent>;
  /** Removes a whole run. False for an unknown one. */
  remove(runId: string): Promise<boolean>;
  close(): Promise<void>;
}

/** A run store in memory, for tests and for runs that need no afterlife. */
export function createMemoryRunStore(): RunStore {
  return new MemoryRunStore();
}

/** One run's events; they are folded when somebody asks. */
class StoredRun {
  readonly first: RunEvent<"run.started">;
  readonly events: AnyRunEvent[] = [];
  readonly redactions: RedactionLine[] = [];
  status: RunStatus = "running";
  seal: SealLine | undefined;
  #fold: RunFold | undefined;
  #folded = 0;

  constructor(first: RunEvent<"run.started">) {
    this.first = first;
  }

  record(): RunRecord {
    const fold = (this.#fold ??= new RunFold());
    for (const event of this.events.slice(this.#folded)) fold.apply(event);
    this.#folded = this.events.length;
    return fold.record();
  }

  redact(redaction: RedactionLine): void {
    checkRedaction(redaction, { status: this.status, redactions: this.redactions.length });
    this.events[redaction.seq] = redactEvent(this.events[redaction.seq], redaction);
    this.redactions.push(redaction);
    this.#fold = undefined;
    this.#folded = 0;
  }
}

class MemoryRunStore implements RunStore {
  readonly #runs = new Map<string, StoredRun>();
  readonly #bells = new RunBells();
  #closed = false;

  async append(
    runId: string,
    events: readonly AnyRunEvent[],
    { expectedSeq, seal }: AppendOptions,
  ): Promise<void> {
    const held = this.#find(runId);
    const batch: RunBatch = { runId, events, expectedSeq, ...(seal === undefined ? {} : { seal }) };
    const status = statusAfter(
      batch,
      held && {
        events: held.events.length,
        status: held.status,
        sealed: held.seal !== undefined || held.redactions.length > 0,
      },
    );
    const run = held ?? startRun(events[0]);
    run.events.push(...events);
    run.status = status;
    run.seal ??= seal;
    this.#runs.set(runId, run);
    this.#bells.ring(runId);
  }

  async *read(runId: string, fromSeq: number = 0): AsyncGenerator<AnyRunEvent> {
    yield* this.#find(runId)?.events.slice(fromSeq) ?? [];
  }

  async annex(runId: string): Promise<RunAnnex> {
    const { seal, redactions = [] } = this.#find(runId) ?? {};
    return { redactions: [...redactions], ...(seal === undefined ? {} : { seal }) };
  }

  async redact(runId: string, redaction: RedactionLine): Promise<void> {
    const run = this.#find(runId);
    if (run === undefined) throw runNotFound(runId);
    run.redact(redaction);
  }

  async get(runId: string): Promise<RunRecord | undefined> {
    return this.#find(runId)?.record();
  }

  async list(query?: RunQuery): Promise<RunPage> {
    const plan = planRunQuery(query);
    const all = [...this.#open().values()];
    const { runs, ...rest } = pageOfRuns(
      all.map((run) => ({ ...summarizeRun(run.first, run.status), run })),
      plan,
    );
    return { runs: runs.map(({ run }) => run.record()), ...rest };
  }

  watch(runId: string, fromSeq: number, signal?: AbortSignal): AsyncIterable<AnyRunEvent> {
    const source = {
      bells: this.#bells,
      read: (id: string, from: number) => this.read(id, from),
      status: async (id: string) => this.#find(id)?.status,
    };
    return watchRun(source, { runId, fromSeq, signal });
  }

  async remove(runId: string): Promise<boolean> {
    const found = this.#find(runId) !== undefined;
    this.#runs.delete(runId);
    this.#bells.ring(runId);
    return found;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#bells.ring();
  }

  #find(runId: string): StoredRun | undefined {
    checkRunId(runId);
    return this.#open().get(runId);
  }

  #open(): Map<string, StoredRun> {
    if (this.#closed) throw storeClosed();
    return this.#runs;
  }
}

function startRun(first: AnyRunEvent | undefined): StoredRun {
  if (first?.type !== "run.started")
    throw new RecordError('A run begins with "run.started"; this batch does not.');
  return new StoredRun(first);
}
