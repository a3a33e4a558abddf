/** The fake model in the format of OpenAI's Responses API. */

import { type FakeReply, type FakeRequest, readObjects, readText, type RequestBody } from "./fake-reply.ts";
import { answerDeltas, callsOfRound, type FakeCall } from "./fake-script.ts";

const CREATED = 1_700_000_000;
const USAGE = {
  input_tokens: 20,
  output_tokens: 10,
  total_tokens: 30,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};

/** Answers one request: asks for tools until the script's rounds are done, then gives the answer. */
export function answerResponse(request: FakeRequest): FakeReply {
  const { body, script, replyId } = request;
  const round = roundsSoFar(readObjects(body["input"]));
  const toolName = readText(readObjects(body["tools"])[0]?.["name"]) ?? "add";
  const items =
    round < script.rounds
      ? callsOfRound(script, { round, replyId, toolName }).map(toCallItem)
      : [toMessageItem(answerDeltas(script), replyId)];
  const response = toResponse(request, items);
  if (body["stream"] === true) return { type: "events", events: toEvents(response, items) };
  return { type: "json", body: response };
}

/** Replies with calls since the last user message. A call's id says which reply it came from. */
function roundsSoFar(input: readonly RequestBody[]): number {
  const lastUser = input.findLastIndex(({ role }) => role === "user");
  const replies = input
    .slice(lastUser + 1)
    .filter(({ type }) => type === "function_call")
    .map(({ call_id: callId }) => readText(callId)?.split("_")[1]);
  return new Set(replies).size;
}

interface CallItem {
  readonly type: "function_call";
  readonly id: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly status: "completed";
}

interface MessageItem {
  readonly type: "message";
  readonly id: string;
  readonly role: "assistant";
  readonly status: "completed";
  readonly content: readonly [TextPart];
  /** How the text is cut; not part of the wire. */
  readonly deltas: readonly string[];
}

interface TextPart {
  readonly type: "output_text";
  readonly text: string;
  readonly annotations: readonly [];
  readonly logprobs: readonly [];
}

function toCallItem({ id, name, argsText }: FakeCall): CallItem {
  const itemId = id.replace(/^call/, "fc");
  return { type: "function_call", id: itemId, call_id: id, name, arguments: argsText, status: "completed" };
}

function toMessageItem(deltas: readonly string[], replyId: number): MessageItem {
  const part = { type: "output_text", text: deltas.join(""), annotations: [], logprobs: [] } as const;
  return {
    type: "message",
    id: `msg_${replyId}`,
    role: "assistant",
    status: "completed",
    content: [part],
    deltas,
  };
}

function toResponse(
  { body, model, replyId }: FakeRequest,
  items: readonly (CallItem | MessageItem)[],
): object {
  return {
    id: `resp_${replyId}`,
    object: "response",
    created_at: CREATED,
    status: "completed",
    error: null,
    incomplete_details: null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: null,
    model,
    output: items.map(toWireItem),
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage: USAGE,
    user: null,
    metadata: {},
  };
}

function toWireItem(item: CallItem | MessageItem): object {
  if (item.type === "function_call") return item;
  const { deltas: _deltas, ...wire } = item;
  return wire;
}

function toEvents(response: object, items: readonly (CallItem | MessageItem)[]): readonly string[] {
  const opening = { ...response, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: opening },
    { type: "response.in_progress", response: opening },
    ...items.flatMap((item, index) =>
      item.type === "message" ? messageEvents(item, index) : callEvents(item, index),
    ),
    { type: "response.completed", response },
  ];
  return events.map((event, index) => {
    return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`;
  });
}

interface WireEvent {
  readonly type: string;
}

function callEvents(item: CallItem, index: number): readonly WireEvent[] {
  const place = { item_id: item.id, output_index: index };
  const opened = { ...item, arguments: "", status: "in_progress" };
  return [
    wire("response.output_item.added", { output_index: index, item: opened }),
    wire("response.function_call_arguments.delta", { ...place, delta: item.arguments }),
    wire("response.function_call_arguments.done", { ...place, arguments: item.arguments }),
    wire("response.output_item.done", { output_index: index, item }),
  ];
}

function messageEvents(message: MessageItem, index: number): readonly WireEvent[] {
  const item = toWireItem(message);
  const [part] = message.content;
  const place = { item_id: message.id, output_index: index, content_index: 0 };
  return [
    wire("response.output_item.added", {
      output_index: index,
      item: { ...item, content: [], status: "in_progress" },
    }),
    wire("response.content_part.added", { ...place, part: { ...part, text: "" } }),
    ...message.deltas.map((delta) => wire("response.output_text.delta", { ...place, delta, logprobs: [] })),
    wire("response.output_text.done", { ...place, text: part.text, logprobs: [] }),
    wire("response.content_part.done", { ...place, part }),
    wire("response.output_item.done", { output_index: index, item }),
  ];
}

function wire(type: string, fields: object): WireEvent {
  return { type, ...fields };
}
