/** What a run says it produced: made from its record, checked against its calls. */

import type { EffectKind } from "./contract.ts";
import type { Digest } from "./digest.ts";
import { RecordError } from "./errors.ts";
import type { Json } from "./json.ts";
import { brokenRule, requireRule } from "./record-rule.ts";
import type { RunRecord, ToolCallRecord } from "./run-record.ts";
import type { Sealed } from "./sealed.ts";

/** One thing that is said to hold. `coverage` names what a verification has to cover to support it. */
export interface ClaimAssertion {
  readonly key: string;
  readonly text: string;
  readonly coverage: readonly string[];
}

/** Something outside the record that a claim points to. */
export interface ClaimArtifact {
  readonly uri: string;
  readonly digest?: Digest;
  readonly mediaType?: string;
}

/** A change that a call is said to have made. */
export interface StateChange {
  readonly resource: string;
  readonly callId: string;
  readonly before?: Digest;
  readonly after?: Digest;
}

/** What one run says it produced. A claim is said, not shown: see `recordVerification`. */
export interface OutcomeClaim {
  readonly schema: "claim/1";
  readonly claimId: string;
  readonly runId: string;
  readonly taskId?: string;
  /** The name of the run's actor. */
  readonly claimedBy: string;
  /** ISO-8601. */
  readonly claimedAt: string;
  readonly statement: { readonly text: Sealed<string>; readonly mediaType: string };
  readonly structured?: { readonly schemaDigest: Digest; readonly value: Sealed<Json> };
  readonly assertions: readonly ClaimAssertion[];
  readonly artifacts: readonly ClaimArtifact[];
  readonly stateChanges: readonly StateChange[];
  /** Ids of calls whose results support the claim. */
  readonly receipts: readonly string[];
  readonly warnings: readonly string[];
  readonly nextActions: readonly string[];
  readonly state: "asserted" | "superseded" | "withdrawn";
  readonly supersedes?: string;
}

/** What the caller adds to the facts of the run. */
export interface ClaimInput {
  readonly claimId: string;
  /** ISO-8601. */
  readonly claimedAt: string;
  /** Default `text/plain`; `application/json` for a structured answer. */
  readonly mediaType?: string;
  readonly structured?: OutcomeClaim["structured"];
  readonly assertions?: readonly ClaimAssertion[];
  readonly artifacts?: readonly ClaimArtifact[];
  readonly stateChanges?: readonly StateChange[];
  readonly receipts?: readonly string[];
  /** Stand before the warnings that the calls give. */
  readonly warnings?: readonly string[];
  readonly nextActions?: readonly string[];
  /** Records of the runs below this one, whose calls the claim may name and whose failures it must tell. */
  readonly descendants?: readonly RunRecord[];
  /** Claims made before; at most one of a run stays asserted. */
  readonly earlier?: readonly OutcomeClaim[];
  /** The earlier claim that this one replaces; retire it with `retireClaim`. */
  readonly supersedes?: string;
}

/** The claim of a completed run. Pure. Throws `RecordError` naming the invariant (8 to 11) that would be broken. */
export function claimOutcome(run: RunRecord, input: ClaimInput): OutcomeClaim {
  const text = answerOf(run);
  checkEarlier(run, input);
  const tree = [run, ...descendantsOf(run, input.descendants ?? [])];
  const { receipts = [], stateChanges = [], structured, supersedes } = input;
  for (const callId of [...receipts, ...stateChanges.map((change) => change.callId)]) checkCall(tree, callId);
  const isStructured = run.stopReason === "structured_output";
  if (structured !== undefined && !isStructured)
    throw new RecordError("Only a run that stopped with structured_output has a structured value to claim.");
  return {
    schema: "claim/1",
    claimId: input.claimId,
    runId: run.runId,
    ...(run.lineage.taskId === undefined ? {} : { taskId: run.lineage.taskId }),
    claimedBy: run.actor.name,
    claimedAt: input.claimedAt,
    statement: { text, mediaType: input.mediaType ?? (isStructured ? "application/json" : "text/plain") },
    ...(structured === undefined ? {} : { structured }),
    assertions: input.assertions ?? [],
    artifacts: input.artifacts ?? [],
    stateChanges,
    receipts,
    warnings: [...(input.warnings ?? []), ...tree.flatMap(warningsOf)],
    nextActions: input.nextActions ?? [],
    state: "asserted",
    ...(supersedes === undefined ? {} : { supersedes }),
  };
}

