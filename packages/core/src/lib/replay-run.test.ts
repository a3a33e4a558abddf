/** Any recorded run is made again to the same head, with no model and no tool. */

import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryRunPlan, playRun } from "./__fixtures__/arbitrary-run.ts";
import { generateStructured } from "./structured.ts";
import type { Json } from "./json.ts";
import { OpenFunctionsError, ProviderError } from "./errors.ts";
import { userMessage } from "./message.ts";
import { encodeRecordLine } from "./record-file.ts";
import { replayRun } from "./replay-run.ts";
import { err, ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { createMemoryRunStore } from "./run-store.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { Compactor } from "./loop-compaction.ts";
import { runLoop } from "./run-loop.ts";
import type { LoopOptions } from "./run-options.ts";
import { type ScriptStep, scriptedAdapter } from "./testing/scripted-adapter.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function registry(): ToolRegistry {
  const tools = new ToolRegistry();
  tools.register({
    name: "add",
    description: "Adds numbers.",
    tags: ["math"],
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    },
    contract: "read",
    examples: [{ description: "one and two", input: { a: 1, b: 2 } }],
    handler: ({ a, b }) => ok(a + b),
  });
  tools.register({
    name: "slow",
    description: "Takes its time.",
    inputSchema: { type: "object", properties: { ms: { type: "number" } }, required: ["ms"] },
    contract: "read",
    handler: async ({ ms }) => (await later(ms), ok(ms)),
  });
  tools.register({
    name: "save",
    description: "Saves a note.",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    handler: ({ text }) =>
      text === "" ? err("nothing to save") : ok({ saved: text, at: 1, by: { z: 1, a: 2 } }),
  });
  tools.register({
    name: "breaks",
    description: "Throws always.",
    inputSchema: { type: "object", properties: {} },
    handler: () => {
      throw new Error("broken", { cause: new Error("why") });
    },
  });
  tools.register({
    name: "page",
    description: "Gives a page.",
    inputSchema: { type: "object", properties: {} },
    contract: {
      version: "1",
      authority: { level: "none" },
      effects: { kind: "read" },
      idempotency: { mode: "natural" },
      limits: { maxResultChars: 50 },
    },
    handler: () => ok("x".repeat(500)),
  });
  tools.register({
    name: "picture",
    description: "Shows itself.",
    inputSchema: { type: "object", properties: {} },
    contract: "read",
    handler: () => ok({ raw: 1 }),
    toModel: () => "a picture of a cat",
  });
  tools.register({
    name: "guarded",
    description: "Needs a person.",
    inputSchema: { type: "object", properties: {} },
    contract: {
      version: "1",
      authority: { level: "human" },
      effects: { kind: "destructive" },
      idempotency: { mode: "none" },
    },
    handler: () => ok(1),
  });
  tools.register(
    {
      name: "hidden_gem",
      description: "A rarely needed gem.",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ok("gem"),
    },
    { deferred: true },
  );
  return tools;
}

async function record(
  script: readonly ScriptStep[],
  options: Partial<LoopOptions> = {},
): Promise<readonly AnyRunEvent[]> {
  const store = createMemoryRunStore();
  const run = runLoop({
    adapter: scriptedAdapter(script, { capabilities: { priced: true } }),
    tools: registry(),
    messages: [userMessage("go")],
    capture: "full",
    ...options,
    store,
  });
  await run.result;
  return asFile(await all(store.read(run.runId)));
}

