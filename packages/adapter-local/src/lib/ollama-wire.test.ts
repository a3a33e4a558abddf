/** Ollama's own endpoint: what is sent, what is kept, and what is refused. */

import type { Message, ModelReply, ModelRequest } from "@openfunctions/core";
import { type FakeReply, type FakeRequest, startFakeModelServer } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { ollamaFixtures } from "./__fixtures__/ollama-wire.ts";
import { createLocalAdapter, type LocalAdapterOptions } from "./adapter.ts";

const TOOL = {
  name: "get_weather",
  description: "The weather of a city.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;
const hi: Message = { role: "user", content: "hi" };

async function ask(
  request: ModelRequest,
  how: { readonly reply?: FakeReply; readonly options?: LocalAdapterOptions } = {},
): Promise<{ readonly reply: ModelReply; readonly sent: FakeRequest | undefined }> {
  const server = await startFakeModelServer([
    how.reply ?? { blocks: ollamaFixtures.stream({ text: ["ok"] }) },
  ]);
  try {
    const options = {
      server: "ollama",
      model: "small",
      baseUrl: server.url,
      limits: { retries: 0 },
    } as const;
    const reply = await createLocalAdapter({ ...options, ...how.options }).chat(request);
    return { reply, sent: server.requests[0] };
  } finally {
    await server.close();
  }
}

const lines = (...values: readonly object[]): FakeReply => ({
  blocks: values.map((value) => `${JSON.stringify(value)}\n`),
});
const done = { message: { role: "assistant", content: "" }, done: true, done_reason: "stop" };

describe("Ollama's native endpoint", () => {
  it("is sent the whole conversation in Ollama's words, with context length and keep-alive", async () => {
    const { sent, reply } = await ask(
      {
        system: "Be brief.",
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "see" },
              { type: "image", mediaType: "image/png", data: "AA" },
            ],
          },
          {
            role: "assistant",
            content: [
              { type: "reasoning", text: "hm" },
              { type: "text", text: "Let me look." },
              { type: "tool_call", callId: "c1", name: "get_weather", args: { city: "Oslo" } },
            ],
          },
          {
            role: "tool",
            content: [{ type: "tool_result", callId: "c1", name: "get_weather", result: "sunny" }],
          },
          {
            role: "assistant",
            content: [
              { type: "reasoning", text: "so" },
              { type: "text", text: "Sunny." },
            ],
          },
          hi,
        ],
        tools: [TOOL],
        reasoning: "max",
        maxOutputTokens: 100,
        sampling: { temperature: 0, topP: 0.9, seed: 1, stop: ["."] },
        responseFormat: { type: "json_schema", name: "answer", schema: { type: "object", properties: {} } },
      },
      { options: { contextTokens: 16_384, keepAlive: "10m" } },
    );
    expect(sent?.path).toBe("/api/chat");
    expect(sent?.body).toMatchInlineSnapshot(`
      {
        "format": {
          "additionalProperties": false,
          "properties": {},
          "type": "object",
        },
        "keep_alive": "10m",
        "messages": [
          {
            "content": "Be brief.",
            "role": "system",
          },
          {
            "content": "see",
            "images": [
              "AA",
            ],
            "role": "user",
          },
          {
            "content": "Let me look.",
            "role": "assistant",
            "thinking": "hm",
            "tool_calls": [
              {
                "function": {
                  "arguments": {
                    "city": "Oslo",
                  },
                  "name": "get_weather",
                },
              },
            ],
          },
          {
            "content": "sunny",
            "role": "tool",
            "tool_name": "get_weather",
          },
          {
            "content": "Sunny.",
            "role": "assistant",
          },
          {
            "content": "hi",
            "role": "user",
          },
        ],
        "model": "small",
        "options": {
          "num_ctx": 16384,
          "num_predict": 100,
          "seed": 1,
          "stop": [
            ".",
          ],
          "temperature": 0,
          "top_p": 0.9,
        },
        "stream": true,
        "think": "high",
        "tools": [
          {
            "function": {
              "description": "The weather of a city.",
              "name": "get_weather",
              "parameters": {
                "properties": {
                  "city": {
                    "type": "string",
                  },
                },
                "required": [
                  "city",
                ],
                "type": "object",
              },
            },
            "type": "function",
          },
        ],
      }
    `);
    expect(reply.warnings).toEqual([
      { code: "reasoning_changed", detail: expect.stringContaining('"max" was sent as "high"') },
      { code: "ability_unconfirmed", detail: expect.stringContaining("together with tools") },
    ]);
  });

  it("is found behind the address of the OpenAI-compatible one, and sends nothing that was not asked for", async () => {
    const server = await startFakeModelServer([{ blocks: ollamaFixtures.stream({ text: ["ok"] }) }]);
    const options = { server: "ollama", model: "small", baseUrl: `${server.url}/v1/` } as const;
    expect((await createLocalAdapter(options).chat({ messages: [hi] })).text).toBe("ok");
    expect(server.requests[0]?.path).toBe("/api/chat");
    expect(Object.keys(Object(server.requests[0]?.body))).toEqual(["model", "stream", "messages"]);
    await server.close();
  });

  it("keeps thinking apart from the text, and the calls with it", async () => {
    const message = (fields: object): object => ({
      message: { role: "assistant", content: "", ...fields },
      done: false,
    });
    const calls = ["Oslo", "Bonn"].map((city) => ({
      function: { name: "get_weather", arguments: { city } },
    }));
    const { reply } = await ask(
      { messages: [hi], tools: [TOOL] },
      {
        reply: lines(
          message({ thinking: "Two " }),
          message({ thinking: "cities." }),
          message({ content: "Looking." }),
          message({ tool_calls: calls.slice(0, 1) }),
          message({ tool_calls: calls.slice(1) }),
          { ...done, prompt_eval_count: 26, eval_count: 259 },
        ),
      },
    );
    expect(reply.parts.slice(0, 2)).toEqual([
      { type: "reasoning", text: "Two cities." },
      { type: "text", text: "Looking." },
    ]);
    expect(reply.toolCalls.map(({ args }) => args["city"])).toEqual(["Oslo", "Bonn"]);
    expect(reply.finishReason).toBe("tool_calls");
    expect(reply.usage).toMatchObject({ input: 26, output: 259, total: 285 });
  });

  it("turns thinking off, leaves tools out of a choice of none, and says what it cannot do", async () => {
    const off = await ask({ messages: [hi], tools: [TOOL], toolChoice: "none", reasoning: "none" });
    expect(off.sent?.body).toMatchObject({ think: false });
    expect(off.sent?.text).not.toContain('"tools"');
    const forced = {
      messages: [hi],
      tools: [TOOL],
      toolChoice: "required",
      parallelToolCalls: false,
    } as const;
    const { reply, sent } = await ask(forced);
    expect(reply.warnings.map(({ code }) => code)).toEqual(["forced_choice_left_out", "parallel_left_out"]);
    expect(sent?.text).not.toContain("tool_choice");
  });

  it("reads one JSON body where asked without streaming, and estimates usage that is not counted", async () => {
    const json = { ...done, message: { role: "assistant", content: "hello" } };
    const { reply, sent } = await ask({ messages: [hi] }, { reply: { json }, options: { stream: false } });
    expect(sent?.body).toMatchObject({ stream: false });
    expect(reply.text).toBe("hello");
    expect(reply.usage.estimated).toBe(true);
  });

  it("takes a line that is not JSON for a broken protocol, and a missing model for what it is", async () => {
    const broken: FakeReply = {
      blocks: ['{"message":{"content":"a"},"done":false}\n', "oops\n", `${JSON.stringify(done)}\n`],
    };
    await expect(ask({ messages: [hi] }, { reply: broken })).rejects.toMatchObject({ provider: "ollama" });
    const missing: FakeReply = { status: 404, json: { error: "model 'small' not found" } };
    await expect(ask({ messages: [hi] }, { reply: missing })).rejects.toMatchObject({
      kind: "not_found",
      message: expect.stringContaining("'small' not found"),
    });
  });

  it("refuses images by URL and files before it asks, and Ollama's options for another server", async () => {
    const parts = [
      { type: "image", mediaType: "image/png", url: "https://example.com/cat.png" },
      { type: "file", mediaType: "text/plain", data: "AA" },
    ] as const;
    for (const part of parts)
      await expect(ask({ messages: [{ role: "user", content: [part] }] })).rejects.toMatchObject({
        code: "unsupported",
      });
    for (const options of [{ contextTokens: 1 }, { keepAlive: -1 }])
      expect(() => createLocalAdapter({ server: "vllm", model: "m", ...options })).toThrow(
        expect.objectContaining({ code: "invalid_config", hint: expect.stringContaining("ollama") }),
      );
  });
});
