/** Generated runs for property tests: plans of replies, calls, limits and aborts that go through the real loop. */

import fastCheck from "fast-check";
import type { Usage } from "../adapter.ts";
import type { CapabilityContract } from "../contract.ts";
import { ProviderError } from "../errors.ts";
import { toolCallsOf } from "../message.ts";
import { ToolRegistry } from "../registry.ts";
import { err, ok } from "../result.ts";
import type { RunLimits } from "../run-limits.ts";
import { type AnyRunEvent, isChainEvent } from "../run-event.ts";
import { runLoop } from "../run-loop.ts";
import type { LoopResult } from "../run-options.ts";
import type { Capture } from "../sealed.ts";
import { type ScriptStep, scriptedAdapter } from "../testing/scripted-adapter.ts";

/** Stands in everything a person, model or tool writes, so that a test can look for it. */
export const CANARY = "canary-7f3a";

const KINDS = {
  look: { effects: { kind: "read" }, idempotency: { mode: "natural" }, authority: { level: "none" } },
  count: { effects: { kind: "none" }, idempotency: { mode: "natural" }, authority: { level: "session" } },
  send: { effects: { kind: "write" }, idempotency: { mode: "none" }, authority: { level: "session" } },
  put: { effects: { kind: "write" }, idempotency: { mode: "natural" }, authority: { level: "session" } },
  pay: { effects: { kind: "write" }, idempotency: { mode: "keyed" }, authority: { level: "grant", scopes: ["pay"] } },
  wipe: { effects: { kind: "destructive" }, idempotency: { mode: "none" }, authority: { level: "grant", scopes: ["wipe"] } },
  ask: { effects: { kind: "write" }, idempotency: { mode: "none" }, authority: { level: "human" } },
} as const satisfies Record<string, Omit<CapabilityContract, "version">>;

const BEHAVIOURS = ["ok", "fails", "throws", "says_unknown", "no_result", "aborts"] as const;

/** One call of a plan. */
export interface PlannedCall {
  readonly tool: keyof typeof KINDS | "missing";
  readonly behaviour: (typeof BEHAVIOURS)[number];
  readonly badArguments: boolean;
}

/** One reply of a plan. */
export type PlannedReply =
  | { readonly type: "calls"; readonly calls: readonly PlannedCall[] }
  | { readonly type: "text"; readonly text: string; readonly finish: "stop" | "length" | "refusal" | "content_filter" | "unknown" }
  | { readonly type: "breaks"; readonly retryable: boolean };

/** What a generated run is made of. */
export interface RunPlan {
  readonly replies: readonly PlannedReply[];
  readonly limits: Partial<RunLimits>;
  readonly capture: Capture;
  readonly grants: readonly string[];
  readonly grantExpired: boolean;
  readonly priced: boolean;
  readonly stopOnUnknown: boolean;
  readonly taskId: string | undefined;
}

/** What a generated run gave. */
export interface PlayedRun {
  readonly result: LoopResult;
  readonly events: readonly AnyRunEvent[];
  readonly registry: ToolRegistry;
}

const call: fastCheck.Arbitrary<PlannedCall> = fastCheck.record({
  tool: fastCheck.constantFrom("look", "count", "send", "put", "pay", "wipe", "ask", "missing"),
  behaviour: fastCheck.oneof({ weight: 4, arbitrary: fastCheck.constant("ok" as const) }, { weight: 3, arbitrary: fastCheck.constantFrom(...BEHAVIOURS) }),
  badArguments: fastCheck.oneof({ weight: 6, arbitrary: fastCheck.constant(false) }, { weight: 1, arbitrary: fastCheck.constant(true) }),
});

const reply: fastCheck.Arbitrary<PlannedReply> = fastCheck.oneof(
  { weight: 6, arbitrary: fastCheck.record({ type: fastCheck.constant("calls" as const), calls: fastCheck.array(call, { minLength: 1, maxLength: 3 }) }) },
  {
    weight: 2,
    arbitrary: fastCheck.record({
      type: fastCheck.constant("text" as const),
      text: fastCheck.constantFrom(`the answer ${CANARY}`, ""),
      finish: fastCheck.oneof({ weight: 4, arbitrary: fastCheck.constant("stop" as const) }, { weight: 1, arbitrary: fastCheck.constantFrom("length" as const, "refusal" as const, "content_filter" as const, "unknown" as const) }),
    }),
  },
  { weight: 1, arbitrary: fastCheck.record({ type: fastCheck.constant("breaks" as const), retryable: fastCheck.boolean() }) },
);

