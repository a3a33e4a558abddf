/** What a record does not prove: the last part of `explainRun`. */

import { isPlainObject } from "./json.ts";
import { type OutcomeClaim, isWriteCall } from "./outcome-claim.ts";
import type { RunAnnex } from "./record-line.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { RunRecord } from "./run-record.ts";
import type { Verification } from "./verification.ts";

interface Known {
  readonly events?: readonly AnyRunEvent[];
  readonly annex?: RunAnnex;
  readonly claim?: OutcomeClaim;
  readonly verifications?: readonly Verification[];
}

/** One sentence per thing that nobody knows, in the order in which somebody should look. */
export function explainDoubts(record: RunRecord, known: Known): readonly string[] {
  return [
    ...openDoubts(record),
    ...outcomeDoubts(record),
    ...claimDoubts(record, known),
    ...historyDoubts(known.events),
    ...priceDoubts(record),
    ...keptDoubts(record, known),
    ...signatureDoubts(record, known.annex),
  ];
}

function openDoubts({ status, head }: RunRecord): readonly string[] {
  if (status !== "running" && status !== "suspended") return [];
  return [`The run is ${status}: all of this is as it stood at ${head}.`];
}

function outcomeDoubts(record: RunRecord): readonly string[] {
  return record.toolCalls.flatMap((call) => {
    const name = `"${call.toolName}" (${call.callId})`;
    const doubts: string[] = [];
    if (call.outcome === "unknown") {
      const look = isWriteCall(record, call) ? "look before anybody does it again" : "it only reads";
      doubts.push(`Whether ${name} happened: it started and its outcome is unknown; ${look}.`);
    }
    if (call.lateSettlement === true)
      doubts.push(`What ${name} did after it was given up: it ended late and its result was ignored.`);
    return doubts;
  });
}

function claimDoubts(record: RunRecord, { claim, verifications = [] }: Known): readonly string[] {
  if (claim === undefined) {
    const isAnswer = record.stopReason === "model_response" || record.stopReason === "structured_output";
    return [
      ...(isAnswer ? ["The answer: it is what the model said, and no claim of it was given here."] : []),
      ...(record.effects.summary === "committed" || record.effects.summary === "partial"
        ? ["The changes: they are what the tools said of themselves."]
        : []),
    ];
  }
  const own = verifications.filter(({ claimId }) => claimId === claim.claimId);
  const live = own.filter(({ attemptId }) => !own.some(({ supersedes }) => supersedes === attemptId));
  const passed = new Set(live.flatMap(({ status, coverage }) => (status === "passed" ? coverage : [])));
  const doubted = new Set(live.flatMap(({ status, coverage }) => (status === "failed" ? coverage : [])));
  const open = claim.assertions.filter(
    ({ coverage }) =>
      coverage.length === 0 || coverage.some((item) => !passed.has(item) || doubted.has(item)),
  );
  return [
    ...open.map(({ key, text }) => `Assertion ${key}: "${text}": no verification supports all of it.`),
    ...live.flatMap(({ status, attemptId, method }) =>
      status === "passed" ? [] : [`The claim: attempt ${attemptId} (${method.kind}) ${status}.`],
    ),
    ...(live.some(({ status }) => status === "passed") ? [] : ["The claim: no verification of it passed."]),
  ];
}

function historyDoubts(events: readonly AnyRunEvent[] | undefined): readonly string[] {
  if (events === undefined) return ["Whether history was repaired or shortened: the events were not given."];
  return events.flatMap((event) => {
    if (event.type === "history.repaired") {
      const kinds = [...new Set(event.data.repairs.map((repair) => repair.kind))].join(", ");
      return [`That the model read the history as it was: ${event.data.repairs.length} repairs (${kinds}).`];
    }
    if (event.type === "history.compacted")
      return [
        `That the model read all: history went from ${event.data.before} to ${event.data.after} messages.`,
      ];
    const drift = event.type === "run.resumed" ? (event.data.drift ?? []) : [];
    return drift.map((item) => `That the run went on as it began: ${item} had changed when it was resumed.`);
  });
}

function priceDoubts({ usage, modelCalls, model }: RunRecord): readonly string[] {
  const unpriced = modelCalls.filter((call) => call.usage.costUsd === undefined).length;
  const other = (model?.reported ?? []).filter((name) => name !== model?.requested);
  return [
    ...(unpriced > 0
      ? [`What it cost: ${unpriced} of ${modelCalls.length} model calls have no known price.`]
      : []),
    ...(usage.estimated === true ? ["The token counts: at least one is estimated."] : []),
    ...(other.length > 0
      ? [`That the model asked for answered: the provider reported ${other.join(", ")}.`]
      : []),
  ];
}

function keptDoubts(record: RunRecord, { events, annex }: Known): readonly string[] {
  const redacted = (annex?.redactions ?? []).map(
    ({ leaf, seq, by, at, reason }) =>
      `What stood at ${leaf} of event ${seq}: ${by} redacted it at ${at} (${reason}).`,
  );
  if (record.capture !== "full")
    return [...redacted, `What was said and returned: the content was not kept (capture ${record.capture}).`];
  // A leaf without a value at capture full was redacted, or could not be sealed.
  const missing = emptyLeaves(events ?? record);
  if (missing <= redacted.length) return redacted;
  return [...redacted, `${missing} recorded values: they were redacted or could not be kept.`];
}

function emptyLeaves(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + emptyLeaves(item), 0);
  if (!isPlainObject(value)) return 0;
  if (typeof value["$sealed"] === "string") return "value" in value ? 0 : 1;
  return Object.values(value).reduce((sum: number, item) => sum + emptyLeaves(item), 0);
}

function signatureDoubts({ sealed, endedAt }: RunRecord, annex: RunAnnex | undefined): readonly string[] {
  if (sealed === false) return ["That nobody changed this record: it is not signed."];
  if (endedAt === undefined) return [];
  if (annex !== undefined && annex.seal === undefined)
    return [`That this record is whole: it was to be signed by ${sealed.keyId} and has no seal.`];
  return [
    `That nobody changed this record: it names key ${sealed.keyId}, and its signature was not checked here.`,
  ];
}
