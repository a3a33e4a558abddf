/** A run as plain text, for somebody who has to know quickly what happened and what nobody knows. */

import type { Usage } from "./adapter.ts";
import { explainDoubts } from "./explain-doubts.ts";
import { textOf } from "./message.ts";
import { type OutcomeClaim, isWriteCall } from "./outcome-claim.ts";
import type { RunAnnex } from "./record-line.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { ModelCallRecord, RunRecord, ToolCallRecord } from "./run-record.ts";
import { safeLine } from "./safe-line.ts";
import type { Sealed } from "./sealed.ts";
import { shortJson, shortText } from "./short-json.ts";
import type { Verification } from "./verification.ts";

/** What else is known of the run. The record alone leaves out what was asked, repairs and failed model calls. */
export interface ExplainOptions {
  readonly events?: readonly AnyRunEvent[];
  /** Seal and redactions, from `RunStore.annex`. */
  readonly annex?: RunAnnex;
  readonly claim?: OutcomeClaim;
  /** Attempts at verifying the claim. */
  readonly verifications?: readonly Verification[];
}

/**
 * Explains a run: what was asked, every model and tool call, effects, limits, cost, why it stopped, the claim, and a
 * last part "Not proven". Pure. Each line has at most 240 characters and holds no control characters; an unknown
 * outcome is never told as done.
 */
export function explainRun(record: RunRecord, options: ExplainOptions = {}): string {
  const { events = [], claim } = options;
  const lines = [
    ...opening(record, events),
    ...section("Model calls", record.modelCalls.map(modelLine), modelTrouble(events)),
    ...section("Tool calls", record.toolCalls.map(toolLine)),
    ...(record.children.length === 0
      ? []
      : section(
          "Runs below",
          record.children.map(({ runId, actor, status }) => `${runId} "${actor}": ${status}`),
        )),
    ...section("Changed in the world", effectLines(record)),
    ...section("Limits", limitLines(record)),
    ...section("Cost", [costLine(record)]),
    ...section("Why it stopped", stopLines(record)),
    ...(claim === undefined ? [] : section("Claim", claimLines(claim))),
    ...section("Not proven", explainDoubts(record, options)),
  ];
  return `${lines.map((line) => safeLine(line)).join("\n")}\n`;
}

function section(title: string, entries: readonly string[], more: readonly string[] = []): readonly string[] {
  const all = [...entries, ...more];
  return [`${title}:`, ...(all.length === 0 ? ["none"] : all).map((entry) => `  ${entry}`)];
}

function opening(record: RunRecord, events: readonly AnyRunEvent[]): readonly string[] {
  const { actor, kind, lineage, principal, owner } = record;
  const version = actor.version === undefined ? "" : ` ${actor.version}`;
  const attempt =
    lineage.attempt === 1 ? "" : `, attempt ${lineage.attempt} after run ${lineage.retryOf ?? "?"}`;
  const fork = lineage.forkOf === undefined ? "" : `, forked from run ${lineage.forkOf.runId}`;
  return [
    `Run ${record.runId}: ${kind} "${actor.name}"${version}${attempt}${fork}`,
    `Status: ${record.status}${record.stopReason === undefined ? "" : ` (${record.stopReason})`}, ${timeLine(record)}`,
    `Asked by: ${principal.kind} "${principal.id}" (${principal.via}), for owner "${owner}"`,
    `Asked: ${questionOf(events)}`,
    modelName(record),
  ];
}

function timeLine({ startedAt, endedAt }: RunRecord): string {
  if (endedAt === undefined) return `since ${startedAt}, not ended`;
  return `${startedAt}, took ${seconds(Date.parse(endedAt) - Date.parse(startedAt))}`;
}

function questionOf(events: readonly AnyRunEvent[]): string {
  if (events.length === 0) return "not in the record (give the events)";
  const asked = events.flatMap((event) =>
    event.type === "message.appended" && event.data.role === "user" ? [event.data.message] : [],
  );
  const last = asked.at(-1);
  if (last === undefined) return "nothing was recorded";
  const more = asked.length > 1 ? ` (the last of ${asked.length} messages)` : "";
  return last.value === undefined ? `the text was not kept${more}` : `"${textOf(last.value)}"${more}`;
}

function modelName({ model }: RunRecord): string {
  if (model === undefined) return "Model: none";
  const reported = model.reported.length === 0 ? "reported none" : `reported ${model.reported.join(", ")}`;
  return `Model: asked for ${model.provider}/${model.requested} (${model.resolvedBy}), ${reported}`;
}

function modelLine(call: ModelCallRecord, index: number): string {
  const retries = call.retries === 0 ? "no retries" : `${call.retries} retries`;
  const first = call.firstEventMs === undefined ? "" : ` (first event ${call.firstEventMs} ms)`;
  return `${index + 1}. ${tokens(call.usage)}, ${cost(call.usage)}, ${call.latencyMs} ms${first}, ${retries}, ended with ${call.finishReason}`;
}

function modelTrouble(events: readonly AnyRunEvent[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === "model.failed")
      return [`failed: ${event.data.error.code}, ${leafText(event.data.error.message)}`];
    return event.type === "model.fallback" ? [`fell back from ${event.data.from} to ${event.data.to}`] : [];
  });
}