/** A plan of a run. */
export const arbitraryRunPlan: fastCheck.Arbitrary<RunPlan> = fastCheck.record({
  replies: fastCheck.array(reply, { minLength: 1, maxLength: 5 }),
  limits: fastCheck.record(
    { maxRounds: fastCheck.integer({ min: 1, max: 4 }), maxToolCalls: fastCheck.integer({ min: 0, max: 4 }), maxOutputTokens: fastCheck.integer({ min: 1, max: 30 }) },
    { requiredKeys: [] },
  ),
  capture: fastCheck.constantFrom("off" as const, "digest" as const, "full" as const),
  grants: fastCheck.subarray(["pay", "wipe"]),
  grantExpired: fastCheck.oneof({ weight: 5, arbitrary: fastCheck.constant(false) }, { weight: 1, arbitrary: fastCheck.constant(true) }),
  priced: fastCheck.boolean(),
  stopOnUnknown: fastCheck.boolean(),
  taskId: fastCheck.constantFrom(undefined, "task_1"),
});

/** Plays a plan through `runLoop`; after the planned replies the model answers with text. */
export async function playRun(plan: RunPlan): Promise<PlayedRun> {
  const abort = new AbortController();
  const registry = registryFor(abort);
  const messages = [{ role: "user" as const, content: `please ${CANARY}` }];
  const run = runLoop({
    adapter: scriptedAdapter([...plan.replies.map((one, index) => toStep(one, index, plan.priced)), { text: `done ${CANARY}` }]),
    tools: registry,
    messages,
    system: `be good ${CANARY}`,
    limits: plan.limits,
    capture: plan.capture,
    signal: abort.signal,
    onUnknownEffect: plan.stopOnUnknown ? "stop" : "continue",
    streamRetries: 0,
    grants: plan.grants.map((scope) => ({ ref: `grant_${scope}`, scopes: [scope], grantedBy: { kind: "human", id: "ada", via: "local" }, ...(plan.grantExpired ? { expiresAt: "2001-01-01T00:00:00.000Z" } : {}) })),
    ...(plan.taskId === undefined ? {} : { lineage: { taskId: plan.taskId } }),
  });
  const events: AnyRunEvent[] = [];
  for await (const event of run) if (isChainEvent(event)) events.push(event);
  return { result: await run.result, events, registry };
}

/** Ids of the calls in the history a run gave back. */
export function callIdsIn(result: LoopResult): readonly string[] {
  return result.messages.flatMap(toolCallsOf).map(({ callId }) => callId);
}

function toStep(planned: PlannedReply, index: number, priced: boolean): ScriptStep {
  const usage: Usage = { input: 7, cacheRead: 2, cacheWrite: 0, output: 5, reasoning: 1, total: 15, ...(priced ? { costUsd: 0.25 } : {}) };
  if (planned.type === "breaks")
    return { error: new ProviderError(`it broke ${CANARY}`, { provider: "scripted", kind: planned.retryable ? "overloaded" : "invalid_request" }) };
  if (planned.type === "text") return { text: planned.text, finishReason: planned.finish, usage };
  return {
    usage,
    toolCalls: planned.calls.map(({ tool, behaviour, badArguments }, at) => ({
      name: tool,
      callId: `c_${index}_${at}`,
      args: badArguments ? { behaviour: 5, text: CANARY } : { behaviour, text: `${CANARY} ${index} ${at}` },
    })),
  };
}

function registryFor(abort: AbortController): ToolRegistry {
  const registry = new ToolRegistry();
  for (const [name, contract] of Object.entries(KINDS)) {
    registry.register({
      name,
      description: `does ${name}`,
      contract: { version: "1", ...contract },
      inputSchema: { type: "object", properties: { behaviour: { type: "string" }, text: { type: "string" } }, required: ["behaviour"] },
      handler: ({ behaviour }: { behaviour: string }) => behave(behaviour, abort) as never,
    });
  }
  return registry;
}

function behave(behaviour: string, abort: AbortController): unknown {
  switch (behaviour) {
    case "fails":
      return err(`no ${CANARY}`);
    case "throws":
      throw new Error(`thrown ${CANARY}`);
    case "says_unknown":
      return err(`who knows ${CANARY}`, { outcome: "unknown" });
    case "no_result":
      return undefined;
    case "aborts":
      abort.abort(`stop ${CANARY}`);
      return ok(CANARY);
    default:
      return ok({ done: CANARY });
  }
}
