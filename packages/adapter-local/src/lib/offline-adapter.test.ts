import { describe, expect, it } from "vitest";
import { ToolRegistry, createMemoryStore, generateStructured, runLoop } from "@openfunctions/core";
import type { LoopResult, Message } from "@openfunctions/core";
import { defineTool, ok } from "@openfunctions/core";
import { createOfflineAdapter } from "./offline-adapter.ts";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
} as const;

function tools(): ToolRegistry {
  const registry = new ToolRegistry();
  const tasks: string[] = [];
  registry.registerAll([
    defineTool({
      name: "calculate",
      description: "Calculates arithmetic and percentages.",
      inputSchema: {
        type: "object",
        properties: { expression: { type: "string", description: "What to work out." } },
        required: ["expression"],
      },
      contract: "read",
      examples: [{ description: "what is 15% of 2,340", input: { expression: "15% of 2,340" } }],
      handler: ({ expression }) => ok({ value: 351 }, `${expression} is 351.`),
    }),
    defineTool({
      name: "add_task",
      description: "Adds a task to the list of things to do.",
      inputSchema: {
        type: "object",
        properties: { title: { type: "string", description: "What is to be done." } },
        required: ["title"],
      },
      contract: "write",
      examples: [
        { description: "add a task: call the bank tomorrow", input: { title: "call the bank tomorrow" } },
        { description: "remind me to water the plants", input: { title: "water the plants" } },
      ],
      handler: ({ title }) => {
        tasks.push(title);
        return ok({ title });
      },
    }),
    defineTool({
      name: "list_tasks",
      description: "Lists the tasks.",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      examples: [{ description: "what are my tasks", input: {} }],
      handler: () => ok({ tasks }),
    }),
    defineTool({
      name: "forecast",
      description: "Tells the weather forecast for a city.",
      inputSchema: {
        type: "object",
        properties: {
          city: { type: "string" },
          days: { type: "integer", default: 1 },
          unit: { enum: ["celsius", "fahrenheit"] },
        },
        required: ["city"],
      },
      contract: "read",
      handler: (params) => ok(params),
    }),
  ]);
  return registry;
}

async function say(text: string, before: readonly Message[] = [], registry = tools()): Promise<LoopResult> {
  return runLoop({
    adapter: createOfflineAdapter(),
    tools: registry,
    capture: "full",
    messages: [...before, { role: "user", content: text }],
  }).result;
}

const calls = (result: LoopResult) =>
  result.record.toolCalls.map(({ toolName, args }) => [toolName, args.value]);

