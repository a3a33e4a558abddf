/** Reasoning details: gathered from pieces, kept with their turn, sent back as they came. */

import type { JsonObject, Message, ModelReply, Part } from "@openfunctions/core";
import { expect, it } from "vitest";
import { createOpenRouterAdapter } from "./adapter.ts";

const TOOL = { name: "look", description: "looks", inputSchema: { type: "object", properties: {} } } as const;

/** A conversation whose first answer streams these lists of details and one call. */
async function converse(
  streamed: readonly (readonly JsonObject[])[],
  edit: (parts: readonly Part[]) => readonly Part[] = (parts) => parts,
): Promise<{ readonly first: ModelReply; readonly second: ModelReply; readonly sent: unknown }> {
  const bodies: object[] = [];
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const calls = [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }];
  async function* stream(): AsyncGenerator<object> {
    for (const reasoning_details of bodies.length === 1 ? streamed : [])
      yield chunk({ content: "", reasoning_details });
    yield chunk({ content: "Let me " });
    yield chunk({ content: "look." });
    if (bodies.length === 1) yield chunk({ tool_calls: calls });
    yield chunk({}, "stop");
  }
  const client = { chat: { completions: { create: async (body: object) => (bodies.push(body), stream()) } } };
  const adapter = createOpenRouterAdapter({ client, model: "vendor/model" });
  const question: Message = { role: "user", content: "go" };
  const first = await adapter.chat({ messages: [question], tools: [TOOL] });
  const second = await adapter.chat({
    messages: [
      question,
      { role: "assistant", content: edit(first.parts) },
      { role: "tool", content: [{ type: "tool_result", callId: "call_1", name: "look", result: "seen" }] },
    ],
    tools: [TOOL],
  });
  const messages: unknown = Reflect.get(bodies[1] ?? {}, "messages");
  const sent: unknown = Array.isArray(messages) ? messages[1]?.reasoning_details : undefined;
  return { first, second, sent };
}

const text = (more: object): JsonObject => ({
  type: "reasoning.text",
  format: "anthropic-claude-v1",
  index: 0,
  ...more,
});

it("puts a streamed block together, signature and all, as one block that can be verified", async () => {
  const { sent, first } = await converse([
    [text({ text: "Let " })],
    [text({ text: "me think.", signature: null })],
    [text({ signature: "c2ln" })],
  ]);
  expect(sent).toEqual([text({ text: "Let me think.", signature: "c2ln" })]);
  expect(first.parts.map(({ type }) => type)).toEqual(["text", "provider", "tool_call"]);
});

it("keeps blocks apart: after a signature, with another id, type or index", async () => {
  const blocks = [
    text({ text: "one", signature: "c2ln" }),
    text({ text: "two", id: "a" }),
    text({ text: "three", id: "b" }),
    { type: "reasoning.summary", summary: "four", format: null, index: 0 },
    { type: "reasoning.summary", summary: "five", format: null, index: 1 },
    { type: "reasoning.encrypted", data: "é\u2028", id: "rs_1", format: "openai-responses-v1", index: 0 },
    { type: "reasoning.encrypted", data: "é\u2028", id: "rs_2", format: "openai-responses-v1", index: 0 },
  ];
  expect(JSON.stringify((await converse(blocks.map((block) => [block]))).sent)).toBe(JSON.stringify(blocks));
  expect(JSON.stringify((await converse([blocks])).sent)).toBe(JSON.stringify(blocks));
});

it("field A22: leaves the details out, and says so, where the turn was changed since", async () => {
  const changes: readonly ((parts: readonly Part[]) => readonly Part[])[] = [
    (parts) => parts.map((part) => (part.type === "text" ? { ...part, text: "edited" } : part)),
    (parts) => parts.map((part) => (part.type === "tool_call" ? { ...part, args: { edited: true } } : part)),
    (parts) => parts.filter((part) => part.type !== "tool_call"),
  ];
  for (const change of changes) {
    const { sent, second } = await converse([[text({ text: "hm" })]], change);
    expect(sent).toBeUndefined();
    expect(second.warnings.map(({ code }) => code)).toContain("reasoning_items_left_out");
  }
});

it("field A23: sends what it knows to be its own and no other part", async () => {
  const change = (parts: readonly Part[]): readonly Part[] =>
    parts.map((part) => (part.type === "provider" ? { ...part, data: { type: "reasoning" } } : part));
  const { sent, second } = await converse([[text({ text: "hm" })]], change);
  expect(sent).toBeUndefined();
  expect(second.warnings.map(({ code }) => code)).toContain("provider_parts_left_out");
});

it("makes no part where the reply has no details", async () => {
  const { first, sent } = await converse([[]]);
  expect(first.parts.map(({ type }) => type)).toEqual(["text", "tool_call"]);
  expect(sent).toBeUndefined();
});
