/** Reads back what a call changed, with the tool that its contract names, and records what was found. */

import type { CallContext } from "./call-context.ts";
import { isReadOnly } from "./contract.ts";
import { digest } from "./digest.ts";
import { RecordError } from "./errors.ts";
import { type Json, type JsonObject, canonicalJson, isPlainObject } from "./json.ts";
import type { OutcomeClaim } from "./outcome-claim.ts";
import { type Ports, createPorts } from "./ports.ts";
import type { CallResult } from "./result.ts";
import type { RunRecord, ToolCallRecord } from "./run-record.ts";
import type { Tool } from "./tool.ts";
import type { ToolView } from "./tool-view.ts";
import { type Verification, recordVerification } from "./verification.ts";

/** Options of `verifyReadback`. */
export interface ReadbackOptions {
  /** The call whose effect is read back: a receipt or state change of the claim. */
  readonly callId: string;
  /** The records of the claim's tree of runs; capture `full`, since the arguments come from the call's result. */
  readonly runs: readonly RunRecord[];
  /** True where what was read (second) shows what the call said (first). Default: the fields that both have are equal. */
  readonly matches?: (result: Json, found: Json) => boolean;
  /** What the attempt covers. Default: the `verification.coverage` of the call's contract. */
  readonly coverage?: readonly string[];
  /** Principal, grants and signal of the call that reads; a `run` in it needs its record in `runs`. */
  readonly context?: CallContext;
  /** Default: real ports. */
  readonly ports?: Pick<Ports, "clock" | "ids">;
}

/**
 * Runs the contract's read-back tool through `registry.execute`. The attempt passed where the state shows what the
 * call said, failed where it shows otherwise or the tool answers with code `not_found`, is inconclusive where nothing
 * can be compared, and errored where the tool could not read. Throws `RecordError` where there is nothing to run.
 */
export async function verifyReadback(
  registry: ToolView,
  claim: OutcomeClaim,
  options: ReadbackOptions,
): Promise<Verification> {
  const { clock, ids } = options.ports ?? createPorts();
  const call = claimedCall(claim, options);
  const said = resultOf(call);
  const { writer, reader, args } = planOf(registry, call, said);
  const startedAt = new Date(clock.now()).toISOString();
  const answer = await registry.execute(reader.name, args, options.context);
  const { status, summary } = judge(said, answer, options.matches ?? sharedFieldsEqual);
  const runId = options.context?.run?.runId;
  return recordVerification(
    claim,
    {
      attemptId: ids(),
      method: { kind: "state_readback", params: { callId: call.callId, tool: reader.name } },
      verifier: { id: reader.name, kind: "tool", ...(runId === undefined ? {} : { runId }) },
      status,
      coverage: options.coverage ?? writer.contract.verification?.coverage ?? [],
      evidence: [{ summary, ...(answer.success ? { digest: digest("state/1", answer.data) } : {}) }],
      startedAt,
      performedAt: new Date(Math.max(clock.now(), Date.parse(startedAt))).toISOString(),
    },
    options.runs,
  );
}

function claimedCall(claim: OutcomeClaim, { callId, runs }: ReadbackOptions): ToolCallRecord {
  const named = [...claim.receipts, ...claim.stateChanges.map((change) => change.callId)];
  if (!named.includes(callId))
    throw new RecordError(
      `Claim "${claim.claimId}" rests on no call "${callId}". It names: ${named.join(", ")}.`,
    );
  const call = runs.flatMap((run) => run.toolCalls).find((one) => one.callId === callId);
  if (call === undefined) throw new RecordError(`No record among those given holds call "${callId}".`);
  return call;
}

function resultOf(call: ToolCallRecord): Json {
  const result = call.result?.value;
  if (isPlainObject(result) && result["success"] === true && result["data"] !== undefined)
    return result["data"] as Json; // Proof: a sealed result is JSON
  const why =
    result === undefined ? 'its result was not kept; record with capture "full"' : "it did not succeed";
  throw new RecordError(`The effect of call "${call.callId}" cannot be read back: ${why}.`);
}

function planOf(
  registry: ToolView,
  call: ToolCallRecord,
  said: Json,
): { readonly writer: Tool; readonly reader: Tool; readonly args: JsonObject } {
  const writer = registry.get(call.toolName);
  const readback = writer?.contract.verification?.readback;
  if (writer === undefined || readback === undefined)
    throw new RecordError(`No contract says how "${call.toolName}" is read back (verification.readback).`);
  const reader = registry.get(readback.tool);
  if (reader === undefined || !isReadOnly(reader.contract))
    throw new RecordError(
      `"${readback.tool}" is not a registered tool of kind none or read, so it cannot check.`,
    );
  const args = Object.entries(readback.argsFromResult).map(([name, path]) => {
    const value = valueAt(said, path);
    if (value === undefined)
      throw new RecordError(`The result of call "${call.callId}" has nothing at "${path}" for "${name}".`);
    return [name, value] as const;
  });
  return { writer, reader, args: Object.fromEntries(args) };
}

/** The value at a dotted path, such as `task.id` or `tasks.0.id`. */
function valueAt(value: Json, path: string): Json | undefined {
  let at: unknown = value;
  for (const key of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Reflect.get(at, key);
  }
  return at as Json; // Proof: a part of JSON is JSON
}

function judge(
  said: Json,
  answer: CallResult,
  matches: (result: Json, found: Json) => boolean | undefined,
): { readonly status: Verification["status"]; readonly summary: string } {
  if (!answer.success) {
    const isGone = answer.code === "not_found";
    return {
      status: isGone ? "failed" : "errored",
      summary: `the read-back ended with ${answer.code ?? "an error"}`,
    };
  }
  const isEqual = matches(said, answer.data);
  if (isEqual === undefined)
    return { status: "inconclusive", summary: "the result and what was read have no field in common" };
  return isEqual
    ? { status: "passed", summary: "what was read shows what the call said" }
    : { status: "failed", summary: "what was read differs from what the call said" };
}

/** Undefined where the two have nothing to compare. */
function sharedFieldsEqual(said: Json, found: Json): boolean | undefined {
  if (!isPlainObject(said) || !isPlainObject(found))
    return typeof said === typeof found ? canonicalJson(said) === canonicalJson(found) : undefined;
  const shared = Object.keys(said).filter((key) => Object.hasOwn(found, key));
  if (shared.length === 0) return undefined;
  return shared.every((key) => canonicalJson(said[key]) === canonicalJson(found[key]));
}
