/** What every run store checks before it writes, so that all of them refuse the same. */

import { InputError, RecordError, StoreError } from "./errors.ts";
import type { RedactionLine, SealLine } from "./record-line.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { RunStatus } from "./run-record.ts";
import { nextStatus } from "./run-status.ts";
import { isStoreKey } from "./store.ts";

/** Throws `InputError` `bad_id` for an id that no store takes. */
export function checkRunId(runId: string): void {
  if (isStoreKey(runId) && runId.isWellFormed()) return;
  throw new InputError(
    `Run id ${JSON.stringify(runId)?.slice(0, 80)} must have 1 to 512 characters and no control characters.`,
    { code: "bad_id" },
  );
}

/** True for a status after which nothing follows. */
export function isEnded(status: RunStatus): boolean {
  return status !== "running" && status !== "suspended";
}

/** One append. */
export interface RunBatch {
  readonly runId: string;
  readonly events: readonly AnyRunEvent[];
  readonly expectedSeq: number;
  readonly seal?: SealLine;
  /** See `AppendOptions`. */
  readonly durable?: boolean;
}

/** What a store knows of a run before an append. */
export interface HeldRun {
  /** How many events it has. */
  readonly events: number;
  readonly status: RunStatus;
  /** True where a seal or a redaction stands behind the events. */
  readonly sealed: boolean;
}

/** How the run stands after a batch. Throws what `RunStore.append` throws where the batch does not fit. */
export function statusAfter(batch: RunBatch, held: HeldRun | undefined): RunStatus {
  const count = held?.events ?? 0;
  if (count !== batch.expectedSeq) {
    throw new StoreError(
      `Run "${batch.runId}" holds ${count} events, not ${batch.expectedSeq}: another writer was here.`,
      { code: "store_conflict" },
    );
  }
  let status = held?.status;
  for (const [index, event] of batch.events.entries()) {
    if (event.runId !== batch.runId || event.seq !== count + index) {
      throw new RecordError(
        `Event ${event.seq} of run "${event.runId}" does not follow; event ${count + index} of run "${batch.runId}" does.`,
      );
    }
    if (status !== undefined && isEnded(status)) {
      throw new RecordError(`Run "${batch.runId}" has ended; nothing follows its terminal event.`);
    }
    status = nextStatus(status, event);
  }
  if (status === undefined) throw new RecordError('A run begins with "run.started"; this batch does not.');
  if (batch.seal !== undefined)
    checkSeal(batch, count + batch.events.length, isEnded(status) && !held?.sealed);
  return status;
}

function checkSeal({ runId, seal }: RunBatch, events: number, sealable: boolean): void {
  if (sealable && seal?.runId === runId && seal.events === events) return;
  throw new RecordError(
    `A seal closes the ${events} events of a run that has ended, before any redaction, and once.`,
  );
}

/** Throws what `RunStore.redact` throws for a redaction that was made for another state of the run. */
export function checkRedaction(
  redaction: RedactionLine,
  held: { readonly status: RunStatus; readonly redactions: number },
): void {
  if (!isEnded(held.status)) {
    throw new RecordError(
      `The run is ${held.status}; only what has ended can be redacted, since redactions stand last.`,
    );
  }
  if (redaction.n === held.redactions) return;
  throw new StoreError(`The run has ${held.redactions} redactions; this one says ${redaction.n}.`, {
    code: "store_conflict",
  });
}

/** The error of a redaction for a run that nobody knows. */
export function runNotFound(runId: string): RecordError {
  return new RecordError(`There is no run "${runId}".`, { code: "run_not_found" });
}