function toolLine(call: ToolCallRecord, index: number): string {
  const origin = call.argsOrigin === "model" || call.argsOrigin === "program" ? "" : ` (${call.argsOrigin})`;
  const { authority } = call;
  const grant = authority?.grantRef ?? authority?.ticketId;
  const allowed =
    authority === undefined
      ? "authority not decided"
      : `authority ${authority.level}: ${authority.decision}${grant === undefined ? "" : ` by ${grant}`}`;
  return `${index + 1}. ${shortText(call.toolName, 64)} ${argsText(call)}${origin}; ${allowed}; ${outcomeText(call)}`;
}

function argsText({ args }: ToolCallRecord): string {
  return args.value === undefined ? "(arguments not kept)" : shortJson(args.value, 80);
}

function outcomeText(call: ToolCallRecord): string {
  const code = call.code === undefined ? "" : ` (${call.code})`;
  const time = call.durationMs === undefined ? "" : ` after ${call.durationMs} ms`;
  if (call.idempotency?.replayOf !== undefined)
    return `answered from call ${call.idempotency.replayOf}, not run again: ${call.outcome}${code}`;
  const later = call.reconciled === true ? ", found out later" : "";
  switch (call.outcome) {
    case "not_started":
      return call.endedAt === undefined ? "NOT STARTED YET" : `did not run${code}`;
    case "unknown":
      return `OUTCOME UNKNOWN${code}${time}${later}`;
    default:
      return `${call.outcome}${code}${time}${later}`;
  }
}

function effectLines(record: RunRecord): readonly string[] {
  const { summary, certainty } = record.effects;
  const writes = record.toolCalls.filter(
    (call) => (call.startedAt !== undefined || call.outcome === "succeeded") && isWriteCall(record, call),
  );
  return [
    certainty === "known" ? `${summary}, as far as the tools say` : "UNKNOWN in part: see Not proven",
    ...writes.map((call) => `${shortText(call.toolName, 64)} (${call.callId}): ${effectText(call)}`),
  ];
}

function effectText(call: ToolCallRecord): string {
  if (call.outcome === "unknown") return "may or may not have happened";
  if (call.outcome !== "succeeded") return `${call.outcome}, as the tool says`;
  return call.idempotency?.replayOf === undefined ? "done, as the tool says" : "done by an earlier call";
}

function limitLines(record: RunRecord): readonly string[] {
  const { limits, usage } = record;
  const end = record.endedAt ?? record.startedAt;
  const ranMs = Date.parse(end) - Date.parse(record.startedAt);
  const spentIn = usage.input + usage.cacheRead + usage.cacheWrite;
  const rows: readonly (readonly [string, string | number, string | number | undefined])[] = [
    ["model calls", record.rounds, limits.maxRounds],
    ["tool calls", record.toolCalls.length, limits.maxToolCalls],
    ["time", record.endedAt === undefined ? "?" : seconds(ranMs), seconds(limits.wallMs)],
    ["input tokens", spentIn, limits.maxInputTokens],
    ["output tokens", usage.output + usage.reasoning, limits.maxOutputTokens],
    ["cost", cost(usage), limits.maxCostUsd === undefined ? undefined : `$${limits.maxCostUsd}`],
  ];
  return rows.flatMap(([name, used, limit]) => (limit === undefined ? [] : [`${name}: ${used} of ${limit}`]));
}

function costLine({ usage }: RunRecord): string {
  return `${cost(usage)} for ${tokens(usage)}${usage.estimated === true ? " (estimated)" : ""}`;
}

function stopLines(record: RunRecord): readonly string[] {
  const { stopReason, error, cancellation, pending = [] } = record;
  if (stopReason === undefined) return ["it has not: no end is recorded"];
  return [
    stopReason,
    ...(error === undefined
      ? []
      : [`${error.code}: ${leafText(error.message)}${error.retryable ? " (a retry may work)" : ""}`]),
    ...(cancellation === undefined
      ? []
      : [`cancelled at ${cancellation.requestedAt}: ${leafText(cancellation.reason)}`]),
    ...pending.map(({ callId, ticketId }) => `waits for ticket ${ticketId} of call ${callId}`),
  ];
}

function claimLines(claim: OutcomeClaim): readonly string[] {
  return [
    `${claim.state} by "${claim.claimedBy}" at ${claim.claimedAt}: ${leafText(claim.statement.text)}`,
    ...claim.assertions.map(({ key, text }) => `asserts ${key}: ${text}`),
    ...claim.warnings.map((warning) => `warning: ${warning}`),
    ...claim.nextActions.map((action) => `next: ${action}`),
  ];
}

function leafText(leaf: Sealed<string>): string {
  return leaf.value === undefined ? "(text not kept)" : `"${leaf.value}"`;
}

function tokens(usage: Usage): string {
  const cached = usage.cacheRead + usage.cacheWrite;
  return `${usage.input + cached} tokens in${cached > 0 ? ` (${cached} of them cache)` : ""}, ${usage.output + usage.reasoning} out`;
}

function cost({ costUsd }: Usage): string {
  return costUsd === undefined ? "price unknown" : `$${Number(costUsd.toFixed(6))}`;
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`;
}
