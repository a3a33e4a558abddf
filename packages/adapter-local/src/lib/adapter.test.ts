/** The adapter for local servers passes the conformance suite over HTTP; what is its own is tested below. */

import { describeAdapter, startFakeModelServer } from "@openfunctions/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { SUITES } from "./__fixtures__/suites.ts";
import { createLocalAdapter } from "./adapter.ts";
import { createOfflineAdapter } from "./offline-adapter.ts";

for (const [name, suite] of Object.entries(SUITES)) describeAdapter(name, suite, { describe, it });

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const CHUNK = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "small", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const TOOL = {
  name: "get_weather",
  description: "tells the weather",
  inputSchema: { type: "object", properties: {} },
} as const;

describe("the local adapter", () => {
  it("needs a model and an http(s) address, and says where they come from", () => {
    expect(() => createLocalAdapter({ server: "ollama" })).toThrow(
      expect.objectContaining({ code: "no_model", hint: expect.stringContaining("LOCAL_MODEL") }),
    );
    expect(() => createLocalAdapter({ model: "m" })).toThrow(
      expect.objectContaining({ code: "invalid_config", hint: expect.stringContaining("LOCAL_BASE_URL") }),
    );
    expect(() => createLocalAdapter({ model: "m", server: "olama" as "ollama" })).toThrow(
      expect.objectContaining({ code: "invalid_config", hint: expect.stringContaining("ollama") }),
    );
    expect(() => createLocalAdapter({ model: "m", baseUrl: "file:///etc" })).toThrow(
      expect.objectContaining({ code: "invalid_config" }),
    );
  });

  it("sends no key where none was given, and asks without streaming where told", async () => {
    const reply = {
      id: "c",
      object: "chat.completion",
      model: "small",
      choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
    };
    const server = await startFakeModelServer([
      { json: reply, headers: { "content-type": "application/json" } },
    ]);
    open.push(() => server.close());
    const adapter = createLocalAdapter({ model: "small", baseUrl: `${server.url}/v1/`, stream: false });
    expect((await adapter.chat({ messages: [{ role: "user", content: "hi" }] })).text).toBe("hello");
    expect(server.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      body: { model: "small", stream: false },
    });
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it("field A23: reasoning text is not sent back to servers that do not ask for it", async () => {
    const server = await startFakeModelServer([
      { blocks: [CHUNK({ content: "ok" }), CHUNK({}, "stop"), "data: [DONE]\n\n"] },
    ]);
    open.push(() => server.close());
    const adapter = createLocalAdapter({ model: "small", baseUrl: `${server.url}/v1` });
    await adapter.chat({
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "secret thoughts" },
            { type: "tool_call", callId: "1", name: "get_weather", args: {} },
          ],
        },
        { role: "tool", content: [{ type: "tool_result", callId: "1", name: "get_weather", result: "sun" }] },
      ],
      tools: [TOOL],
    });
    expect(server.requests[0]?.text).not.toContain("secret thoughts");
  });

  it("warns of a call that was written as text, and leaves it text", async () => {
    const server = await startFakeModelServer([
      {
        blocks: [
          CHUNK({ content: '{"name": "get_weather", ' }),
          CHUNK({ content: '"arguments": {}}' }),
          CHUNK({}, "stop"),
          "data: [DONE]\n\n",
        ],
      },
    ]);
    open.push(() => server.close());
    const reply = await createLocalAdapter({ model: "small", baseUrl: `${server.url}/v1` }).chat({
      messages: [{ role: "user", content: "weather?" }],
      tools: [TOOL],
    });
    expect(reply.toolCalls).toEqual([]);
    expect(reply.warnings).toContainEqual({
      code: "call_as_text",
      detail: expect.stringContaining("get_weather"),
    });
  });
});

describe("the offline adapter beside the suite", () => {
  it("chat is collect(stream): whole and streamed replies are the same", async () => {
    const adapter = createOfflineAdapter();
    const request = { messages: [{ role: "user" as const, content: "what can you do" }] };
    let text = "";
    for await (const event of adapter.stream(request)) if (event.type === "text_delta") text += event.text;
    expect((await adapter.chat(request)).text).toBe(text);
  });
});
