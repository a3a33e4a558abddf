/** Ask, act, observe, until an answer or a limit. */

import type { ModelReply, ToolCall } from "./adapter.ts";
import { ProtocolError } from "./errors.ts";
import type { CallResult } from "./result.ts";
import { act, pendingCall } from "./loop-act.ts";
import { closeRun } from "./loop-close.ts";
import type { Ending } from "./loop-ending.ts";
import { checkLimits } from "./loop-limits.ts";
import { requestReply } from "./loop-request.ts";
import { RunState } from "./loop-state.ts";
import { EventQueue } from "./event-queue.ts";
import type { LoopHooks } from "./loop-hooks.ts";
import type { LoopOptions, LoopResult, LoopRun, ReplyVerdict } from "./run-options.ts";

/**
 * Runs one loop. Throws synchronously for options that cannot work (`ConfigError`); everything later is in
 * `result`, which always resolves. Events are the run's only account: see `LoopRun`.
 */
export function runLoop(options: LoopOptions): LoopRun {
  return startLoop(options);
}

/** The same for a run that goes on with another's log, or answers its calls from one. */
export function startLoop(options: LoopOptions, hooks: LoopHooks = {}): LoopRun {
  const queue = new EventQueue(() => state.abort("the reader left"));
  const state = new RunState(options, (event) => queue.push(event), hooks);
  // The first event comes a tick later, so that the caller can begin to read.
  const result = Promise.resolve()
    .then(() => drive(state))
    .finally(() => queue.end());
  return {
    runId: state.context.runId,
    result,
    abort: (reason) => state.abort(reason),
    steer: (message) => state.steer(message),
    [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator](),
  };
}

async function drive(state: RunState): Promise<LoopResult> {
  let ending: Ending;
  try {
    state.open();
    ending = (await finishTurn(state)) ?? (await loop(state));
  } catch (cause) {
    ending = state.endingOf(cause);
  }
  return closeRun(state, ending);
}

/** A resumed run first answers the calls it was left with. */
async function finishTurn(state: RunState): Promise<Ending | undefined> {
  const { resumption } = state.hooks;
  if (resumption === undefined) return undefined;
  await state.claimLog();
  const { open, results } = resumption.history;
  const calls = open.map(({ callId, name, args }): ToolCall => ({
    callId,
    name,
    args,
    argsText: JSON.stringify(args),
  }));
  return applyVerdict(state, await runCalls(state, calls, results));
}

async function loop(state: RunState): Promise<Ending> {
  for (;;) {
    let request = state.compose();
    const limit = checkLimits(state);
    if (limit !== undefined) return limit;
    if (state.options.compactor !== undefined) request = (await state.compact(request, false)) ?? request;
    const reply = await requestReply(state, request);
    const cut = accept(state, reply);
    if (cut !== undefined) return cut;
    state.observeReply(reply);
    const verdict =
      reply.toolCalls.length === 0 ? await settle(state, reply) : await runCalls(state, reply.toolCalls);
    const ending = applyVerdict(state, verdict);
    if (ending !== undefined) return ending;
  }
}

/** Reply checks: what was cut, refused or filtered is no answer. */
function accept(state: RunState, reply: ModelReply): Ending | undefined {
  const repeated = reply.toolCalls.find(({ callId }) => state.hasCallId(callId));
  if (repeated !== undefined) {
    const error = new ProtocolError(
      `The call id "${repeated.callId}" came in an earlier turn of this history.`,
    );
    return { status: "failed", stopReason: "protocol_error", message: error.message, error };
  }
  switch (reply.finishReason) {
    case "length":
      return { status: "limit_reached", stopReason: "output_truncated", partial: reply.text };
    case "refusal":
      return {
        status: "failed",
        stopReason: "refusal",
        message: reply.text || "The model refused to answer.",
      };
    case "content_filter":
      return {
        status: "failed",
        stopReason: "content_filter",
        message: "The provider's content filter stopped the answer.",
      };
    case "error":
      return {
        status: "failed",
        stopReason: "provider_error",
        message: "The provider ended the reply with an error.",
      };
    default:
      return undefined;
  }
}

type LoopVerdict = ReplyVerdict | { readonly type: "end"; readonly ending: Ending };

async function settle(state: RunState, reply: ModelReply): Promise<LoopVerdict> {
  const { policy } = state.options;
  if (policy !== undefined) return state.untilStopped(Promise.resolve(policy.onAnswer(reply)));
  if (reply.text !== "") return { type: "accept", stopReason: "model_response", text: reply.text };
  return { type: "end", ending: { status: "completed", stopReason: "empty_response", text: "" } };
}

async function runCalls(
  state: RunState,
  calls: readonly ToolCall[],
  known: ReadonlyMap<string, CallResult> = new Map(),
): Promise<LoopVerdict> {
  const results = await act(state, calls, known);
  const stop = stopAfter(state, results);
  if (stop !== undefined) return { type: "end", ending: stop };
  return state.options.policy?.onResults(results) ?? { type: "continue" };
}

function stopAfter(state: RunState, results: readonly CallResult[]): Ending | undefined {
  state.throwIfStopped();
  if (state.hooks.replay !== undefined) return state.hooks.replay.endingAfterCalls();
  const pending = results.flatMap(pendingCall);
  if (pending.length > 0) return { status: "suspended", stopReason: "approval_required", pending };
  if (state.options.onDenied === "stop" && state.wasDenied(results))
    return { status: "cancelled", stopReason: "approval_denied", reason: "a person denied a call" };
  if (state.guard.exhausted) return { status: "limit_reached", stopReason: "repeated_calls" };
  const unknown = results.some((result) => result.outcome === "unknown");
  if (!unknown || state.options.onUnknownEffect !== "stop") return undefined;
  return {
    status: "failed",
    stopReason: "tool_effect_unknown",
    message: "A call with effects has no known outcome.",
  };
}

function applyVerdict(state: RunState, verdict: LoopVerdict): Ending | undefined {
  switch (verdict.type) {
    case "end":
      return verdict.ending;
    case "accept":
      return { status: "completed", stopReason: verdict.stopReason, text: verdict.text };
    case "ask_again":
      state.steer(verdict.message);
      return undefined;
    case "give_up":
      return {
        status: "failed",
        stopReason: "protocol_error",
        message: verdict.error.message,
        error: verdict.error,
      };
    case "continue":
      return undefined;
  }
}
