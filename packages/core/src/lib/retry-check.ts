/** Whether a task may be tried again, and where the new attempt stands. */

import { type NormalContract, isReadOnly } from "./contract.ts";
import { RecordError } from "./errors.ts";
import { isWriteCall } from "./outcome-claim.ts";
import { requireRule } from "./record-rule.ts";
import type { Lineage } from "./run-event.ts";
import type { RunRecord, ToolCallRecord } from "./run-record.ts";
import type { ToolView } from "./tool-view.ts";

/** Options of `checkRetry`. */
export interface RetryOptions {
  /**
   * The tools of the attempt: an unknown call of one that may be repeated in another run (mode `natural`, or keyed
   * with scope `task`), unchanged since, is no obstacle. Without them every unknown write is one.
   */
  readonly tools?: ToolView;
  /** Goes on although an effect may happen twice; the reason stays in the lineage of the new run. */
  readonly force?: { readonly reason: string };
}

/**
 * The lineage of the next attempt at the run's task, for `runLoop({ lineage })`. Throws `RecordError` for a run that
 * has not ended and (invariant 20) for one that left an effect unknown that must not happen twice.
 */
export function checkRetry(
  previous: RunRecord,
  options: RetryOptions = {},
): Pick<Lineage, "attempt" | "retryOf" | "taskId" | "threadId" | "correlationId" | "forced"> {
  const { runId, status, lineage } = previous;
  if (previous.endedAt === undefined)
    throw new RecordError(`Run "${runId}" is ${status}; only a run that has ended is tried again.`);
  const unknown = previous.toolCalls.filter((call) => isObstacle(previous, call, options.tools));
  const { force } = options;
  if (force !== undefined && force.reason.trim() === "")
    throw new RecordError('A forced retry needs a "reason".');
  const names = unknown.map((call) => `"${call.toolName}" (${call.callId})`).join(", ");
  requireRule(
    unknown.length === 0 || force !== undefined,
    20,
    `It is unknown whether ${names} took effect, and another attempt could do it twice: find out, reconcile it, or force the retry with a reason.`,
  );
  const { taskId, threadId, correlationId } = lineage;
  return {
    attempt: lineage.attempt + 1,
    retryOf: runId,
    correlationId,
    ...(taskId === undefined ? {} : { taskId }),
    ...(threadId === undefined ? {} : { threadId }),
    ...(force === undefined || unknown.length === 0
      ? {}
      : { forced: { reason: force.reason, callIds: unknown.map(({ callId }) => callId) } }),
  };
}

function isObstacle(run: RunRecord, call: ToolCallRecord, tools: ToolView | undefined): boolean {
  if (call.outcome !== "unknown" || !isWriteCall(run, call)) return false;
  const tool = tools?.get(call.toolName);
  if (tool === undefined || tool.digest !== call.toolDigest) return true;
  return !isRepeatableInRun(tool.contract, run.lineage.taskId !== undefined);
}

/** Keys of scope call and run are new in another run, so only a key of the task's own still holds there. */
function isRepeatableInRun(contract: NormalContract, hasTask: boolean): boolean {
  const { mode, scope, keyParam } = contract.idempotency;
  if (isReadOnly(contract) || mode === "natural") return true;
  return mode === "keyed" && scope === "task" && keyParam === undefined && hasTask;
}