describe("the offline adapter", () => {
  it.each([
    ["what is 15% of 2,340", "calculate", { expression: "15% of 2,340" }],
    ["What is 20% of 50?", "calculate", { expression: "20% of 50" }],
    ["add a task: call the bank tomorrow", "add_task", { title: "call the bank tomorrow" }],
    ["please add a task: buy milk", "add_task", { title: "buy milk" }],
    ["remind me to feed the cat", "add_task", { title: "feed the cat" }],
    ["what are my tasks?", "list_tasks", {}],
    [
      "weather forecast city: Oslo, days: 3, in celsius",
      "forecast",
      { city: "Oslo", days: 3, unit: "celsius" },
    ],
  ])("runs the right tool for %j", async (text, name, args) => {
    const result = await say(text);
    expect(result.status).toBe("completed");
    expect(calls(result)).toEqual([[name, expect.objectContaining(args)]]);
  });

  it("reports the result in plain words and says once that it is no language model", async () => {
    const first = await say("what is 15% of 2,340");
    expect(first.text).toContain("15% of 2,340 is 351.");
    expect(first.text).toContain("not a language model");
    const second = await say("what are my tasks", first.messages);
    expect(second.text).not.toContain("not a language model");
  });

  it("keeps whose it is in a text that it hands on", async () => {
    const registry = new ToolRegistry();
    const kept: string[] = [];
    registry.register(
      defineTool({
        name: "store_fact",
        description: "Remembers one fact for later conversations.",
        inputSchema: { type: "object", properties: { content: { type: "string" } }, required: ["content"] },
        contract: "write",
        examples: [{ description: "remember that Ada likes tea", input: { content: "Ada likes tea" } }],
        handler: ({ content }) => (kept.push(content), ok(content, "Remembered.")),
      }),
    );
    for (const content of [
      "remember the fact that my cat is called Miez",
      "remember the fact that I live in Rome",
    ])
      await runLoop({
        adapter: createOfflineAdapter(),
        tools: registry,
        messages: [{ role: "user", content }],
      }).result;
    expect(kept).toEqual(["my cat is called Miez", "I live in Rome"]);
  });

  it("asks for what is missing, and reads the answer together with the question", async () => {
    const first = await say("weather forecast");
    expect(calls(first)).toEqual([]);
    expect(first.text).toContain('"forecast"');
    expect(first.text).toContain("city");
    const second = await say("Oslo", first.messages);
    expect(calls(second)).toEqual([["forecast", { city: "Oslo", days: 1 }]]);
  });

  it("says what it can do when no tool fits, and never calls one", async () => {
    const result = await say("sing me a lullaby about dragons");
    expect(calls(result)).toEqual([]);
    expect(result.text).toContain("not a language model");
    expect(result.text).toContain("calculate");
    expect((await say("hello", [], new ToolRegistry())).text).toContain("no tools");
  });

  it("gives the same reply to the same history, with call ids that come only once", async () => {
    const [one, two] = [await say("what is 15% of 2,340"), await say("what is 15% of 2,340")];
    expect(one.messages).toEqual(two.messages);
    const third = await say("what is 5% of 10", one.messages);
    const ids = third.messages
      .flatMap(({ content }) => (typeof content === "string" ? [] : content))
      .flatMap((part) => (part.type === "tool_call" ? [part.callId] : []));
    expect(new Set(ids).size).toBe(2);
  });

  it("reports a failed call as failed", async () => {
    const registry = new ToolRegistry();
    registry.register({
      name: "break_it",
      description: "breaks the thing",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ({ success: false, error: "it is stuck" }),
    });
    const result = await say("break the thing", [], registry);
    expect(result.text).toContain('"break_it" could not do that. it is stuck');
  });

  it("structured output works only with values that are in the message", async () => {
    const adapter = createOfflineAdapter();
    expect(
      (await generateStructured(adapter, { schema: SCHEMA, prompt: 'city: "Oslo", 3 days' })).value,
    ).toEqual({ city: "Oslo", days: 3 });
    await expect(
      generateStructured(adapter, { schema: SCHEMA, prompt: "somewhere nice" }),
    ).rejects.toMatchObject({ code: "missing_values", message: expect.stringContaining("city") });
  });

  it("a forced tool without its values is an error that names them", async () => {
    const forced = runLoop({
      adapter: createOfflineAdapter(),
      tools: tools(),
      toolChoice: { name: "forecast" },
      messages: [{ role: "user", content: "" + "hm" }],
    });
    expect((await forced.result).error).toMatchObject({ code: "missing_values" });
  });

  it("streams in pieces, reports estimated usage at no cost, and stops on abort", async () => {
    const adapter = createOfflineAdapter();
    const events = [];
    for await (const event of adapter.stream({ messages: [{ role: "user", content: "hello there" }] }))
      events.push(event);
    expect(events.filter(({ type }) => type === "text_delta").length).toBeGreaterThan(3);
    expect(events.find(({ type }) => type === "usage")).toMatchObject({
      usage: { costUsd: 0, estimated: true },
    });
    const signal = AbortSignal.abort(new Error("stop"));
    await expect(adapter.chat({ messages: [{ role: "user", content: "x" }], signal })).rejects.toThrow(
      "stop",
    );
  });

  it("reads a phrase whatever its spaces, and says of a long text that it is too long", async () => {
    expect(calls(await say(`add a task:${" ".repeat(3_000)}buy   milk`))).toEqual([
      ["add_task", { title: "buy milk" }],
    ]);
    const long = await say(`add a task: ${"milk ".repeat(5_000)}`);
    expect(calls(long)).toEqual([]);
    expect(long.text).toContain("too long");
  });

  it("keeps state in what the tools keep, not in itself", async () => {
    const store = createMemoryStore();
    expect(await store.size()).toBe(0);
    const adapter = createOfflineAdapter();
    const [left, right] = await Promise.all([
      adapter.chat({ messages: [{ role: "user", content: "left" }] }),
      adapter.chat({ messages: [{ role: "user", content: "right" }] }),
    ]);
    expect(left.text).toBe(right.text);
  });
});
