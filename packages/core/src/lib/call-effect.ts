/** A call's way through the effect ledger: its key, its intent, and what an earlier call with that key left. */

import type { CallContext } from "./call-context.ts";
import type { CallControl } from "./call-control.ts";
import { isRepeatable } from "./contract.ts";
import { describeThrown } from "./describe-thrown.ts";
import { type Digest, digest } from "./digest.ts";
import {
  type EffectIntent,
  type EffectLedger,
  type EffectStart,
  type ReconcileDecision,
} from "./effect-ledger.ts";
import { type Json, type JsonObject, isPlainObject } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Ports } from "./ports.ts";
import { redactSecrets } from "./redactor.ts";
import type { CallIdempotency } from "./run-event.ts";
import { copyStoreValue } from "./store.ts";
import type { Tool } from "./tool.ts";
import { untilAborted } from "./until-aborted.ts";

/** What a call's key is made of. */
export interface KeyedCall {
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly callId: string;
  readonly context: CallContext;
}

/** The key of one effect. `handed` is what the handler is given for the remote system. */
export interface EffectKey {
  readonly key: Digest;
  readonly handed?: string;
  readonly idempotency?: CallIdempotency;
}

/**
 * Two calls with one key are one effect. The key is the caller's or a parameter's, within the contract's scope; else,
 * for a keyed tool, its arguments; else the call itself, which no other call equals.
 */
export function effectKey({ tool, args, callId, context }: KeyedCall): EffectKey {
  const { mode, keyParam, scope } = tool.contract.idempotency;
  const param = keyParam === undefined ? undefined : args[keyParam];
  const given = typeof param === "string" ? param : context.idempotencyKey;
  const base = { owner: context.owner ?? context.run?.owner ?? "local", tool: tool.name };
  if (given !== undefined) {
    const key = digest("effect/1", { ...base, scope: scopeOf(context, scope) ?? ["owner"], key: given });
    return { key, handed: given, idempotency: { source: "caller", scope } };
  }
  const call = ["call", context.run?.runId ?? null, callId];
  if (mode !== "keyed") return { key: digest("effect/1", { ...base, scope: call, args }) };
  const within = scope === "call" ? call : (scopeOf(context, scope) ?? call);
  const key = digest("effect/1", { ...base, scope: within, args });
  return { key, handed: key, idempotency: { source: "derived", scope } };
}

/** How far a key holds, tagged so that no id of one kind equals one of another. */
function scopeOf(
  { run, scope: of }: CallContext,
  scope: "call" | "run" | "task",
): readonly string[] | undefined {
  if (run === undefined || of?.isDirect === true) return undefined;
  if (scope !== "task") return ["run", run.runId];
  return run.taskId === undefined ? ["run", run.rootRunId] : ["task", run.taskId];
}

/** What a call needs to enter the ledger. */
export interface EffectOrder extends KeyedCall {
  readonly effect: EffectKey;
  /** The id of this attempt. */
  readonly attemptId: string;
  readonly control: CallControl;
  readonly ports: Ports;
  readonly logger: Logger;
}

const GRACE_MS = 60_000;
const LOOK_AGAIN_MS = 50;

/**
 * Writes the intent, or says what the first call with this key came to. Waits for one that is still at work, as long as
 * this call may take (`in_flight` then); asks the tool once what became of one whose outcome nobody knows.
 */
export async function enterLedger(ledger: EffectLedger, order: EffectOrder): Promise<EffectStart> {
  const { control, ports } = order;
  let asked = false;
  for (;;) {
    const start = await ledger.begin(toIntent(order));
    if (start.state === "unknown" && !asked) {
      asked = true;
      const decision = await askTool(order, start.intent);
      if (decision.outcome === "still_unknown") return start;
      // The ledger has the last word: somebody else may have found out something meanwhile.
      await ledger.reconcile(start.intent, decision);
      continue;
    }
    if (start.state !== "in_flight" || control.stop !== undefined) return start;
    await ports.clock.sleep(LOOK_AGAIN_MS);
  }
}

function toIntent({
  tool,
  args,
  callId,
  context,
  effect,
  attemptId,
  control,
  ports,
}: EffectOrder): EffectIntent {
  const startedMs = ports.clock.now();
  const masked = redactSecrets(args) as JsonObject; // Proof: redaction keeps the shape
  return {
    id: attemptId,
    key: effect.key,
    toolName: tool.name,
    toolDigest: tool.digest,
    contractVersion: tool.contract.version,
    callId,
    args: masked,
    repeatable: isRepeatable(tool.contract),
    startedAt: new Date(startedMs).toISOString(),
    deadline: new Date(startedMs + control.timeoutMs + GRACE_MS).toISOString(),
    ...(context.run === undefined ? {} : { runId: context.run.runId }),
    ...(effect.handed === undefined ? {} : { idempotencyKey: effect.handed }),
  };
}

/** What a tool says became of an intent. A tool that cannot tell, throws or answers nonsense leaves it unknown. */
export async function askTool(
  {
    tool,
    control,
    ports,
    logger,
  }: Pick<EffectOrder, "tool" | "ports" | "logger"> & {
    readonly control: { readonly signal: AbortSignal };
  },
  intent: EffectIntent,
): Promise<ReconcileDecision> {
  if (tool.reconcile === undefined) return { outcome: "still_unknown" };
  try {
    const asking = tool.reconcile(intent, { signal: control.signal, ports, logger });
    const answer: unknown = await untilAborted(Promise.resolve(asking), control.signal);
    if (isDecision(answer)) return answer;
    logger.warn(`reconcile of "${tool.name}" gave no decision; the outcome stays unknown.`);
  } catch (cause) {
    logger.warn(`reconcile of "${tool.name}" threw; the outcome stays unknown.`, {
      cause: describeThrown(cause),
    });
  }
  return { outcome: "still_unknown" };
}

function isDecision(value: unknown): value is ReconcileDecision {
  if (!isPlainObject(value)) return false;
  if (value["outcome"] === "succeeded") return isStorable(value["result"]);
  return (
    value["outcome"] === "still_unknown" ||
    (value["outcome"] === "failed" && typeof value["error"] === "string")
  );
}

/** JSON, and small enough for any store. */
function isStorable(value: unknown): boolean {
  try {
    copyStoreValue(value as Json); // Proof: what is no JSON throws
    return true;
  } catch {
    return false;
  }
}
