/** The request phase: one model call, asked again where a stream broke after it had begun. */

import type { ModelEvent, ModelReply, ModelRequest } from "./adapter.ts";
import { collect } from "./collect.ts";
import { OpenFunctionsError } from "./errors.ts";
import type { RunState } from "./loop-state.ts";

/** One attempt's facts, for the record. */
interface Attempt {
  readonly beganMs: number;
  firstEventMs: number | undefined;
  text: string;
  sawContent: boolean;
}

/**
 * Asks once, and again up to `streamRetries` times when the stream broke after content; finished rounds stay. A
 * history that does not fit is compacted once. Throws what the adapter threw when that was the last try.
 */
export async function requestReply(state: RunState, first: ModelRequest): Promise<ModelReply> {
  let request = first;
  let retriesLeft = state.options.streamRetries ?? 1;
  let mayCompact = state.options.compactor !== undefined;
  state.beginModelCall(request);
  for (;;) {
    const attempt: Attempt = { beganMs: state.nowMs(), firstEventMs: undefined, text: "", sawContent: false };
    try {
      const reply = await ask(state, request, attempt);
      recordReply(state, reply, attempt);
      return reply;
    } catch (cause) {
      state.throwIfStopped();
      const shorter = mayCompact && isOverflow(cause) ? await state.compact(request, true) : undefined;
      if (shorter !== undefined) {
        mayCompact = false;
        request = shorter;
        state.beginModelCall(request);
        continue;
      }
      if (retriesLeft === 0 || !isBrokenStream(cause, attempt)) {
        state.recordModelFailure(cause);
        throw cause;
      }
      retriesLeft -= 1;
      recordReset(state, cause, attempt);
    }
  }
}

function ask(state: RunState, request: ModelRequest, attempt: Attempt): Promise<ModelReply> {
  const reply = collect(state.options.adapter.stream(request), (event) => observe(state, event, attempt));
  return state.untilStopped(reply);
}

function observe(state: RunState, event: ModelEvent, attempt: Attempt): void {
  switch (event.type) {
    case "text_delta":
      noteContent(state, attempt);
      attempt.text += event.text;
      return state.log.live("text.delta", { text: event.text });
    case "reasoning_delta":
      noteContent(state, attempt);
      return state.log.live("reasoning.delta", { text: event.text });
    case "tool_call_delta": {
      noteContent(state, attempt);
      const { index, argsText, callId, name } = event;
      const ids = { ...(callId === undefined ? {} : { callId }), ...(name === undefined ? {} : { name }) };
      return state.log.live("call.delta", { index, argsText, ...ids });
    }
    case "tool_call":
    case "part":
      return noteContent(state, attempt);
    default:
      return observeTransport(state, event, attempt);
  }
}

function observeTransport(state: RunState, event: ModelEvent, attempt: Attempt): void {
  const { callSeq } = state;
  if (event.type === "retry") {
    const { attempt: number, reason, delayMs } = event;
    state.log.emit("model.retried", { callSeq, attempt: number, reason: state.clean(reason), delayMs });
  } else if (event.type === "fallback") {
    state.log.emit("model.fallback", {
      callSeq,
      from: event.from,
      to: event.to,
      reason: state.clean(event.reason),
    });
  } else if (event.type === "reset") {
    state.log.emit("model.reset", { callSeq, reason: state.clean(event.reason) });
    attempt.text = "";
  } else if (event.type === "usage") {
    state.noteUsage(event.usage);
  }
}

function noteContent(state: RunState, attempt: Attempt): void {
  if (attempt.sawContent) return;
  attempt.sawContent = true;
  attempt.firstEventMs = state.nowMs() - attempt.beganMs;
}

function recordReply(state: RunState, reply: ModelReply, attempt: Attempt): void {
  const { finishReason, usage, responseId, reportedModel, toolCalls, warnings } = reply;
  state.log.emit("model.responded", {
    round: state.rounds,
    callSeq: state.callSeq,
    finishReason,
    usage,
    latencyMs: state.nowMs() - attempt.beganMs,
    ...(attempt.firstEventMs === undefined ? {} : { firstEventMs: attempt.firstEventMs }),
    ...(responseId === undefined ? {} : { responseId }),
    ...(reportedModel === undefined ? {} : { reportedModel }),
    toolCallIds: toolCalls.map((call) => call.callId),
    reply: state.log.seal(reply.parts),
    ...(warnings.length === 0
      ? {}
      : { warnings: warnings.map(({ code, detail }) => ({ code, detail: state.clean(detail) })) }),
  });
  state.endModelCall(usage);
}

function recordReset(state: RunState, cause: unknown, attempt: Attempt): void {
  const reason = OpenFunctionsError.is(cause) ? cause.message : "the stream broke";
  const partial = attempt.text === "" ? {} : { partial: state.log.seal(attempt.text) };
  state.log.emit("model.reset", { callSeq: state.callSeq, reason: state.clean(reason), ...partial });
}

function isOverflow(cause: unknown): boolean {
  return OpenFunctionsError.is(cause) && cause.code === "context_overflow";
}

/** Worth asking again: the adapter calls it retryable, and it had begun, so the adapter itself could not. */
function isBrokenStream(cause: unknown, attempt: Attempt): boolean {
  return attempt.sawContent && OpenFunctionsError.is(cause) && cause.retryable;
}
