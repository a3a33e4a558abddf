/** The act phase: runs the calls of one reply side by side; results keep the order asked for. */

import type { ToolCall } from "./adapter.ts";
import type { CallContext } from "./call-context.ts";
import { isPlainObject } from "./json.ts";
import type { RunState } from "./loop-state.ts";
import type { Message, ToolResultPart } from "./message.ts";
import type { CallResult } from "./result.ts";
import { TOOLS_SEARCH } from "./run-tools.ts";

/** Starts all calls in order, waits for all, and adds one tool message with their results to the history. */
export async function act(state: RunState, calls: readonly ToolCall[]): Promise<readonly CallResult[]> {
  const results = await Promise.all(
    calls.map((call, index) =>
      state.tools.view.execute(call.name, argsOf(call), contextOf(state, call, index)),
    ),
  );
  const parts = await Promise.all(calls.map((call, index) => toPart(state, call, results[index])));
  reveal(state, calls, results);
  const message: Message = { role: "tool", content: parts };
  state.append(message);
  return results;
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
    scope: state.scope(index),
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
  const content = await state.untilStopped(state.tools.view.contentForModel(name, result, { owner, runId }));
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
