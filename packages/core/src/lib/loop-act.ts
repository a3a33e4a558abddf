/** The act phase: runs the calls of one reply side by side; results keep the order asked for. */

import type { ToolCall } from "./adapter.ts";
import type { CallContext } from "./call-context.ts";
import { canonicalJson, isPlainObject } from "./json.ts";
import type { RunState } from "./loop-state.ts";
import type { Message, ToolResultPart } from "./message.ts";
import { resultText } from "./model-content.ts";
import type { CallResult } from "./result.ts";
import type { PendingCall } from "./run-event.ts";
import { TOOLS_SEARCH } from "./run-tools.ts";

/**
 * Starts all calls in order, waits for all, and adds one tool message with their results to the history. A call whose
 * result is `known` is not run; while one waits for a person, nothing is added.
 */
export async function act(
  state: RunState,
  calls: readonly ToolCall[],
  known: ReadonlyMap<string, CallResult>,
): Promise<readonly CallResult[]> {
  const run = async (call: ToolCall, index: number): Promise<CallResult> =>
    known.get(call.callId) ?? answer(state, call, index);
  const results = await Promise.all(calls.map(run));
  if (results.some((result) => pendingCall(result).length > 0)) return results;
  const parts = await Promise.all(calls.map((call, index) => toPart(state, call, results[index])));
  reveal(state, calls, results);
  const message: Message = { role: "tool", content: parts };
  state.append(message);
  // Only a whole record is read again; there the text has to be found, or be what the result says.
  const isWhole = state.options.capture === "full";
  if (isWhole && parts.some((part, index) => part.result !== textOnRecord(results[index])))
    state.recordMessage(message);
  return results;
}

/** The ticket a call waits for, as a list of none or one. */
export function pendingCall(result: CallResult): readonly PendingCall[] {
  if (result.success || result.code !== "approval_required" || !isPlainObject(result.details)) return [];
  const { ticketId } = result.details;
  return typeof ticketId === "string" ? [{ callId: result.callId, ticketId }] : [];
}

/** What the text of a result is once it was written canonically and read again: objects have lost their order. */
function textOnRecord(result: CallResult | undefined): string | undefined {
  if (result?.success !== true || typeof result.data === "string") return result && resultText(result);
  return resultText({ ...result, data: JSON.parse(canonicalJson(result.data)) });
}

function answer(state: RunState, call: ToolCall, index: number): CallResult | Promise<CallResult> {
  const { replay } = state.hooks;
  const context = contextOf(state, call, index);
  const { journal } = state.scope(call.callId, index);
  if (replay !== undefined && journal !== undefined) return replay.answer(call, journal);
  return state.tools.view.execute(call.name, argsOf(call), context);
}

/** Text that is no JSON object goes in as it is, so that the record holds what the model wrote. */
function argsOf(call: ToolCall): unknown {
  return call.argsError === undefined ? call.args : call.argsText;
}

function contextOf(state: RunState, call: ToolCall, index: number): CallContext {
  return {
    callId: call.callId,
    run: state.context,
    origin: "model",
    scope: state.scope(call.callId, index),
    onProgress: (data) => state.log.live("tool.progress", { callId: call.callId, data }),
    ...(call.argsError === undefined
      ? {}
      : { argsProblem: `The arguments of "${call.name}" are not a JSON object: ${call.argsError}` }),
  };
}

async function toPart(
  state: RunState,
  call: ToolCall,
  result: CallResult | undefined,
): Promise<ToolResultPart> {
  const { callId, name } = call;
  if (result === undefined) throw new RangeError(`Call "${callId}" has no result.`);
  const { owner, runId } = state.context;
  const { replay } = state.hooks;
  const content =
    replay === undefined
      ? await state.untilStopped(state.tools.view.contentForModel(name, result, { owner, runId }))
      : (replay.contentOf(callId) ?? resultText(result));
  return {
    type: "tool_result",
    callId,
    name,
    result: content,
    ...(result.success ? {} : { isError: true as const }),
  };
}

function reveal(state: RunState, calls: readonly ToolCall[], results: readonly CallResult[]): void {
  const found = calls.flatMap((call, index) => {
    const result = results[index];
    return call.name === TOOLS_SEARCH && result?.success === true ? foundNames(result.data) : [];
  });
  const names = state.tools.reveal(found);
  if (names.length > 0) state.log.emit("tools.revealed", { names });
}

function foundNames(data: unknown): readonly string[] {
  if (!isPlainObject(data) || !Array.isArray(data["tools"])) return [];
  return data["tools"].flatMap((tool: unknown) =>
    isPlainObject(tool) && typeof tool["name"] === "string" ? [tool["name"]] : [],
  );
}