/** The events as a record file gives them back. */
function asFile(events: readonly AnyRunEvent[]): readonly AnyRunEvent[] {
  return events.map((event) => JSON.parse(encodeRecordLine(event)));
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const call = (name: string, args: Record<string, Json> = {}) => ({ name, args });
const usage = { input: 90, cacheRead: 5, cacheWrite: 0, output: 20, reasoning: 5, total: 120, costUsd: 0.01 };
const broken = new ProviderError("the line broke", { provider: "x", kind: "network", retryable: true });

const RUNS: readonly (readonly [string, readonly ScriptStep[], Partial<LoopOptions>?])[] = [
  ["a plain answer", [{ text: ["Hel", "lo"], usage }], { system: "Be kind." }],
  ["an empty answer", [{}]],
  [
    "a tool round with reasoning",
    [{ reasoning: "hm", text: "let me", toolCalls: [call("add", { a: 1, b: 2 })], usage }, { text: "3" }],
  ],
  [
    "calls side by side that end in another order",
    [
      { toolCalls: [call("slow", { ms: 20 }), call("add", { a: 1, b: 1 }), call("slow", { ms: 5 })] },
      { text: "done" },
    ],
  ],
  [
    "failures, throws and refusals",
    [
      {
        toolCalls: [
          call("save", { text: "" }),
          call("breaks"),
          call("nothing"),
          call("add", { a: "x" }),
          call("guarded"),
        ],
      },
      { text: "sorry" },
    ],
  ],
  [
    "arguments that are not JSON, and repaired ones",
    [
      {
        toolCalls: [
          { name: "add", args: "{oops" },
          { name: "add", args: { a: "1", b: 2 } },
        ],
      },
      { text: "ok" },
    ],
  ],
  ["contents of their own", [{ toolCalls: [call("page"), call("picture")] }, { text: "seen" }]],
  [
    "a deferred tool",
    [
      { toolCalls: [call("tools_search", { query: "gem" })] },
      { toolCalls: [call("hidden_gem")] },
      { text: "found" },
    ],
  ],
  ["a stream that broke and was asked again", [{ text: "half", error: broken }, { text: "whole" }]],
  [
    "a provider that fails",
    [{ error: new ProviderError("no", { provider: "x", kind: "auth", retryable: false }) }],
  ],
  ["a refusal", [{ text: "I will not.", finishReason: "refusal" }]],
  ["a cut answer", [{ text: "and then", finishReason: "length" }]],
  [
    "the round limit",
    [{ toolCalls: [call("add", { a: 1, b: 1 })] }, { toolCalls: [call("add", { a: 1, b: 2 })] }],
    { limits: { maxRounds: 2 } },
  ],
  [
    "the call limit",
    [{ toolCalls: [call("add", { a: 1, b: 1 }), call("add", { a: 2, b: 2 })] }, { text: "x" }],
    { limits: { maxToolCalls: 1 } },
  ],
  [
    "the token limit",
    [{ toolCalls: [call("add", { a: 1, b: 1 })], usage }, { text: "x" }],
    { limits: { maxInputTokens: 50 } },
  ],
  [
    "the cost limit",
    [{ toolCalls: [call("add", { a: 1, b: 1 })], usage }, { text: "x" }],
    { limits: { maxCostUsd: 0.001 } },
  ],
  [
    "repeated calls",
    Array.from({ length: 8 }, () => ({ toolCalls: [call("add", { a: 1, b: 1 })] })),
    { limits: { maxRepeats: 2 } },
  ],
  ["the time limit while the model thinks", [{ text: "well", stall: true }], { limits: { wallMs: 60 } }],
  [
    "the time limit while a tool works",
    [{ toolCalls: [call("slow", { ms: 400 })] }],
    { limits: { wallMs: 60 } },
  ],
  ["an unknown effect that stops", [{ toolCalls: [call("breaks")] }], { onUnknownEffect: "stop" }],
  [
    "a history from before",
    [{ text: "again" }],
    { messages: [userMessage("hi"), { role: "assistant", content: "hello" }, userMessage("and?")] },
  ],
  [
    "a history that had to be repaired",
    [{ text: "again" }],
    {
      messages: [
        userMessage("hi"),
        { role: "assistant", content: [{ type: "tool_call", callId: "old", name: "add", args: {} }] },
        userMessage("and?"),
      ],
    },
  ],
  [
    "context and sections",
    [{ text: "yes" }],
    {
      system: [
        { name: "role", text: "You are A." },
        { name: "rules", text: "Be short." },
      ],
      context: { text: "It rains.", blocks: [{ providerId: "weather", digest: "sha256:1", chars: 9 }] },
    },
  ],
  [
    "requests with settings",
    [{ text: "{}" }],
    {
      toolChoice: "none",
      parallelToolCalls: false,
      maxOutputTokens: 50,
      sampling: { temperature: 0 },
      reasoning: "low",
    },
  ],
];

describe("replayRun", () => {
  it.each(RUNS.map(([title, script, options]) => ({ title, script, options })))(
    "reaches the recorded head: $title",
    async ({ script, options }) => {
      const events = await record(script, options);
      const report = await replayRun(events);
      expect(report).toEqual({ head: events.at(-1)?.hash, events: events.length, complete: true });
    },
  );

  it("reaches the head of any generated run, up to an end from outside", { timeout: 120_000 }, async () => {
    await fastCheck.assert(
      fastCheck.asyncProperty(arbitraryRunPlan, async (plan) => {
        const { events, result } = await playRun({ ...plan, capture: "full" });
        const report = await replayRun(asFile(events));
        const fromOutside = result.status === "cancelled" || result.stopReason === "internal_error";
        expect(report.events).toBeGreaterThanOrEqual(events.length - (fromOutside ? 1 : 0));
        expect(report.head).toBe(events[report.events - 1]?.hash);
      }),
      { numRuns: Math.max(100, 2_000 * SCALE) },
    );
  });

  it("replays structured output with its repair round", async () => {
    const store = createMemoryRunStore();
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    const adapter = scriptedAdapter([{ text: '{"n":"x"}' }, { text: '{"n":1}' }]);
    await generateStructured(adapter, { schema, prompt: "a number", store, capture: "full" });
    const [run] = (await store.list()).runs;
    const events = await all(store.read(run?.runId ?? ""));
    expect((await replayRun(events)).complete).toBe(true);
  });

  it("replays a steered run, and a compacted one", async () => {
    const store = createMemoryRunStore();
    let steered = false;
    const adapter = scriptedAdapter([{ toolCalls: [call("slow", { ms: 10 })] }, { text: "ok" }]);
    const run = runLoop({
      adapter,
      tools: registry(),
      messages: [userMessage("go")],
      capture: "full",
      store,
    });
    for await (const event of run) {
      if (event.type === "tool.started" && !steered) run.steer("hurry");
      steered ||= event.type === "tool.started";
    }
    expect((await replayRun(await all(store.read(run.runId)))).complete).toBe(true);
    const full = new OpenFunctionsError("too long", { code: "context_overflow" });
    const compactor: Compactor = {
      compact: async (_messages, { overflowed }) =>
        overflowed ? { messages: [userMessage("short")] } : undefined,
    };
    const compacted = await record([{ error: full }, { text: "ok" }], { compactor });
    expect(compacted.some((event) => event.type === "history.compacted")).toBe(true);
    expect((await replayRun(compacted)).complete).toBe(true);
  });

  it("replays a cancelled run up to the abort", async () => {
    const store = createMemoryRunStore();
    const run = runLoop({
      adapter: scriptedAdapter([{ stall: true }]),
      messages: [userMessage("go")],
      capture: "full",
      store,
    });
    for await (const event of run) if (event.type === "model.requested") run.abort("enough");
    const events = await all(store.read(run.runId));
    expect(events.at(-1)?.type).toBe("run.cancelled");
    expect((await replayRun(events)).events).toBeGreaterThanOrEqual(events.length - 1);
  });

  it("names the leaves that digest-only capture left empty, before anything runs", async () => {
    const events = await record([{ text: "hi" }], { capture: "digest" });
    await expect(replayRun(events)).rejects.toThrow(/lacks 3 values: event 1 \/data\/message, event 3/);
  });

  it("shows how a request differs where the instructions or a tool are others today", async () => {
    const events = await record([{ toolCalls: [call("add", { a: 1, b: 2 })] }, { text: "3" }], {
      system: "Be kind.",
    });
    await expect(replayRun(events, { system: "Be rude." })).rejects.toMatchObject({
      code: "replay_failed",
      seq: 1,
      expected: "prompt.composed",
    });
    const other = new ToolRegistry();
    other.register({
      name: "add",
      description: "Adds two numbers.",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ok(1),
    });
    await expect(replayRun(events, { tools: other })).rejects.toMatchObject({
      seq: 0,
      expected: "run.started",
    });
  });

  it("refuses a record that somebody changed, with the first finding", async () => {
    const events = await record([{ toolCalls: [call("add", { a: 1, b: 2 })] }, { text: "3" }]);
    const text = JSON.stringify(events);
    const forged = JSON.parse(text.replace('"data":3', '"data":4'));
    await expect(replayRun(forged)).rejects.toThrow(/Event 6 .* does not match its digest/);
    const shorter = events.filter((event) => event.type !== "tool.started");
    await expect(replayRun(shorter)).rejects.toMatchObject({ code: "record_invalid" });
    for (const odd of [[], [null], [{}], [{ type: "run.started" }]])
      await expect(replayRun(odd as never)).rejects.toMatchObject({ code: "record_invalid" });
  });

  it("replays every prefix of a run as far as it goes, and waits for nothing that never comes", async () => {
    const events = await record([
      { toolCalls: [call("add", { a: 1, b: 2 }), call("slow", { ms: 1 })] },
      { text: "3" },
    ]);
    for (let length = 2; length < events.length; length += 1) {
      const report = await replayRun(events.slice(0, length));
      expect([report.events, report.complete]).toEqual([length, false]);
    }
  });
});