/** The claim, no longer asserted. Claims are kept for ever; only an asserted one can be retired. */
export function retireClaim(claim: OutcomeClaim, state: "superseded" | "withdrawn"): OutcomeClaim {
  requireRule(claim.state === "asserted", 9, `Claim "${claim.claimId}" is ${claim.state} already.`);
  return { ...claim, state };
}

/** True for a call that may have changed the world; a tool that the record does not list counts as a write. */
export function isWriteCall(run: RunRecord, call: ToolCallRecord): boolean {
  const kind: EffectKind =
    run.capabilities.tools.find((tool) => tool.name === call.toolName)?.effects ?? "write";
  return kind !== "none" && kind !== "read";
}

function answerOf(run: RunRecord): Sealed<string> {
  const { status, stopReason, output } = run;
  if (status !== "completed" || output === undefined)
    throw brokenRule(
      8,
      `A claim needs a completed run; this one is ${status} (${stopReason ?? "no reason"}).`,
    );
  const isForced = stopReason === "structured_output";
  requireRule(
    isForced || stopReason === "model_response",
    8,
    `A claim needs an answer; this run stopped with ${stopReason}.`,
  );
  // A structured answer may arrive as the arguments of a tool: such a reply is whole, and ends with its call.
  const finish = run.modelCalls.at(-1)?.finishReason;
  const isWhole = finish === "stop" || (isForced && finish === "tool_calls");
  requireRule(isWhole, 8, `A claim needs a whole answer; the last reply ended with ${finish ?? "nothing"}.`);
  requireRule(
    output.value === undefined || output.value.trim() !== "",
    8,
    "A claim needs a text; it is empty.",
  );
  return output;
}

function checkEarlier(run: RunRecord, { earlier = [], supersedes, claimId }: ClaimInput): void {
  const own = earlier.filter((claim) => claim.runId === run.runId);
  requireRule(!own.some((claim) => claim.claimId === claimId), 9, `Claim "${claimId}" exists already.`);
  const replaced = own.find((claim) => claim.claimId === supersedes);
  if (supersedes !== undefined && replaced === undefined)
    throw brokenRule(9, `Claim "${supersedes}" is not among the earlier claims of this run.`);
  const open = own.find((claim) => claim.state === "asserted" && claim !== replaced);
  if (open === undefined) return;
  throw brokenRule(9, `The run asserts claim "${open.claimId}"; supersede or withdraw it first.`);
}

/** Those of `records` that hang below `run`. Throws for one that does not. */
function descendantsOf(run: RunRecord, records: readonly RunRecord[]): readonly RunRecord[] {
  const parents = new Map(records.map(({ runId, lineage }) => [runId, lineage.parentRunId]));
  for (const { runId } of records) {
    let above = parents.get(runId);
    // A record is passed at most once on the way up, so a circle of parents ends too.
    for (let left = records.length; above !== undefined && above !== run.runId && left > 0; left -= 1)
      above = parents.get(above);
    requireRule(above === run.runId, 10, `Run "${runId}" does not descend from run "${run.runId}".`);
  }
  return records;
}

function checkCall(tree: readonly RunRecord[], callId: string): void {
  const calls = tree.flatMap((run) => run.toolCalls).filter((call) => call.callId === callId);
  requireRule(calls.length > 0, 10, `No call "${callId}" is in this run or below it.`);
  const hasRun = calls.some((call) => call.outcome !== "not_started");
  requireRule(hasRun, 10, `Call "${callId}" never started, so it supports nothing.`);
}

function warningsOf(run: RunRecord): readonly string[] {
  return run.toolCalls.flatMap((call) => {
    const name = `Call "${call.callId}" of "${call.toolName}"`;
    if (call.outcome === "unknown")
      return [`${name} has an unknown outcome: it may or may not have happened.`];
    return call.outcome === "failed" && isWriteCall(run, call) ? [`${name} failed.`] : [];
  });
}
