/** Calls written as text: told, and made calls where the caller wants that. */

import { startFakeModelServer } from "@openfunctions/core/testing";
import type { ModelEvent, ModelReply, ModelRequest } from "@openfunctions/core";
import { afterEach, describe, expect, it } from "vitest";
import { createLocalAdapter, type LocalAdapterOptions } from "./adapter.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const CHUNK = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "small", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const TOOLS = ["get_weather", "add_task"].map((name) => ({
  name,
  description: name,
  inputSchema: { type: "object", properties: { city: { type: "string" } } } as const,
}));

interface Asked {
  readonly reply: ModelReply;
  readonly events: readonly ModelEvent[];
}

/** What the adapter makes of a reply that comes in these pieces of text. */
async function ask(
  pieces: readonly string[],
  {
    tools = TOOLS,
    ...options
  }: Partial<LocalAdapterOptions> & { readonly tools?: ModelRequest["tools"] } = {},
): Promise<Asked> {
  const blocks = [...pieces.map((content) => CHUNK({ content })), CHUNK({}, "stop"), "data: [DONE]\n\n"];
  const server = await startFakeModelServer([{ blocks }, { blocks }]);
  open.push(() => server.close());
  const adapter = createLocalAdapter({ model: "small", baseUrl: `${server.url}/v1`, ...options });
  const request = { messages: [{ role: "user" as const, content: "weather?" }], tools };
  const events: ModelEvent[] = [];
  for await (const event of adapter.stream(request)) events.push(event);
  return { reply: await adapter.chat(request), events };
}

const CALL = ['{"name": "get_', 'weather", "arguments"', ': {"city": "Oslo"}}'];

describe("a call written as text", () => {
  it("stays text and is told, where nothing else was asked for", async () => {
    const { reply } = await ask(CALL);
    expect(reply.text).toBe(CALL.join(""));
    expect(reply.toolCalls).toEqual([]);
    expect(reply.warnings).toContainEqual({
      code: "call_as_text",
      detail: expect.stringContaining("get_weather"),
    });
  });

  it("becomes a call with parseTextCalls, and is not said as text", async () => {
    const { reply, events } = await ask(CALL, { parseTextCalls: true });
    expect(reply.text).toBe("");
    expect(reply.toolCalls).toMatchObject([{ name: "get_weather", args: { city: "Oslo" } }]);
    expect(reply.finishReason).toBe("tool_calls");
    expect(events.some(({ type }) => type === "text_delta")).toBe(false);
    expect(reply.warnings.map(({ code }) => code)).toContain("call_as_text");
  });

  it("is understood in a fence, in a list, and in the shapes that models write", async () => {
    for (const text of [
      '```json\n{"name":"get_weather","parameters":{"city":"Oslo"}}\n```',
      '[{"name":"get_weather","arguments":"{\\"city\\":\\"Oslo\\"}"},{"tool":"add_task","args":{}}]',
      '{"type":"function","function":{"name":"get_weather","arguments":{"city":"Oslo"}}}',
    ]) {
      const { reply } = await ask([text], { parseTextCalls: true });
      expect(reply.toolCalls[0], text).toMatchObject({ name: "get_weather", args: { city: "Oslo" } });
    }
  });

  it("is no call where it names no offered tool, has no object of arguments, or is not the whole reply", async () => {
    for (const text of [
      '{"name":"rm_rf","arguments":{}}',
      '{"name":"get_weather","arguments":[1]}',
      '{"name":"get_weather","arguments":{}} Shall I?',
      '[{"name":"get_weather","arguments":{}},{"name":"rm_rf"}]',
      '{"temperature":3}',
      "[1,2,3]",
      "{ not json",
      "```\ncode\n```",
      "[]",
    ]) {
      const { reply } = await ask([text.slice(0, 3), text.slice(3)], { parseTextCalls: true });
      expect(reply.toolCalls, text).toEqual([]);
      expect(reply.text).toBe(text);
      expect(reply.finishReason).toBe("stop");
    }
  });

  it("is never taken for one where no tool was offered", async () => {
    const { reply } = await ask(CALL, { parseTextCalls: true, tools: [] });
    expect(reply.text).toBe(CALL.join(""));
    expect(reply.warnings).toEqual([]);
  });

  it("is no call where it describes the tool", async () => {
    const [described] = TOOLS.map(({ name, description, inputSchema }) =>
      JSON.stringify({ type: "function", function: { name, description, parameters: inputSchema } }),
    );
    const { reply } = await ask([described ?? ""], { parseTextCalls: true });
    expect(reply.text).toBe(described);
    expect(reply.toolCalls).toEqual([]);
  });

  it("stands before a real call that came after it", async () => {
    const call = { index: 0, id: "a", type: "function", function: { name: "add_task", arguments: "{}" } };
    const server = await startFakeModelServer([
      {
        blocks: [
          CHUNK({ content: "{" }),
          CHUNK({ tool_calls: [call] }),
          CHUNK({}, "tool_calls"),
          "data: [DONE]\n\n",
        ],
      },
    ]);
    open.push(() => server.close());
    const adapter = createLocalAdapter({ model: "small", baseUrl: `${server.url}/v1`, parseTextCalls: true });
    const reply = await adapter.chat({ messages: [{ role: "user", content: "hi" }], tools: TOOLS });
    expect(reply.parts.map(({ type }) => type)).toEqual(["text", "tool_call"]);
  });

  it("does not hold back text that cannot be one", async () => {
    const { events } = await ask(["Hello", " there"], { parseTextCalls: true });
    expect(events.filter(({ type }) => type === "text_delta")).toHaveLength(2);
  });
});

describe("a server that drops tools while it streams", () => {
  it("is asked for one body where tools are offered, with a warning, and streamed without", async () => {
    const body = (text: string): object => ({
      id: "c",
      object: "chat.completion",
      model: "small",
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    });
    const server = await startFakeModelServer([
      { blocks: [JSON.stringify(body("whole"))], headers: { "content-type": "application/json" } },
      { blocks: [CHUNK({ content: "streamed" }), CHUNK({}, "stop"), "data: [DONE]\n\n"] },
    ]);
    open.push(() => server.close());
    const adapter = createLocalAdapter({
      model: "small",
      baseUrl: `${server.url}/v1`,
      stream: "without_tools",
    });
    const messages = [{ role: "user" as const, content: "hi" }];
    const withTools = await adapter.chat({ messages, tools: TOOLS });
    const without = await adapter.chat({ messages });
    expect(server.requests.map(({ text }) => JSON.parse(text).stream)).toEqual([false, true]);
    expect([withTools.text, without.text]).toEqual(["whole", "streamed"]);
    expect(withTools.warnings.map(({ code }) => code)).toEqual(["not_streamed"]);
    expect(without.warnings).toEqual([]);
  });
});
