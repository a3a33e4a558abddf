/** Goes on with a suspended run, in this process or another (spec runs.md section 8). */

import type { ApprovalStore } from "./approval-store.ts";
import { RecordError } from "./errors.ts";
import { type RequestSettings, recordedRequest } from "./recorded-options.ts";
import { rebuildHistory } from "./rebuild-history.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { foldRun } from "./run-fold.ts";
import { startLoop } from "./run-loop.ts";
import type { LoopOptions, LoopRun } from "./run-options.ts";
import type { RunRecord } from "./run-record.ts";
import { composeInstructions } from "./run-start.ts";
import { RunTools } from "./run-tools.ts";
import type { RunStore } from "./run-store.ts";
import { ToolRegistry } from "./registry.ts";

/** What a run is resumed with: adapter, tools and instructions as it was started with; its settings are on record. */
export interface ResumeOptions extends Omit<
  LoopOptions,
  | "messages"
  | "known"
  | "runId"
  | "lineage"
  | "parent"
  | "principal"
  | "owner"
  | "kind"
  | "actor"
  | "capture"
  | "model"
  | "verificationPlan"
  | "limits"
  | keyof RequestSettings
> {
  readonly store: RunStore;
  readonly approvals: ApprovalStore;
  /** Goes on although tools or instructions have changed; the record says which. Default false. */
  readonly allowDrift?: boolean;
}

/**
 * Resumes at the calls that waited; finished calls are never run again. While a ticket is open the run stays
 * suspended and nothing is written. Of two that resume at once, one fails with `store_conflict`. Throws `RecordError`:
 * `run_not_found`, `record_invalid` (not suspended, or not captured in full), `resume_mismatch`.
 */
export async function resumeRun(runId: string, options: ResumeOptions): Promise<LoopRun> {
  const { store, approvals, allowDrift = false, ...rest } = options;
  const events: AnyRunEvent[] = [];
  for await (const event of store.read(runId)) events.push(event);
  const [first] = events;
  if (first?.type !== "run.started")
    throw new RecordError(`There is no run "${runId}".`, { code: "run_not_found" });
  const record = foldRun(events);
  if (record.status !== "suspended")
    throw new RecordError(`Run "${runId}" is ${record.status}; only a suspended run can be resumed.`);
  const found = await Promise.all((record.pending ?? []).map(({ callId }) => approvals.find(runId, callId)));
  const tickets = found.filter((ticket) => ticket !== undefined);
  if (tickets.some((ticket) => ticket.state === "pending")) return stillSuspended(record, events);
  const history = rebuildHistory(events);
  const loop: LoopOptions = {
    ...rest,
    store,
    approvals,
    messages: history.messages,
    runId,
    kind: record.kind,
    actor: record.actor,
    principal: record.principal,
    owner: record.owner,
    capture: record.capture,
    lineage: record.lineage,
    limits: record.limits,
    ...recordedRequest(first.data),
  };
  const drift = driftOf(record, loop);
  if (drift.length > 0 && !allowDrift) {
    throw new RecordError(`Run "${runId}" was started with other ${drift.join(" and ")}.`, {
      code: "resume_mismatch",
      hint: "Resume it with what it was started with, or pass `allowDrift`.",
      details: { drift },
    });
  }
  return startLoop(loop, { resumption: { events, record, history, tickets, drift } });
}

/** What is not as it was when the run started. */
function driftOf(record: RunRecord, options: LoopOptions): readonly string[] {
  const tools = new RunTools(options.tools ?? new ToolRegistry());
  const instructions = composeInstructions(options);
  const began = record.instructions?.digest;
  return [
    ...(tools.view.digest() === record.capabilities.digest ? [] : ["tools"]),
    ...((instructions.text === "" && began === undefined) || instructions.digest === began
      ? []
      : ["instructions"]),
    ...(options.adapter.provider === record.model?.provider &&
    options.adapter.model === record.model.requested
      ? []
      : ["model"]),
  ];
}

function stillSuspended(record: RunRecord, events: readonly AnyRunEvent[]): LoopRun {
  const { messages: view, whole } = rebuildHistory(events);
  const { runId, usage, pending = [], stopReason = "approval_required" } = record;
  const result = {
    runId,
    status: "suspended" as const,
    stopReason,
    text: "",
    messages: whole ?? view,
    ...(whole === undefined ? {} : { compacted: view }),
    usage,
    record,
    pending,
  };
  return {
    runId,
    result: Promise.resolve(result),
    abort: () => {},
    steer: () => {},
    [Symbol.asyncIterator]: async function* () {},
  };
}
