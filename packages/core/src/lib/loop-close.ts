/** The close phase: the terminal event, on every path. */

import { OpenFunctionsError } from "./errors.ts";
import { quietLogger } from "./logger.ts";
import type { Ending } from "./loop-ending.ts";
import type { RunState } from "./loop-state.ts";
import type { RecordedError, StopReason } from "./run-event.ts";
import type { LoopResult } from "./run-options.ts";

/** How long a cancelled run waits for handlers that are still busy, so that their end can be recorded. */
const GRACE_MS = 2_000;
/** How long the result waits for the store to take the last events. */
const FLUSH_MS = 10_000;

/** Stops what is left, writes the terminal event, flushes the store, and gives the result. */
export async function closeRun(state: RunState, ending: Ending): Promise<LoopResult> {
  if (ending.status === "cancelled") await state.waitForLate(GRACE_MS);
  state.stop();
  emitEnding(state, ending);
  await flushWithin(state, FLUSH_MS);
  const record = state.log.record();
  const { failure: lost } = state.log;
  if (lost !== undefined) return lostRun(state, lost);
  const error =
    ending.status === "failed" ? (ending.error ?? failure(ending.message, ending.stopReason)) : undefined;
  return {
    runId: state.context.runId,
    status: ending.status,
    stopReason: ending.stopReason,
    text: ending.status === "completed" ? ending.text : "",
    ...(ending.status === "limit_reached" && ending.partial !== undefined ? { partial: ending.partial } : {}),
    ...state.history,
    usage: state.usage,
    record,
    ...(error === undefined ? {} : { error }),
    ...(ending.status === "suspended" ? { pending: ending.pending } : {}),
  };
}

/** A run whose end could not be stored has failed, however it ended: nobody will find it. */
function lostRun(state: RunState, error: OpenFunctionsError): LoopResult {
  const { history, usage, log, context } = state;
  const stopReason = "internal_error";
  return {
    runId: context.runId,
    status: "failed",
    stopReason,
    text: "",
    ...history,
    usage,
    record: log.record(),
    error,
  };
}

/** A store that hangs does not keep the caller from the result; what it did not take is reported. */
async function flushWithin(state: RunState, ms: number): Promise<void> {
  const { clock } = state.context.ports;
  let cancel = (): void => {};
  const late = new Promise<"late">((resolve) => {
    cancel = clock.after(ms, () => resolve("late"));
  });
  const end = await Promise.race([state.log.flush(), late]);
  cancel();
  if (end === "late")
    quietLogger(state.options.logger).error(
      "The run's store did not answer; the end of the run may not be stored.",
      {
        runId: state.context.runId,
      },
    );
}

function emitEnding(state: RunState, ending: Ending): void {
  const { log } = state;
  const { stopReason } = ending;
  switch (ending.status) {
    case "completed":
      return log.emit("run.completed", { stopReason, output: log.seal(ending.text) });
    case "limit_reached":
      return log.emit("run.limit_reached", {
        stopReason,
        ...(ending.partial === undefined ? {} : { partial: log.seal(ending.partial) }),
      });
    case "failed":
      return log.emit("run.failed", { stopReason, error: recordError(state, ending) });
    case "suspended":
      return log.emit("run.suspended", { stopReason, pending: ending.pending });
    case "cancelled":
      return log.emit("run.cancelled", { stopReason, reason: log.seal(ending.reason) });
  }
}

function recordError(state: RunState, ending: Extract<Ending, { status: "failed" }>): RecordedError {
  const { error } = ending;
  return {
    code: error?.code ?? ending.stopReason,
    message: state.log.seal(ending.message),
    retryable: error?.retryable ?? false,
  };
}

function failure(message: string, stopReason: StopReason): OpenFunctionsError {
  return new OpenFunctionsError(message, {
    code: stopReason === "context_overflow" ? "context_overflow" : "provider_failed",
  });
}
