/** The fake model in OpenAI's chat-completions format. */

import {
  type FakeReply,
  type FakeRequest,
  isObject,
  readObjects,
  readText,
  type RequestBody,
} from "./fake-reply.ts";
import { answerDeltas, callsOfRound, type FakeCall } from "./fake-script.ts";

const CREATED = 1_700_000_000;
const USAGE = {
  prompt_tokens: 20,
  completion_tokens: 10,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

/** Answers one request: asks for tools until the script's rounds are done, then gives the answer. */
export function answerChatCompletion(request: FakeRequest): FakeReply {
  const { body, script, replyId } = request;
  const round = roundsSoFar(readObjects(body["messages"]));
  const isAsking = round < script.rounds;
  const calls = isAsking ? callsOfRound(script, { round, replyId, toolName: firstToolName(body) }) : [];
  if (body["stream"] === true) return { type: "events", events: toChunks(request, calls) };
  return { type: "json", body: toCompletion(request, calls) };
}

/** Assistant turns with calls since the last user message. */
function roundsSoFar(messages: readonly RequestBody[]): number {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  return messages.slice(lastUser + 1).filter(({ tool_calls: calls }) => Array.isArray(calls)).length;
}

function firstToolName(body: RequestBody): string {
  const declared = readObjects(body["tools"])[0]?.["function"];
  return (isObject(declared) ? readText(declared["name"]) : undefined) ?? "add";
}

function toCompletion({ model, script, replyId }: FakeRequest, calls: readonly FakeCall[]): unknown {
  const message =
    calls.length > 0
      ? { role: "assistant", content: null, refusal: null, tool_calls: calls.map(toWireCall) }
      : { role: "assistant", content: answerDeltas(script).join(""), refusal: null };
  const finish = calls.length > 0 ? "tool_calls" : "stop";
  return {
    id: `chatcmpl-${replyId}`,
    object: "chat.completion",
    created: CREATED,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: USAGE,
  };
}

function toChunks({ model, script, replyId }: FakeRequest, calls: readonly FakeCall[]): readonly string[] {
  const base = { id: `chatcmpl-${replyId}`, object: "chat.completion.chunk", created: CREATED, model };
  const toEvent = (fields: object): string => `data: ${JSON.stringify({ ...base, ...fields })}\n\n`;
  const toChoice = (delta: object, finish: string | null = null): string =>
    toEvent({ choices: [{ index: 0, delta, finish_reason: finish }] });
  const content =
    calls.length > 0
      ? [
          toChoice({ role: "assistant", content: null }),
          ...calls.flatMap((call, index) => callDeltas(call, index).map((delta) => toChoice(delta))),
          toChoice({}, "tool_calls"),
        ]
      : [
          toChoice({ role: "assistant", content: "" }),
          ...answerDeltas(script).map((text) => toChoice({ content: text })),
          toChoice({}, "stop"),
        ];
  return [...content, toEvent({ choices: [], usage: USAGE }), "data: [DONE]\n\n"];
}

/** As OpenAI sends a call: first its name, then its arguments. */
function callDeltas(call: FakeCall, index: number): readonly object[] {
  const opening = { index, id: call.id, type: "function", function: { name: call.name, arguments: "" } };
  return [{ tool_calls: [opening] }, { tool_calls: [{ index, function: { arguments: call.argsText } }] }];
}

function toWireCall({ id, name, argsText }: FakeCall): object {
  return { id, type: "function", function: { name, arguments: argsText } };
}
