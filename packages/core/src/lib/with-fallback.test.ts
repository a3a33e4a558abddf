/** A chain of adapters: who answers, what the record says of it, and what never happens. */

import { describe, expect, it } from "vitest";
import type { AIAdapter, ModelEvent, ModelReply } from "./adapter.ts";
import { collect } from "./collect.ts";
import { describeAdapter } from "./describe-adapter.ts";
import { ConfigError, ProviderError, type ProviderErrorKind } from "./errors.ts";
import { userMessage } from "./message.ts";
import { replayRun } from "./replay-run.ts";
import { ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { runLoop } from "./__fixtures__/replayed-loop.ts";
import { createMemoryRunStore } from "./run-store.ts";
import { type ScriptStep, scriptedAdapter } from "./testing/scripted-adapter.ts";
import { withFallback } from "./with-fallback.ts";
import { suiteStep } from "./__fixtures__/suite-step.ts";

const failure = (kind: ProviderErrorKind, status?: number): ProviderError =>
  new ProviderError(`It failed: ${kind}.`, {
    provider: "a",
    kind,
    ...(status === undefined ? {} : { status }),
  });
const named = (provider: string, steps: readonly ScriptStep[]): ReturnType<typeof scriptedAdapter> =>
  scriptedAdapter(steps, { provider, model: `${provider}-1` });
const ask = { messages: [userMessage("hi")] };

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function eventsOf(adapter: AIAdapter): Promise<{ events: ModelEvent[]; reply: ModelReply }> {
  const events: ModelEvent[] = [];
  const reply = await collect(adapter.stream(ask), (event) => events.push(event));
  return { events, reply };
}

describeAdapter(
  "fallback, its first model overloaded",
  {
    make: ({ replies }) =>
      withFallback([
        named(
          "busy",
          replies.map(() => ({ error: failure("overloaded") })),
        ),
        named("b", replies.map(suiteStep)),
      ]),
    capabilities: { refusal: true, contentFilter: true, missingIds: true, usage: true, opaque: false },
  },
  { describe, it },
);

describe("withFallback", () => {
  it("adapters Z13: the second answers where the first is out of its rate, and the record names both", async () => {
    const store = createMemoryRunStore();
    const adapter = withFallback([
      named("a", [{ error: failure("rate_limit", 429) }]),
      named("b", [{ text: "from b" }]),
    ]);
    const { record, text, runId } = await runLoop({ ...ask, adapter, store, capture: "full" }).result;
    expect(text).toBe("from b");
    const events = await all(store.read(runId));
    expect(events.find((event) => event.type === "model.fallback")?.data).toMatchObject({
      from: "a/a-1",
      to: "b/b-1",
      reason: "It failed: rate_limit.",
    });
    expect(record.modelCalls.map((call) => call.reportedModel)).toEqual(["b-1"]);
    expect(record.model).toMatchObject({ provider: "a", requested: "a-1", reported: ["b-1"] });
    expect((await replayRun(events)).complete).toBe(true);
  });

  it("drops what the first said before the second speaks, also in the record and its replay", async () => {
    const store = createMemoryRunStore();
    const adapter = withFallback([
      named("a", [{ text: "half an ans", error: failure("network") }]),
      named("b", [{ text: "whole" }]),
    ]);
    const run = runLoop({ ...ask, adapter, store, capture: "full", streamRetries: 0 });
    const { text, status } = await run.result;
    expect([text, status]).toEqual(["whole", "completed"]);
    const events = await all(store.read(run.runId));
    const types = events.map((event) => event.type);
    expect(types.slice(types.indexOf("model.requested"))).toEqual([
      "model.requested",
      "model.reset",
      "model.fallback",
      "model.responded",
      "run.completed",
    ]);
    expect((await replayRun(events)).complete).toBe(true);
  });

  it.each<[ProviderErrorKind, number | undefined, boolean]>([
    ["rate_limit", 429, true],
    ["quota", 429, true],
    ["overloaded", 529, true],
    ["timeout", undefined, true],
    ["network", undefined, true],
    ["protocol", 502, true],
    ["auth", 401, false],
    ["permission", 403, false],
    ["invalid_request", 400, false],
    ["content_filter", 400, false],
    ["context_length", 400, false],
    ["protocol", undefined, false],
  ])("takes %s (%s) as a reason to move: %s", async (kind, status, moves) => {
    const adapter = withFallback([
      named("a", [{ error: failure(kind, status) }]),
      named("b", [{ text: "b" }]),
    ]);
    const reply = adapter.chat(ask).then(
      (given) => given.text,
      (cause: unknown) => cause,
    );
    if (moves) expect(await reply).toBe("b");
    else expect(await reply).toMatchObject({ kind });
  });

  it("never moves for a refusal, which is an answer, nor for a fault of the caller", async () => {
    const second = named("b", [{ text: "b" }]);
    const refusing = withFallback([named("a", [{ text: "No.", finishReason: "refusal" }]), second]);
    expect((await refusing.chat(ask)).finishReason).toBe("refusal");
    const wrong = new ConfigError("No.", { code: "unsupported" });
    await expect(withFallback([named("a", [{ error: wrong }]), second]).chat(ask)).rejects.toBe(wrong);
    expect(second.requests).toEqual([]);
  });

  it("moves by the caller's own rule where one is given", async () => {
    const chain = [named("a", [{ error: failure("auth", 401) }]), named("b", [{ text: "b" }])];
    expect((await withFallback(chain, { when: () => true }).chat(ask)).text).toBe("b");
  });

  it("throws the last failure as it is when nobody answers", async () => {
    const last = failure("overloaded");
    const chain = [named("a", [{ error: failure("network") }]), named("b", [{ error: last }])];
    await expect(withFallback(chain).chat(ask)).rejects.toBe(last);
  });

  it("ends an adapter that takes too long, and asks the next", async () => {
    const adapter = withFallback([named("a", [{ stall: true }]), named("b", [{ text: "b" }])], {
      perAttemptMs: 20,
    });
    const { events, reply } = await eventsOf(adapter);
    expect(reply.text).toBe("b");
    expect(events.find((event) => event.type === "fallback")?.reason).toBe(
      "a/a-1 did not finish within 20 ms.",
    );
  });

  it("moves nothing for an abort", async () => {
    const second = named("b", [{ text: "b" }]);
    const controller = new AbortController();
    const reply = withFallback([named("a", [{ stall: true }]), second]).chat({
      ...ask,
      signal: controller.signal,
    });
    const reason = new Error("enough");
    setTimeout(() => controller.abort(reason), 5);
    await expect(reply).rejects.toBe(reason);
    expect(second.requests).toEqual([]);
  });

  it("says who answers by what came, not by who began", async () => {
    const begun: ModelEvent = { type: "start", responseId: "resp_a", model: "a-1" };
    const steps: ScriptStep[] = [
      () => {
        throw failure("network");
      },
    ];
    const first = named("a", steps);
    const starting: AIAdapter = {
      ...first,
      async *stream(request) {
        yield begun;
        yield* first.stream(request);
      },
    };
    const { reply } = await eventsOf(withFallback([starting, named("b", [{ text: "b" }])]));
    expect([reply.reportedModel, reply.responseId]).toEqual(["b-1", "scripted_0"]);
  });

  it("stays with the adapter whose opaque parts the open tool loop holds", async () => {
    const tools = new ToolRegistry();
    tools.register({
      name: "look",
      description: "Looks.",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ok(1),
    });
    const parts = [{ type: "provider" as const, provider: "b", model: "b-1", data: { thought: "signed" } }];
    const first = named("a", [{ error: failure("overloaded") }, { text: "a again" }]);
    const second = named("b", [{ parts, toolCalls: [{ name: "look" }] }, { text: "done by b" }]);
    const adapter = withFallback([first, second]);
    const { text, messages } = await runLoop({ ...ask, adapter, tools }).result;
    expect(text).toBe("done by b");
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    // A new question is nobody's: the first of the chain is asked again.
    expect((await adapter.chat({ messages: [...messages, userMessage("and now?")] })).text).toBe("a again");
  });

  it("can do what all of the chain can, and refuses what is no chain", () => {
    const blind = scriptedAdapter([], { capabilities: { images: false, priced: false } });
    expect(withFallback([scriptedAdapter([]), blind]).capabilities).toMatchObject({
      images: false,
      priced: false,
      parallelCalls: true,
    });
    expect(() => withFallback([])).toThrow("at least one adapter");
    expect(() => withFallback([blind], { perAttemptMs: 0 })).toThrow("more than 0");
  });
});
