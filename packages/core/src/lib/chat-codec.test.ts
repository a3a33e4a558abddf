/** The chat-completions codec: bodies out, chunks in. */

import { describe, expect, it } from "vitest";
import type { ModelEvent, ModelReply } from "./adapter.ts";
import { type ChatTarget, toChatBody } from "./chat-request.ts";
import { createChatDecoder } from "./chat-stream.ts";
import { collect } from "./collect.ts";
import type { Message } from "./message.ts";
import { createRedactor } from "./redactor.ts";
import { DONE } from "./wire-source.ts";

const target: ChatTarget = {
  provider: "p",
  model: "m",
  can: {
    parallelCalls: true,
    forcedChoice: true,
    forcedChoiceWithReasoning: true,
    jsonSchema: true,
    jsonSchemaWithTools: true,
    images: true,
  },
  confirmed: true,
  reasoning: "none",
  quirks: {
    dialect: "openai",
    samplingWithReasoning: true,
    seed: true,
    stop: true,
    maxTokensField: "max_tokens",
    streamUsage: true,
    reasoningContent: false,
    strictField: false,
    parallelField: true,
  },
};

const reads = (events: readonly unknown[]): ModelEvent[] => {
  const decoder = createChatDecoder({
    model: "m",
    failures: { provider: "p", redactor: createRedactor(), now: () => 0 },
    inputChars: () => 400,
  });
  const out: ModelEvent[] = [];
  for (const event of events) if (!decoder.finished) decoder.push(event, out);
  decoder.end(out);
  return out;
};
const decode = (events: readonly unknown[]): Promise<ModelReply> =>
  collect(
    (async function* () {
      yield* reads(events);
    })(),
  );
const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: "c",
  model: "mm",
  choices: [{ index: 0, delta, finish_reason }],
});
const call = (entry: object): object => chunk({ tool_calls: [entry] });
const end = (reason = "tool_calls"): unknown[] => [chunk({}, reason), DONE];
const named = (reply: ModelReply): unknown[] => reply.toolCalls.map(({ name, args }) => [name, args]);

describe("toChatBody", () => {
  const history: Message[] = [
    { role: "user", content: "hi" },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "tool_call", callId: "c1", name: "add", args: { a: 1 } },
        { type: "tool_call", callId: "c2", name: "see", args: {} },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool_result", callId: "c1", name: "add", result: "3" },
        {
          type: "tool_result",
          callId: "c2",
          name: "see",
          result: [
            { type: "text", text: "a cat" },
            { type: "image", mediaType: "image/png", data: "AA" },
          ],
        },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "so" },
        { type: "text", text: "Three." },
      ],
    },
  ];

  it("writes roles, calls, string results, and images a tool answered with as a user message", () => {
    expect(toChatBody({ system: "S", messages: history }, { target }).body).toEqual({
      model: "m",
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        { role: "system", content: "S" },
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c1", type: "function", function: { name: "add", arguments: '{"a":1}' } },
            { id: "c2", type: "function", function: { name: "see", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "3" },
        { role: "tool", tool_call_id: "c2", content: "a cat" },
        { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }] },
        { role: "assistant", content: "Three." },
      ],
    });
  });

  it("field A23: returns reasoning_content with turns that hold calls, to servers that ask for it and no other", () => {
    const asks = { ...target, quirks: { ...target.quirks, reasoningContent: true } };
    const { messages } = toChatBody({ messages: history }, { target: asks }).body;
    expect(messages).toMatchObject([
      {},
      { reasoning_content: "hm" },
      {},
      {},
      {},
      expect.not.objectContaining({ reasoning_content: "so" }),
    ]);
    expect(JSON.stringify(toChatBody({ messages: history }, { target }).body)).not.toContain(
      "reasoning_content",
    );
  });

  it("writes tools, choice, format and sampling in this wire's words", () => {
    const tool = {
      name: "add",
      description: "Adds.",
      inputSchema: { type: "object", properties: { a: { type: "number" } } },
    } as const;
    const format = {
      type: "json_schema",
      name: "f",
      schema: { type: "object", properties: {}, additionalProperties: false },
    } as const;
    const { body } = toChatBody(
      {
        messages: [],
        tools: [tool],
        toolChoice: { name: "add" },
        responseFormat: format,
        sampling: { temperature: 0, seed: 7, stop: ["x"] },
        maxOutputTokens: 5,
      },
      { target, stream: false },
    );
    expect(body).toMatchObject({
      stream: false,
      tools: [{ type: "function", function: { name: "add", description: "Adds." } }],
      tool_choice: { type: "function", function: { name: "add" } },
      response_format: { type: "json_schema", json_schema: { name: "f" } },
      temperature: 0,
      seed: 7,
      stop: ["x"],
      max_tokens: 5,
    });
    expect(body).not.toHaveProperty("stream_options");
  });
});

