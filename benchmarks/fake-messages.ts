/** The fake model in the format of Anthropic's Messages API. */

import {
  type FakeReply,
  type FakeRequest,
  isObject,
  readObjects,
  readText,
  type RequestBody,
} from "./fake-reply.ts";
import { answerDeltas, callsOfRound } from "./fake-script.ts";

const USAGE = {
  input_tokens: 20,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 1,
};

/** Answers one streamed request: asks for tools until the script's rounds are done, then gives the answer. */
export function answerMessage({ body, model, script, replyId }: FakeRequest): FakeReply {
  const round = roundsSoFar(readObjects(body["messages"]));
  const toolName = readText(readObjects(body["tools"])[0]?.["name"]) ?? "add";
  const isCalling = round < script.rounds;
  const message = { id: `msg_${replyId}`, type: "message", role: "assistant", model, content: [] };
  const blocks = isCalling
    ? callsOfRound(script, { round, replyId, toolName }).map(({ id, name, argsText }) => ({
        block: { type: "tool_use", id, name, input: {} },
        deltas: [{ type: "input_json_delta", partial_json: argsText }],
      }))
    : [
        {
          block: { type: "text", text: "" },
          deltas: answerDeltas(script).map((text) => ({ type: "text_delta", text })),
        },
      ];
  const events = [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage: USAGE } },
    ...blocks.flatMap(({ block, deltas }, index) => [
      { type: "content_block_start", index, content_block: block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: isCalling ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 10 },
    },
    { type: "message_stop" },
  ];
  return {
    type: "events",
    events: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
  };
}

/** Assistant turns with calls since the last text of the user. */
function roundsSoFar(messages: readonly RequestBody[]): number {
  const lastUser = messages.findLastIndex(
    ({ role, content }) => role === "user" && !blocksOf(content).some(({ type }) => type === "tool_result"),
  );
  return messages
    .slice(lastUser + 1)
    .filter(({ content }) => blocksOf(content).some(({ type }) => type === "tool_use")).length;
}

function blocksOf(content: unknown): readonly RequestBody[] {
  return isObject(content) ? [] : readObjects(content);
}
