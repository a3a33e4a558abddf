/** What a compactor leaves, shortens and sums up, in the real loop and by itself. */

import { describe, expect, it } from "vitest";
import {
  type AnyRunEvent,
  createApprovalStore,
  createMemoryArtifactStore,
  createMemoryStore,
  createMemoryRunStore,
  type LoopOptions,
  type Message,
  ok,
  OpenFunctionsError,
  resumeRun,
  runLoop,
  textOf,
  ToolRegistry,
  toolCallsOf,
  toolResultsOf,
  userMessage,
} from "@openfunctions/core";
import { replayRun } from "@openfunctions/core/records";
import { scriptedAdapter, type ScriptStep } from "@openfunctions/core/testing";
import fc from "fast-check";
import { createCompactor } from "./compactor.ts";

const LONG = "The parcel left the house on Monday. ".repeat(40);

const SUMMARY_USAGE = { input: 50, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, total: 55 };

/** Rounds of one call each, with a long result; signed ones carry an opaque part. */
function rounds(count: number, { signed = false }: { readonly signed?: boolean } = {}): readonly Message[] {
  return Array.from({ length: count }, (_, index): readonly Message[] => [
    {
      role: "assistant",
      content: [
        ...(signed
          ? [{ type: "provider" as const, provider: "p", model: "m", data: { signature: index } }]
          : []),
        { type: "tool_call", callId: `c${index}`, name: "look", args: { n: index } },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool_result", callId: `c${index}`, name: "look", result: `${index} ${LONG}` }],
    },
  ]).flat();
}

const request = (overflowed: boolean, signal = new AbortController().signal) => ({
  signal,
  overflowed,
  fixedChars: 0,
  owner: "ada",
  runId: "r1",
});

describe("createCompactor", () => {
  it("leaves a history alone that is below the trigger, and one whose window nobody knows", async () => {
    const messages = [userMessage("go"), ...rounds(10)];
    expect(
      await createCompactor({ contextTokens: 100_000 }).compact(messages, request(false)),
    ).toBeUndefined();
    expect(await createCompactor().compact(messages, request(false))).toBeUndefined();
  });

  it("knows the window of a model in the policy table", async () => {
    const adapter = { ...scriptedAdapter([{ text: "short" }]), provider: "xai", model: "grok-4-1-fast" };
    const messages = [userMessage("go"), ...rounds(10)];
    expect(await createCompactor({ adapter }).compact(messages, request(false))).toBeUndefined();
  });

  it("shortens old results first, and leaves the last turns and what is being answered", async () => {
    const messages = [userMessage("first"), ...rounds(10), userMessage(LONG)];
    const compaction = await createCompactor({ contextTokens: 3_500 }).compact(messages, request(false));
    expect(compaction?.rules).toEqual(["results_shortened"]);
    const after = compaction?.messages ?? [];
    expect(after).toHaveLength(messages.length);
    expect(after.slice(-7)).toEqual(messages.slice(-7));
    const results = after.flatMap(toolResultsOf).map(({ result }) => JSON.stringify(result).length);
    expect(results.map((length) => length < 100)).toEqual([
      true,
      true,
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(compaction?.tokensAfter).toBeLessThan(compaction?.tokensBefore ?? 0);
  });

  it("sums up old turns where that is not enough, names the range, and counts what that cost", async () => {
    const adapter = scriptedAdapter([
      { text: "Ada asked for ten parcels; the last is number 9.", usage: SUMMARY_USAGE },
    ]);
    const messages = [userMessage("first"), ...rounds(10), userMessage("and now?")];
    const compaction = await createCompactor({ adapter, contextTokens: 1_300 }).compact(
      messages,
      request(false),
    );
    expect(compaction?.rules).toEqual(["results_shortened", "turns_summarized"]);
    const [summary, ...rest] = compaction?.messages ?? [];
    expect(summary?.origin).toBe("agent");
    expect(textOf(summary ?? userMessage(""))).toContain("messages 1 to 15");
    expect(textOf(summary ?? userMessage(""))).toContain("ten parcels");
    expect(rest).toEqual(messages.slice(-7));
    expect(compaction?.usage?.total).toBeGreaterThan(0);
    expect(adapter.requests[0]?.messages[0]?.content).toContain("first");
  });

  it("reads a history that is longer than a window piece by piece, each with the summary so far", async () => {
    const adapter = scriptedAdapter([{ text: "one" }, { text: "two" }, { text: "three" }, { text: "four" }]);
    const old = Array.from({ length: 8 }, (_, index) => userMessage(`${index} ${LONG}`));
    const compaction = await createCompactor({ adapter, contextTokens: 2_000 }).compact(
      [...old, userMessage("and now?")],
      request(false),
    );
    expect(adapter.requests.length).toBeGreaterThan(1);
    expect(adapter.requests[1]?.messages[0]?.content).toContain("one");
    expect(compaction?.rules).toContain("turns_summarized");
  });

  it("sums up nothing where one piece has no summary: the others do not tell what was in it", async () => {
    const adapter = scriptedAdapter([{ text: "one" }, { text: " " }, { text: "three" }, { text: "four" }]);
    const old = Array.from({ length: 16 }, (_, index) => userMessage(`${index} ${LONG}`));
    const compactor = createCompactor({ adapter, contextTokens: 2_000 });
    expect(await compactor.compact([...old, userMessage("and now?")], request(false))).toBeUndefined();
    expect(adapter.requests).toHaveLength(2);
  });

  it("leaves nothing of an offloaded result where the limit is a few characters", async () => {
    const artifacts = createMemoryArtifactStore();
    const compactor = createCompactor({ artifacts, contextTokens: 100, maxResultChars: 2 });
    const compaction = await compactor.compact([userMessage("go"), ...rounds(1)], request(false));
    expect(JSON.stringify(compaction?.messages).length).toBeLessThan(LONG.length);
  });

  it("never touches pinned messages, and keeps the whole of an offloaded result for its owner", async () => {
    const artifacts = createMemoryArtifactStore();
    const pinned = userMessage("Never ship on Sundays.");
    const messages = [pinned, ...rounds(8), userMessage("and now?")];
    const compactor = createCompactor({
      adapter: scriptedAdapter([{ text: "short" }]),
      contextTokens: 1_500,
      artifacts,
      maxResultChars: 400,
      isPinned: (message) => message === pinned,
    });
    const compaction = await compactor.compact(messages, request(false));
    expect(compaction?.rules?.[0]).toBe("results_offloaded");
    expect(compaction?.messages).toContain(pinned);
    const kept = JSON.stringify(compaction?.messages.flatMap(toolResultsOf).at(-1)?.result);
    const id = /artifact \\"([^"\\]+)/.exec(kept)?.[1] ?? "";
    const whole = await artifacts.read(id, { owner: "ada" });
    expect(new TextDecoder().decode(whole)).toBe(`7 ${LONG}`);
    expect(await artifacts.read(id, { owner: "bob" })).toBeUndefined();
  });

  it("refuses options that cannot work", () => {
    for (const options of [
      { trigger: 0 },
      { trigger: 2 },
      { keepTurns: -1 },
      { contextTokens: 0 },
      { maxResultChars: Number.NaN },
    ])
      expect(() => createCompactor(options)).toThrow(expect.objectContaining({ code: "invalid_config" }));
  });

  it("never splits a call from its result or a signed turn, whatever the history", async () => {
    const turn = fc.oneof(
      fc.record({ user: fc.string({ maxLength: 400 }) }),
      fc.record({
        calls: fc.array(fc.string({ maxLength: 600 }), { minLength: 1, maxLength: 3 }),
        signed: fc.boolean(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { maxLength: 14 }),
        fc.nat({ max: 4 }),
        fc.nat({ max: 900 }),
        async (turns, keepTurns, window) => {
          const messages = turns.flatMap((one, index): readonly Message[] => {
            if ("user" in one) return [userMessage(one.user)];
            const ids = one.calls.map((_, place) => `c${index}.${place}`);
            const signature = { type: "provider" as const, provider: "p", model: "m", data: index };
            return [
              {
                role: "assistant",
                content: [
                  ...(one.signed ? [signature] : []),
                  ...ids.map((callId) => ({ type: "tool_call" as const, callId, name: "look", args: {} })),
                ],
              },
              {
                role: "tool",
                content: ids.map((callId, place) => ({
                  type: "tool_result" as const,
                  callId,
                  name: "look",
                  result: one.calls[place] ?? "",
                })),
              },
            ];
          });
          const adapter = scriptedAdapter(Array.from({ length: 400 }, () => ({ text: "s" })));
          const compactor = createCompactor({ adapter, keepTurns, contextTokens: window + 1 });
          const after = (await compactor.compact(messages, request(true)))?.messages ?? messages;
          const calls = after.flatMap(toolCallsOf).map(({ callId }) => callId);
          expect(after.flatMap(toolResultsOf).map(({ callId }) => callId)).toEqual(calls);
          const whole = messages
            .filter(({ role }) => role === "assistant")
            .map((message) => JSON.stringify(message));
          for (const message of after)
            if (message.role === "assistant") expect(whole).toContain(JSON.stringify(message));
          const asked = messages.findLast(({ role }) => role === "user");
          if (asked !== undefined) expect(after).toContain(asked);
        },
      ),
      { numRuns: 150 },
    );
  });
});

/** Runs a tool loop whose provider refuses requests over a number of characters. */
async function runOver(maxChars: number, steps: readonly ScriptStep[], options: Partial<LoopOptions> = {}) {
  const tools = new ToolRegistry();
  tools.register({
    name: "look",
    description: "looks",
    inputSchema: { type: "object", properties: { n: { type: "integer" } } },
    contract: "read",
    handler: ({ n }) => ok(`${n} ${LONG}`),
  });
  const script = scriptedAdapter(steps);
  const adapter: typeof script = {
    ...script,
    stream: (asked) => {
      if (JSON.stringify(asked.messages).length > maxChars)
        throw new OpenFunctionsError("too long", { code: "context_overflow" });
      return script.stream(asked);
    },
  };
  const store = createMemoryRunStore();
  const run = runLoop({ adapter, tools, store, capture: "full", messages: [userMessage("go")], ...options });
  const result = await run.result;
  const events: AnyRunEvent[] = [];
  for await (const event of store.read(run.runId)) events.push(event);
  return { result, events, compactions: events.filter(({ type }) => type === "history.compacted") };
}

/** A call in a reply that cost as much as the rounds so far have characters for. */
const call = (n: number): ScriptStep => {
  const input = 100 + n * 400;
  const usage = { input, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0, total: input + 10 };
  return { toolCalls: [{ name: "look", args: { n } }], usage };
};

describe("a run that outgrows its window", () => {
  it("state Z43: an overflow in a tool loop is compacted once and the run goes on, saying what left", async () => {
    const steps = [...Array.from({ length: 8 }, (_, n) => call(n)), { text: "done" }];
    const { result, events, compactions } = await runOver(9_000, steps, {
      compactor: createCompactor({ keepTurns: 2 }),
    });
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect(compactions[0]?.data).toMatchObject({
      rules: ["results_shortened"],
      removed: expect.stringMatching(/^sha256:/),
      tokensBefore: expect.any(Number),
    });
    expect(result.messages.flatMap(toolResultsOf).map(({ result: text }) => text)).toEqual(
      Array.from({ length: 8 }, (_, n) => `${n} ${LONG}`),
    );
    expect(JSON.stringify(result.compacted).length).toBeLessThan(
      JSON.stringify(result.messages).length * 0.7,
    );
    expect((await replayRun(events)).complete).toBe(true);
  });

  it("state Z43: a second compaction that saves almost nothing ends the run as context_overflow", async () => {
    let made = 0;
    const compactor = {
      compact: async (messages: readonly Message[], { overflowed }: { readonly overflowed: boolean }) => {
        if (!overflowed) return undefined;
        made += 1;
        return {
          messages: made === 1 ? messages.slice(-2) : messages.slice(0, -1).concat(messages.slice(-1)),
        };
      },
    };
    const steps = [...Array.from({ length: 12 }, (_, n) => call(n)), { text: "done" }];
    const { result, events, compactions } = await runOver(4_000, steps, { compactor });
    expect(result).toMatchObject({ status: "failed", stopReason: "context_overflow" });
    expect(result.error?.message).toContain("saved too little");
    expect(compactions).toHaveLength(2);
    expect((await replayRun(events)).complete).toBe(true);
  });

  it("is compacted before a call that would not fit, and the summary's cost is the run's", async () => {
    const steps = [...Array.from({ length: 8 }, (_, n) => call(n)), { text: "done" }];
    const summarizer = scriptedAdapter(
      Array.from({ length: 9 }, () => ({ text: "They looked.", usage: SUMMARY_USAGE })),
    );
    const compactor = createCompactor({ adapter: summarizer, contextTokens: 1_200, keepTurns: 1 });
    const { result, events, compactions } = await runOver(Number.MAX_SAFE_INTEGER, steps, { compactor });
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect(compactions.length).toBeGreaterThan(0);
    const calls = result.record.modelCalls.reduce((sum, { usage }) => sum + usage.total, 0);
    const summaries = compactions.reduce(
      (sum, event) => sum + ("usage" in event.data ? (event.data.usage?.total ?? 0) : 0),
      0,
    );
    expect(summaries).toBeGreaterThan(0);
    expect(result.record.usage.total).toBe(calls + summaries);
    expect((await replayRun(events)).complete).toBe(true);
  });

  it("keeps the whole history of a run that waited for a person after it was compacted", async () => {
    const [approvals, store] = [createApprovalStore(createMemoryStore()), createMemoryRunStore()];
    const tools = new ToolRegistry();
    const inputSchema = { type: "object", properties: {} } as const;
    const human = {
      version: "1",
      authority: { level: "human" },
      effects: { kind: "write" },
      idempotency: { mode: "none" },
    } as const;
    tools.register({
      name: "look",
      description: "looks",
      inputSchema,
      contract: "read",
      handler: () => ok(LONG),
    });
    tools.register({
      name: "send",
      description: "sends",
      inputSchema,
      contract: human,
      handler: () => ok("sent"),
    });
    const compactor = {
      compact: async (messages: readonly Message[]) =>
        JSON.stringify(messages).includes(LONG) ? { messages: [userMessage("looked once")] } : undefined,
    };
    const first = runLoop({
      adapter: scriptedAdapter([
        { toolCalls: [{ name: "look", args: {} }] },
        { toolCalls: [{ name: "send", args: {} }] },
      ]),
      tools,
      store,
      approvals,
      compactor,
      capture: "full",
      messages: [userMessage("go")],
    });
    const { pending = [] } = await first.result;
    const ticket = pending[0]?.ticketId ?? "";
    await approvals.resolve(ticket, {
      decision: "approved",
      owner: "local",
      by: { kind: "human", id: "ann", via: "local" },
    });
    const rest = await resumeRun(first.runId, {
      adapter: scriptedAdapter([{ text: "done" }]),
      tools,
      store,
      approvals,
      compactor,
    });
    const { status, messages, compacted } = await rest.result;
    expect(status).toBe("completed");
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
    ]);
    expect(compacted?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("goes on with the whole history where the compactor fails", async () => {
    const compactor = { compact: () => Promise.reject(new Error("no summary today")) };
    const { result } = await runOver(Number.MAX_SAFE_INTEGER, [call(1), { text: "done" }], { compactor });
    expect(result).toMatchObject({ status: "completed", text: "done" });
  });

  it.each([
    ["no compaction", null],
    ["no list", { messages: "all of it" }],
    ["an empty list", { messages: [] }],
    ["no messages", { messages: [null, 7] }],
    ["an unknown role", { messages: [{ role: "system", content: "obey" }] }],
    ["parts that are none", { messages: [{ role: "user", content: ["hi"] }] }],
    ["sizes that are no numbers", { messages: [userMessage("hi")], tokensBefore: Number.NaN }],
    ["a usage below zero", { messages: [userMessage("hi")], usage: { ...SUMMARY_USAGE, total: -1 } }],
  ])("goes on with the whole history where the compactor gives %s", async (_, given) => {
    const compact = (): Promise<never> => Promise.resolve(given as never); // Proof: what a compactor must not give
    const { result, compactions } = await runOver(Number.MAX_SAFE_INTEGER, [call(1), { text: "done" }], {
      compactor: { compact },
    });
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect(compactions).toEqual([]);
    expect(result.compacted).toBeUndefined();
  });

  it("survives a compactor that throws at once, also when the run is aborted later", async () => {
    const abort = new AbortController();
    const script = scriptedAdapter([{ text: "done" }]);
    const compact = (): never => {
      throw new Error("at once");
    };
    const run = runLoop({
      adapter: { ...script, stream: (asked) => (abort.abort(), script.stream(asked)) },
      messages: [userMessage("go")],
      compactor: { compact },
      signal: abort.signal,
    });
    expect((await run.result).status).toBe("cancelled");
    // A rejection that nobody heard would have ended the process by now.
    await new Promise((resolve) => setImmediate(resolve));
  });
});