describe("createChatDecoder", () => {
  it("field A1: runs a zero-parameter call whose only delta is empty", async () => {
    expect(
      named(await decode([call({ index: 0, id: "a", function: { name: "now", arguments: "" } }), ...end()])),
    ).toEqual([["now", {}]]);
  });

  it("field A2: gives the same for a body that was not streamed; broken JSON stays an error in both", async () => {
    const whole = (args: unknown): object => ({
      id: "c",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "a", type: "function", function: { name: "now", arguments: args } }],
          },
          finish_reason: "tool_calls",
        },
      ],
    });
    const streamed = await decode([
      call({ index: 0, id: "a", function: { name: "now", arguments: "" } }),
      ...end(),
    ]);
    expect((await decode([whole("")])).toolCalls).toEqual(streamed.toolCalls);
    expect((await decode([whole("{bad")])).toolCall?.argsError).toBeDefined();
    expect((await decode([whole({ a: 1 })])).toolCall?.args).toEqual({ a: 1 });
  });

  it("field A5: assigns names that are resent, appends arguments", async () => {
    const part = (args: string): object =>
      call({ index: 0, id: "a", function: { name: "terminal", arguments: args } });
    expect(named(await decode([part(""), part('{"c":'), part('"ls"}'), ...end()]))).toEqual([
      ["terminal", { c: "ls" }],
    ]);
  });

  it("field A7: continues the call of an index whose id changes in every delta", async () => {
    const pieces = Array.from('{"city":"Oslo"}').map((args, index) =>
      call({ index: 0, id: `id_${index}`, function: { name: "", arguments: args } }),
    );
    const reply = await decode([
      call({ index: 0, id: "first", function: { name: "weather", arguments: "" } }),
      ...pieces,
      ...end(),
    ]);
    expect([reply.toolCalls.length, reply.toolCall?.callId, reply.toolCall?.args]).toEqual([
      1,
      "first",
      { city: "Oslo" },
    ]);
  });

  it("field A8: keys interleaved fragments by index", async () => {
    const reply = await decode([
      call({ index: 0, id: "a", function: { name: "x", arguments: '{"n"' } }),
      call({ index: 1, id: "b", function: { name: "y", arguments: '{"m"' } }),
      call({ index: 0, function: { arguments: ":1}" } }),
      call({ index: 1, function: { arguments: ":2}" } }),
      ...end(),
    ]);
    expect(named(reply)).toEqual([
      ["x", { n: 1 }],
      ["y", { m: 2 }],
    ]);
  });

  it("names the model that answered, also where a first chunk of filter results has none", async () => {
    const filtered = { id: "", model: "", choices: [], prompt_filter_results: [] };
    const said = [filtered, chunk({ content: "hi" }), ...end("stop")];
    expect(await decode(said)).toMatchObject({ text: "hi", reportedModel: "mm", responseId: "c" });
    expect(reads(said).filter(({ type }) => type === "start")).toHaveLength(2);
    expect(reads(said.slice(1)).filter(({ type }) => type === "start")).toHaveLength(1);
  });

  it("takes a missing index, a late id, and calls all numbered 0", async () => {
    const missing = await decode([
      call({ function: { name: "x", arguments: '{"n":' } }),
      call({ id: "late", function: { arguments: "1}" } }),
      ...end(),
    ]);
    expect([named(missing), missing.toolCall?.callId]).toEqual([[["x", { n: 1 }]], "late"]);
    const two = await decode([
      call({ id: "a", function: { name: "x", arguments: "{}" } }),
      call({ id: "b", function: { name: "x", arguments: '{"k":1}' } }),
      ...end(),
    ]);
    expect(named(two)).toEqual([
      ["x", {}],
      ["x", { k: 1 }],
    ]);
    const zeros = await decode([
      call({ index: 0, id: "a", function: { name: "x", arguments: '{"k":1}' } }),
      call({ index: 0, id: "b", function: { name: "x", arguments: '{"k":2}' } }),
      call({ index: 0, id: "c", function: { name: "y", arguments: "" } }),
      ...end(),
    ]);
    expect(named(zeros)).toEqual([
      ["x", { k: 1 }],
      ["x", { k: 2 }],
      ["y", {}],
    ]);
  });

  it("field A13: takes cut arguments under tool_calls as truncation", async () => {
    const reply = await decode([
      call({ index: 0, id: "a", function: { name: "x", arguments: '{"path":"a' } }),
      ...end("tool_calls"),
    ]);
    expect([reply.finishReason, reply.toolCall?.argsError]).toEqual([
      "length",
      expect.stringContaining("cut off"),
    ]);
  });

  it("field A10: field A11: ends at a finish reason or [DONE], and at nothing else", async () => {
    expect((await decode([chunk({ content: "x" }, "stop")])).finishReason).toBe("stop");
    expect((await decode([chunk({ content: "x" }), DONE])).finishReason).toBe("unknown");
    expect(() => reads([chunk({ content: "x" })])).toThrow("was cut before its end");
    expect(() => reads([])).toThrow("was cut before its end");
  });

  it("takes calls as calls whatever the finish reason, and function_call as well", async () => {
    expect(
      (await decode([call({ index: 0, id: "a", function: { name: "x", arguments: "{}" } }), ...end("stop")]))
        .finishReason,
    ).toBe("tool_calls");
    const legacy = await decode([
      chunk({ function_call: { name: "x", arguments: '{"a"' } }),
      chunk({ function_call: { arguments: ":1}" } }),
      ...end("function_call"),
    ]);
    expect([named(legacy), legacy.finishReason]).toEqual([[["x", { a: 1 }]], "tool_calls"]);
  });

  it("reads reasoning from every field it comes in, and content in parts", async () => {
    const reply = await decode([
      chunk({ reasoning_content: "a" }),
      chunk({ reasoning: "b" }),
      chunk({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "c" }] },
          { type: "text", text: "T" },
        ],
      }),
      ...end("stop"),
    ]);
    expect(reply.parts).toEqual([
      { type: "reasoning", text: "abc" },
      { type: "text", text: "T" },
    ]);
  });

  it("estimates usage where none is stated, and marks it", async () => {
    expect((await decode([chunk({ content: "x".repeat(40) }, "stop")])).usage).toEqual({
      input: 100,
      cacheRead: 0,
      cacheWrite: 0,
      output: 10,
      reasoning: 0,
      total: 110,
      estimated: true,
    });
  });

  it("adapters Z23: makes inclusive and exclusive counts disjoint", async () => {
    const usage = async (body: object): Promise<unknown> =>
      (await decode([chunk({}, "stop"), { choices: [], usage: body }, DONE])).usage;
    expect(
      await usage({
        prompt_tokens: 10,
        completion_tokens: 8,
        total_tokens: 18,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 5 },
      }),
    ).toEqual({ input: 6, cacheRead: 4, cacheWrite: 0, output: 3, reasoning: 5, total: 18 });
    // xAI states reasoning besides completion tokens (fixture xai/xai-tool-call.json).
    expect(
      await usage({
        prompt_tokens: 10,
        completion_tokens: 8,
        total_tokens: 23,
        completion_tokens_details: { reasoning_tokens: 5 },
      }),
    ).toEqual({ input: 10, cacheRead: 0, cacheWrite: 0, output: 8, reasoning: 5, total: 23 });
    expect(
      await usage({
        prompt_tokens: 10,
        completion_tokens: 2,
        total_tokens: 12,
        prompt_cache_hit_tokens: 7,
        cost: 0.5,
      }),
    ).toMatchObject({ input: 3, cacheRead: 7, costUsd: 0.5 });
  });

  it("takes an error object inside the stream for a failure", () => {
    expect(() =>
      reads([chunk({ content: "x" }), { error: { code: 502, message: "Provider returned error" } }]),
    ).toThrow("Provider returned error");
    expect(() => reads([{ error: "plain words" }])).toThrow("plain words");
  });
});
