/** The fake server speaks both wire formats well enough for the official SDK and for our adapter. Nothing is timed. */

import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import {
  createMemoryRunStore,
  defineTool,
  ok,
  runLoop,
  ToolRegistry,
  userMessage,
} from "@openfunctions/core";
import { OpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeOpenAI, startFakeOpenAI } from "./fake-openai-server.ts";

const ANSWER = "The final answer is 42.";
const parameters = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
  additionalProperties: false,
} as const;

let server: FakeOpenAI;
beforeAll(async () => {
  server = await startFakeOpenAI();
});
afterAll(() => server.close());

describe("the official SDK", () => {
  const client = (): OpenAI => new OpenAI({ apiKey: "none", baseURL: server.baseUrl, maxRetries: 0 });
  const tools = [{ type: "function" as const, name: "add", description: "Adds.", parameters, strict: true }];
  const chatTools = [
    { type: "function" as const, function: { name: "add", description: "Adds.", parameters } },
  ];

  it("runs one round over streamed responses", async () => {
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "go" }];
    const first = await client().responses.stream({ model: "k1", input, tools }).finalResponse();
    const [call] = first.output;
    if (call?.type !== "function_call") throw new Error("the first reply asks for a tool");
    expect(JSON.parse(call.arguments)).toEqual({ a: 0, b: 1 });
    input.push(call, { type: "function_call_output", call_id: call.call_id, output: "1" });
    const second = await client().responses.stream({ model: "k1", input, tools }).finalResponse();
    expect(second.output_text).toBe(ANSWER);
    expect(second.usage?.total_tokens).toBe(30);
  });

  it("runs one round over responses in one piece", async () => {
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "go" }];
    const first = await client().responses.create({ model: "k1", input, tools });
    const [call] = first.output;
    if (call?.type !== "function_call") throw new Error("the first reply asks for a tool");
    input.push(call, { type: "function_call_output", call_id: call.call_id, output: "1" });
    const second = await client().responses.create({ model: "k1", input, tools });
    expect(second.output_text).toBe(ANSWER);
  });

  it("runs one round over streamed chat completions", async () => {
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: "user", content: "go" }];
    const ask = (): Promise<OpenAI.Chat.ChatCompletion> =>
      client().chat.completions.stream({ model: "k1", messages, tools: chatTools }).finalChatCompletion();
    const first = (await ask()).choices[0]?.message;
    const [call] = first?.tool_calls ?? [];
    if (first === undefined || call?.type !== "function") throw new Error("the first reply asks for a tool");
    expect(JSON.parse(call.function.arguments)).toEqual({ a: 0, b: 1 });
    messages.push(first, { role: "tool", tool_call_id: call.id, content: "1" });
    expect((await ask()).choices[0]?.message.content).toBe(ANSWER);
  });

  it("runs one round over chat completions in one piece", async () => {
    const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: "user", content: "go" }];
    const ask = (): Promise<OpenAI.Chat.ChatCompletion> =>
      client().chat.completions.create({ model: "k1", messages, tools: chatTools });
    const first = (await ask()).choices[0]?.message;
    const [call] = first?.tool_calls ?? [];
    if (first === undefined || call === undefined) throw new Error("the first reply asks for a tool");
    messages.push(first, { role: "tool", tool_call_id: call.id, content: "1" });
    expect((await ask()).choices[0]?.message.content).toBe(ANSWER);
  });
});

describe.each(["responses", "chat"] as const)("our adapter over %s", (api) => {
  const start = (model: string): ReturnType<typeof runLoop> => {
    const tools = new ToolRegistry();
    tools.register(
      defineTool({
        name: "add",
        description: "Adds.",
        inputSchema: parameters,
        contract: "read",
        handler: async ({ a, b }) => ok(a + b),
      }),
    );
    return runLoop({
      adapter: createOpenAIAdapter({ api, model, apiKey: "none", baseUrl: server.baseUrl }),
      tools,
      store: createMemoryRunStore(),
      messages: [userMessage("go")],
      limits: { maxRounds: 20 },
    });
  };

  it.each([
    ["k1", 1],
    ["k10", 10],
    ["k3p2", 6],
  ])("runs the script %s with %i calls", async (model, calls) => {
    const { status, text, record } = await start(model).result;
    expect({ status, text }).toEqual({ status: "completed", text: ANSWER });
    expect(record.toolCalls).toHaveLength(calls);
  });

  it("streams the script s2000 as 2,000 deltas", async () => {
    const run = start("s2000");
    let deltas = 0;
    for await (const event of run) if (event.type === "text.delta") deltas += 1;
    expect(deltas).toBe(2_000);
    expect((await run.result).text).toHaveLength(11_790);
  });
});

describe("the server", () => {
  it("counts what it was asked", async () => {
    const before = server.stats();
    const body = JSON.stringify({ model: "k0", input: [{ role: "user", content: "é" }] });
    await fetch(`${server.baseUrl}/responses`, { method: "POST", body });
    const after = await (await fetch(`${server.baseUrl}/stats`)).json();
    expect(after).toMatchObject({
      requests: before.requests + 1,
      bytesIn: before.bytesIn + Buffer.byteLength(body),
    });
  });

  it("answers what it does not know with OpenAI's error shape", async () => {
    const unknown = await fetch(`${server.baseUrl}/nothing`, { method: "POST", body: "{}" });
    const broken = await fetch(`${server.baseUrl}/responses`, { method: "POST", body: "{" });
    expect([unknown.status, broken.status]).toEqual([404, 400]);
    expect(await broken.json()).toMatchObject({ error: { type: "invalid_request_error" } });
  });
});
