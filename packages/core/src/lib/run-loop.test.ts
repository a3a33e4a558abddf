import { describe, expect, it } from "vitest";
import type { ModelEvent } from "./adapter.ts";
import { ProviderError } from "./errors.ts";
import { createPorts } from "./ports.ts";
import { err, ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { hashEvent, isChainEvent, chainStart } from "./run-event.ts";
import type { AnyRunEvent, LiveEvent } from "./run-event.ts";
import { foldRun } from "./run-fold.ts";
import { recordLacks, runLoop } from "./__fixtures__/replayed-loop.ts";
import type { LoopOptions } from "./run-options.ts";
import { createMemoryRunStore } from "./run-store.ts";
import { fakeClock, faultyStore, memorySink } from "./testing/fakes.ts";
import { type ScriptStep, type ScriptedAdapter, scriptedAdapter } from "./testing/scripted-adapter.ts";
import { createMemoryStore } from "./store.ts";
import { type ToolDefinition, defineTool } from "./tool.ts";

function tools(
  handlers: Record<
    string,
    {
      handler: (params: Record<string, unknown>, context: { signal: AbortSignal }) => unknown;
      contract?: ToolDefinition["contract"];
    }
  >,
): ToolRegistry {
  const registry = new ToolRegistry();
  for (const [name, { handler, contract = "read" }] of Object.entries(handlers)) {
    registry.register({
      name,
      description: `does ${name}`,
      inputSchema: { type: "object", properties: { n: { type: "integer" } } },
      contract,
      handler: handler as ToolDefinition["handler"],
    });
  }
  return registry;
}

const ask = (text: string) => [{ role: "user" as const, content: text }];
const call = (name: string, n: unknown, callId = `c_${String(n)}`) => ({
  name,
  args: { n } as never,
  callId,
});

function run(
  steps: readonly ScriptStep[],
  options: Partial<LoopOptions> = {},
): { adapter: ScriptedAdapter; run: ReturnType<typeof runLoop> } {
  const adapter = scriptedAdapter(steps);
  return { adapter, run: runLoop({ adapter, messages: ask("hello"), capture: "full", ...options }) };
}

async function events(of: AsyncIterable<AnyRunEvent | LiveEvent>): Promise<(AnyRunEvent | LiveEvent)[]> {
  const seen: (AnyRunEvent | LiveEvent)[] = [];
  for await (const event of of) seen.push(event);
  return seen;
}

describe("runLoop", () => {
  it("asks, acts, observes and answers; the record is the fold of its events", async () => {
    const store = createMemoryRunStore();
    const { adapter, run: loop } = run([{ toolCalls: [call("add", 1)] }, { text: ["done ", "now"] }], {
      tools: tools({ add: { handler: ({ n }) => ok(Number(n) + 1) } }),
      store,
    });
    const seen = await events(loop);
    const result = await loop.result;
    expect(result).toMatchObject({ status: "completed", stopReason: "model_response", text: "done now" });
    expect(result.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(adapter.requests[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      content: [{ callId: "c_1", result: "2" }],
    });
    const chain = seen.filter(isChainEvent);
    expect(chain.map(({ type }) => type)).toEqual([
      "run.started",
      "message.appended",
      "model.requested",
      "model.responded",
      "tool.requested",
      "tool.started",
      "tool.finished",
      "model.requested",
      "model.responded",
      "run.completed",
    ]);
    expect(seen.filter((event) => !isChainEvent(event)).map(({ type }) => type)).toContain("text.delta");
    expect(foldRun(chain)).toEqual(result.record);
    expect(await store.get(result.runId)).toEqual(result.record);
    expect(result.record).toMatchObject({
      rounds: 2,
      effects: { summary: "read_only", certainty: "known" },
      toolCalls: [{ toolName: "add", outcome: "succeeded", args: { value: { n: 1 } } }],
    });
  });

  it("numbers, times and chains its events", async () => {
    const { run: loop } = run([{ text: "hi" }]);
    const chain = (await events(loop)).filter(isChainEvent);
    let prev = chainStart(loop.runId);
    chain.forEach((event, index) => {
      expect(event.seq).toBe(index);
      expect(event.prev).toBe(prev);
      expect(hashEvent(event)).toBe(event.hash);
      prev = event.hash;
    });
    expect((await loop.result).record.head).toBe(prev);
  });

  it("runs the calls of a reply side by side, keeps their order, and lets one failure be one failure", async () => {
    const open: (() => void)[] = [];
    let running = 0;
    const started = new Promise<void>((resolve) => {
      const check = setInterval(() => {
        if (running === 3) {
          clearInterval(check);
          resolve();
        }
      }, 1);
    });
    const registry = tools({
      slow: {
        handler: async ({ n }) => {
          running += 1;
          await new Promise<void>((resolve) => open.push(resolve));
          return n === 2 ? err("two is bad") : ok(n);
        },
      },
    });
    const { adapter, run: loop } = run(
      [{ toolCalls: [call("slow", 1), call("slow", 2), call("slow", 3)] }, { text: "ok" }],
      { tools: registry },
    );
    await started;
    for (const finish of open.toReversed()) finish();
    expect((await loop.result).status).toBe("completed");
    const results = adapter.requests[1]?.messages.at(-1)?.content;
    expect(results).toMatchObject([
      { callId: "c_1", result: "1" },
      { callId: "c_2", isError: true },
      { callId: "c_3", result: "3" },
    ]);
  });

  it("core Z1: the second of three calls is invalid; the others run and the loop continues", async () => {
    const ran: unknown[] = [];
    const registry = tools({
      add: {
        handler: ({ n }) => {
          ran.push(n);
          return ok(n);
        },
      },
    });
    const { adapter, run: loop } = run(
      [{ toolCalls: [call("add", 1), call("add", "x"), call("add", 3)] }, { text: "ok" }],
      { tools: registry },
    );
    const result = await loop.result;
    expect(ran).toEqual([1, 3]);
    expect(result.text).toBe("ok");
    expect(result.record.toolCalls.map(({ code }) => code)).toEqual([undefined, "invalid_input", undefined]);
    expect(adapter.requests[1]?.messages.at(-1)?.content).toMatchObject([
      { callId: "c_1" },
      { callId: "c_x", isError: true },
      { callId: "c_3" },
    ]);
  });

  it("core Z2: malformed arguments are an object in history, also after it was stored and loaded; the record keeps the raw text", async () => {
    const registry = tools({ add: { handler: () => ok(1) } });
    const bad: ModelEvent[] = [
      { type: "start" },
      {
        type: "tool_call",
        index: 0,
        callId: "bad",
        name: "add",
        args: {},
        argsText: '{"n":',
        argsError: "it ends too early",
      },
      { type: "finish", reason: "tool_calls" },
    ];
    const first = await run([{ events: bad }, { text: "sorry" }], { tools: registry }).run.result;
    expect(first.record.toolCalls[0]).toMatchObject({ code: "invalid_input", args: { value: '{"n":' } });
    const stored = JSON.parse(JSON.stringify(first.messages));
    const { adapter, run: second } = run([{ text: "again" }], {
      tools: registry,
      messages: [...stored, ...ask("go on")],
    });
    await second.result;
    const turn = adapter.requests[0]?.messages[1];
    expect(turn?.content).toMatchObject([{ type: "tool_call", callId: "bad", args: {} }]);
    expect(JSON.stringify(adapter.requests)).not.toContain('{\\"n\\":');
  });

  it("core Z8, field D8: an equal call with an equal result is refused after three, then ends the run", async () => {
    let ran = 0;
    const registry = tools({
      add: {
        handler: () => {
          ran += 1;
          return ok("same");
        },
      },
    });
    const steps = Array.from({ length: 10 }, (_, index) => ({ toolCalls: [call("add", 1, `c${index}`)] }));
    const { adapter, run: loop } = run(steps, { tools: registry });
    expect(await loop.result).toMatchObject({
      status: "limit_reached",
      stopReason: "repeated_calls",
      text: "",
    });
    expect(ran).toBe(3);
    expect(JSON.stringify(adapter.requests.at(-1)?.messages)).toContain("repeated_call");
  });

  it("core Z7: an abort in a write is unknown at once, and its late end is recorded", async () => {
    const registry = tools({
      pay: {
        contract: {
          version: "1",
          authority: { level: "none" },
          effects: { kind: "write" },
          idempotency: { mode: "none" },
        },
        handler: () => new Promise((resolve) => setTimeout(() => resolve(ok("paid")), 500)),
      },
    });
    const { run: loop } = run([{ toolCalls: [call("pay", 1)] }], { tools: registry });
    setTimeout(() => loop.abort("no more"), 30);
    const result = await loop.result;
    expect(result).toMatchObject({ status: "cancelled", stopReason: "caller_abort" });
    expect(result.record.toolCalls[0]).toMatchObject({
      outcome: "unknown",
      code: "cancelled",
      lateSettlement: true,
    });
    expect(result.record.effects).toMatchObject({ certainty: "unknown", verificationRequired: ["c_1"] });
  });

  it("an abort while the model is waited for ends the run at once and closes the stream", async () => {
    const { run: loop } = run([{ stall: true }]);
    setTimeout(() => loop.abort(new Error("enough")), 10);
    const began = performance.now();
    expect(await loop.result).toMatchObject({ status: "cancelled", text: "" });
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it("leaving the iteration early aborts the run; not iterating does not", async () => {
    const left = run([{ text: "one", stall: true }]).run;
    for await (const event of left) if (event.type === "text.delta") break;
    expect((await left.result).status).toBe("cancelled");
    expect((await run([{ text: "one" }]).run.result).status).toBe("completed");
  });

  it("each limit is a status with its own reason, never text", async () => {
    const registry = tools({ add: { handler: ({ n }) => ok(n) } });
    const many = Array.from({ length: 9 }, (_, index) => ({
      toolCalls: [call("add", index)],
      usage: { input: 5, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, total: 10 },
    }));
    const end = async (limits: LoopOptions["limits"]) => {
      const { status, stopReason, text } = await run(many, { tools: registry, limits: limits ?? {} }).run
        .result;
      return [status, stopReason, text];
    };
    expect(await end({ maxRounds: 0 })).toEqual(["limit_reached", "max_rounds", ""]);
    expect(await end({ maxRounds: 2 })).toEqual(["limit_reached", "max_rounds", ""]);
    expect(await end({ maxToolCalls: 2 })).toEqual(["limit_reached", "tool_quota", ""]);
    expect(await end({ maxInputTokens: 9 })).toEqual(["limit_reached", "token_budget", ""]);
    expect(await end({ maxOutputTokens: 9 })).toEqual(["limit_reached", "token_budget", ""]);
  });

  it("the wall clock ends a run as time_budget", async () => {
    const clock = fakeClock();
    const { run: loop } = run([{ stall: true }], { ports: { clock }, limits: { wallMs: 1_000 } });
    await new Promise((resolve) => setTimeout(resolve, 5));
    clock.advance(1_001);
    expect(await loop.result).toMatchObject({ status: "limit_reached", stopReason: "time_budget" });
  });

  it("a cost limit for a model without a price is an error before anything runs", () => {
    expect(() =>
      runLoop({
        adapter: scriptedAdapter([], { capabilities: { priced: false } }),
        messages: ask("x"),
        limits: { maxCostUsd: 1 },
      }),
    ).toThrow(expect.objectContaining({ code: "invalid_config" }));
  });

  it("a cut, refused, filtered or empty reply is what it is", async () => {
    expect(await run([{ text: "half", finishReason: "length" }]).run.result).toMatchObject({
      status: "limit_reached",
      stopReason: "output_truncated",
      text: "",
      partial: "half",
    });
    expect(await run([{ text: "no", finishReason: "refusal" }]).run.result).toMatchObject({
      status: "failed",
      stopReason: "refusal",
    });
    expect(await run([{ finishReason: "content_filter" }]).run.result).toMatchObject({
      status: "failed",
      stopReason: "content_filter",
    });
    expect(await run([{}]).run.result).toMatchObject({
      status: "completed",
      stopReason: "empty_response",
      text: "",
    });
  });

  it("asks a step again whose stream broke after content; earlier rounds stay", async () => {
    let ran = 0;
    const registry = tools({
      add: {
        handler: () => {
          ran += 1;
          return ok(1);
        },
      },
    });
    const broken = new ProviderError("the body ended", { provider: "scripted", kind: "network" });
    const { adapter, run: loop } = run(
      [{ toolCalls: [call("add", 1)] }, { text: "half", error: broken }, { text: "whole" }],
      { tools: registry },
    );
    const result = await loop.result;
    expect(result).toMatchObject({ status: "completed", text: "whole" });
    expect(ran).toBe(1);
    expect(adapter.requests).toHaveLength(3);
  });

  it("a provider error ends the run as failed, with the error", async () => {
    const error = new ProviderError("no", { provider: "scripted", kind: "auth" });
    expect(await run([{ error }]).run.result).toMatchObject({
      status: "failed",
      stopReason: "provider_error",
      error: { code: "provider_auth" },
    });
  });

  it("equal call ids in one reply are a protocol error before any handler starts", async () => {
    let ran = 0;
    const registry = tools({
      add: {
        handler: () => {
          ran += 1;
          return ok(1);
        },
      },
    });
    const { run: loop } = run([{ toolCalls: [call("add", 1, "same"), call("add", 2, "same")] }], {
      tools: registry,
    });
    expect(await loop.result).toMatchObject({ status: "failed", stopReason: "protocol_error" });
    expect(ran).toBe(0);
  });

  it("a write of unknown outcome is told to the model, and ends the run where asked", async () => {
    const registry = tools({
      pay: {
        contract: "write",
        handler: () => {
          throw new Error("connection lost");
        },
      },
    });
    const { adapter, run: loop } = run([{ toolCalls: [call("pay", 1)] }, { text: "I cannot tell" }], {
      tools: registry,
    });
    expect((await loop.result).status).toBe("completed");
    expect(JSON.stringify(adapter.requests[1]?.messages.at(-1))).toMatch(/outcome is unknown/);
    const stopped = run([{ toolCalls: [call("pay", 1)] }, { text: "never" }], {
      tools: registry,
      onUnknownEffect: "stop",
    });
    expect(await stopped.run.result).toMatchObject({ status: "failed", stopReason: "tool_effect_unknown" });
  });

  it("a steering message is in the next request", async () => {
    const { adapter, run: loop } = run([{ toolCalls: [call("add", 1)] }, { text: "ok" }], {
      tools: tools({
        add: {
          handler: () => {
            loop.steer("be brief");
            return ok(1);
          },
        },
      }),
    });
    await loop.result;
    expect(adapter.requests[1]?.messages.at(-1)).toEqual({ role: "user", content: "be brief" });
  });

  it("deferred tools are sent only after tools_search named them, after the others", async () => {
    const registry = tools({ zeta: { handler: () => ok(1) } });
    registry.register(
      defineTool({
        name: "invoice_send",
        description: "sends an invoice to a customer",
        inputSchema: { type: "object", properties: {} },
        contract: "read",
        handler: () => ok("sent"),
      }),
      { deferred: true },
    );
    const { adapter, run: loop } = run(
      [
        { toolCalls: [{ name: "tools_search", args: { query: "send invoice" }, callId: "s" }] },
        { toolCalls: [{ name: "invoice_send", args: {}, callId: "i" }] },
        { text: "sent" },
      ],
      { tools: registry },
    );
    const result = await loop.result;
    expect(adapter.requests.map((request) => request.tools?.map(({ name }) => name))).toEqual([
      ["tools_search", "zeta"],
      ["tools_search", "zeta", "invoice_send"],
      ["tools_search", "zeta", "invoice_send"],
    ]);
    expect(result.status).toBe("completed");
  });

  it("field D5: a failing store ends a run with writes and only warns one without; no rejection floats", async () => {
    const failing = () => {
      const store = createMemoryRunStore();
      return { ...store, append: async () => Promise.reject(new Error("disk full")) };
    };
    let ran = 0;
    const write = tools({
      pay: {
        contract: "write",
        handler: () => {
          ran += 1;
          return ok(1);
        },
      },
    });
    expect(
      await run([{ toolCalls: [call("pay", 1)] }, { text: "x" }], { tools: write, store: failing() }).run
        .result,
    ).toMatchObject({ status: "failed", stopReason: "internal_error", error: { code: "store_failed" } });
    expect(ran).toBe(0);
    expect((await run([{ text: "fine" }], { store: failing() }).run.result).status).toBe("completed");
    expect(faultyStore(createMemoryStore(), () => true)).toBeDefined();
  });

  it("an observer sees every event; one that throws is isolated", async () => {
    const sink = memorySink();
    const result = await run([{ text: "hi" }], { ports: { observe: sink.observe } }).run.result;
    expect(foldRun(sink.events)).toEqual(result.record);
    const throwing = createPorts({
      observe: () => {
        throw new Error("observer");
      },
    });
    expect((await run([{ text: "hi" }], { ports: throwing }).run.result).status).toBe("completed");
  });

  it("capture decides what content the record keeps; secrets are removed first", async () => {
    recordLacks("the secret that the model was asked with");
    const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    const text = async (capture: LoopOptions["capture"]) => {
      const result = await run([{ text: "canary answer" }], {
        messages: ask(`canary ${secret}`),
        capture: capture ?? "digest",
      }).run.result;
      return JSON.stringify(result.record);
    };
    for (const capture of ["off", "digest"] as const) expect(await text(capture)).not.toContain("canary");
    const full = await text("full");
    expect(full).toContain("canary answer");
    expect(full).not.toContain(secret);
  });

  it("usage sums over model calls, and the last request is told apart", async () => {
    const usage = (input: number, output: number) => ({
      input,
      cacheRead: 1,
      cacheWrite: 0,
      output,
      reasoning: 2,
      total: input + output + 3,
    });
    const { run: loop } = run(
      [
        { toolCalls: [call("add", 1)], usage: usage(10, 1) },
        { text: "x", usage: usage(20, 2) },
      ],
      { tools: tools({ add: { handler: () => ok(1) } }) },
    );
    const { record } = await loop.result;
    expect(record.usage).toMatchObject({ input: 30, output: 3, cacheRead: 2, reasoning: 4, total: 39 });
    expect(record.lastRequestTokens).toBe(21);
  });

  it("requests carry a stable prefix: same system, tools and messages objects", async () => {
    const steps = Array.from({ length: 20 }, (_, index) => ({ toolCalls: [call("add", index)] }));
    const { adapter, run: loop } = run([...steps, { text: "done" }], {
      tools: tools({ add: { handler: ({ n }) => ok(n) }, sub: { handler: () => ok(0) } }),
      system: "be good",
      limits: { maxRounds: 30, maxToolCalls: 50 },
    });
    await loop.result;
    for (let index = 1; index < adapter.requests.length; index += 1) {
      const [before, after] = [adapter.requests[index - 1], adapter.requests[index]];
      expect(after?.system).toBe(before?.system);
      expect(after?.tools).toBe(before?.tools);
      expect(after?.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
    }
  });
});

describe("the history of a run", () => {
  it("is linted when it comes in, and a call id that comes a second time ends the run", async () => {
    const registry = tools({ add: { handler: ({ n }) => ok(n) } });
    const old = [
      {
        role: "assistant" as const,
        content: [{ type: "tool_call" as const, callId: "old", name: "add", args: {} }],
      },
    ];
    const { adapter, run: loop } = run([{ toolCalls: [call("add", 1, "c1")] }, { text: "ok" }], {
      tools: registry,
      messages: [...ask("a"), ...old, ...ask("b")],
    });
    expect((await loop.result).status).toBe("completed");
    expect(adapter.requests[0]?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
    ]);
    const again = run(
      [{ toolCalls: [call("add", 1, "same")] }, { toolCalls: [call("add", 2, "same")] }, { text: "never" }],
      { tools: registry },
    );
    expect(await again.run.result).toMatchObject({
      status: "failed",
      stopReason: "protocol_error",
      error: { code: "protocol_error" },
    });
  });
});
