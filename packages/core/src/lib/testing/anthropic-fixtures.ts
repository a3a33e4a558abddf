/** Neutral replies in the words of Anthropic's Messages API (events as in MessageStreamEvent of @anthropic-ai/sdk 1.14.0). */

import type { FakeReply } from "./fake-model-server.ts";
import { NEUTRAL_USAGE, type NeutralCall, type NeutralReply, type WireFixtures } from "./wire-fixtures.ts";

/** Anthropic's Messages API. It has no content filter of its own: such a reply is written as a refusal. */
export const anthropicFixtures: WireFixtures = {
  stream: (reply) => messageEvents(reply).map(block),
  errorEvent: (message) => block({ type: "error", error: { type: "api_error", message } }),
  // Bodies as in platform.claude.com/docs/en/api/errors and fixture anthropic/test_anthropic_count_tokens_error.
  failures: {
    unauthorized: errorReply(401, "authentication_error", "invalid x-api-key"),
    rateLimited: errorReply(429, "rate_limit_error", "This request would exceed your rate limit."),
    serverError: errorReply(500, "api_error", "Internal server error"),
    contextOverflow: errorReply(
      400,
      "invalid_request_error",
      "prompt is too long: 1000123 tokens > 1000000 maximum",
    ),
  },
  historyOf: (body) => listField(body, "messages").flatMap((message) => listField(message, "content")),
  opaqueOf: (body) =>
    listField(body, "messages")
      .flatMap((message) => listField(message, "content"))
      .filter((item) => field(item, "type") === "redacted_thinking"),
};

const STOP_REASONS = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  refusal: "refusal",
  content_filter: "refusal",
} as const;

interface WireEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

function block(event: WireEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function errorReply(status: number, type: string, message: string): FakeReply {
  const request_id = `req_${status}`;
  return {
    status,
    json: { type: "error", error: { type, message }, request_id },
    headers: { "request-id": request_id },
  };
}

function messageEvents(reply: NeutralReply): WireEvent[] {
  const { input, cached, output, reasoning } = reply.usage ?? NEUTRAL_USAGE;
  const usage = { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "model-that-answered" };
  const details = { output_tokens_details: { thinking_tokens: reasoning } };
  const finish = reply.finish ?? ((reply.calls ?? []).length > 0 ? "tool_calls" : "stop");
  return [
    { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
    ...contentBlocks(reply).flatMap(blockEvents),
    { type: "ping" },
    {
      type: "message_delta",
      delta: { stop_reason: STOP_REASONS[finish], stop_sequence: null },
      usage: { ...usage, output_tokens: output, ...details },
    },
    { type: "message_stop" },
  ];
}

interface ContentBlock {
  readonly content_block: object;
  readonly deltas: readonly object[];
}

function contentBlocks({ opaque, text, calls = [] }: NeutralReply): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  if (opaque !== undefined) {
    const content_block = { type: "redacted_thinking", data: `secret é ${opaque} \u2028` };
    blocks.push({ content_block, deltas: [] });
  }
  if (text !== undefined) {
    const deltas = text.map((delta) => ({ type: "text_delta", text: delta }));
    blocks.push({ content_block: { type: "text", text: "" }, deltas });
  }
  return [...blocks, ...calls.map(toolUse)];
}

function toolUse({ id, name, args }: NeutralCall): ContentBlock {
  return {
    content_block: { type: "tool_use", ...(id === null ? {} : { id }), name, input: {} },
    deltas: args.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  };
}

function blockEvents({ content_block, deltas }: ContentBlock, index: number): WireEvent[] {
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function listField(value: unknown, name: string): readonly unknown[] {
  const list = field(value, name);
  return Array.isArray(list) ? list : [];
}
