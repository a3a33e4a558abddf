/** Calls with effects through the ledger: one key, one effect; unknown is never repeated. */

import { describe, expect, it } from "vitest";
import { createEffectLedger, type EffectIntent } from "./effect-ledger.ts";
import { createMemoryStore, type Store } from "./store.ts";
import { createPorts } from "./ports.ts";
import type { CapabilityContract } from "./contract.ts";
import type { Json } from "./json.ts";
import { err, ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { createMemoryRunStore } from "./run-store.ts";
import { runCall } from "./run-call.ts";
import { runLoop } from "./__fixtures__/replayed-loop.ts";
import { fakeClock } from "./testing/fakes.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";
import type { ToolDefinition } from "./tool.ts";
import { userMessage } from "./message.ts";

const keyed: CapabilityContract = {
  version: "1",
  authority: { level: "session" },
  effects: { kind: "write" },
  idempotency: { mode: "keyed" },
};
const once: CapabilityContract = { ...keyed, idempotency: { mode: "none" } };
const amount = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] } as const;

function payments(definition: Partial<ToolDefinition> = {}, store: Store<Json> = createMemoryStore<Json>()) {
  const charged: unknown[] = [];
  const clock = fakeClock();
  const ledger = createEffectLedger(store, { clock });
  const tools = new ToolRegistry({ ledger, ports: createPorts({ clock }) });
  tools.register({
    name: "charge",
    description: "Charges an amount.",
    inputSchema: amount,
    contract: keyed,
    handler: (params: unknown) => {
      charged.push(params);
      return ok({ receipt: charged.length });
    },
    ...definition,
  } as ToolDefinition);
  return { tools, charged, ledger, store, clock };
}

const intent = (over: Partial<EffectIntent> = {}): EffectIntent => ({
  id: "a1",
  key: "sha256:1",
  toolName: "charge",
  toolDigest: "sha256:2",
  contractVersion: "1",
  callId: "c1",
  args: {},
  repeatable: false,
  startedAt: "2026-01-01T00:00:00.000Z",
  deadline: "2999-01-01T00:00:00.000Z",
  ...over,
});

describe("effect ledger", () => {
  it("core R14: the same keyed call twice in one run runs once, the second result is the first, replayed", async () => {
    const { tools, charged } = payments();
    const call = { name: "charge", args: { amount: 5 } };
    const adapter = scriptedAdapter([{ toolCalls: [call] }, { toolCalls: [call] }, { text: "done" }]);
    const run = runLoop({ adapter, tools, messages: [userMessage("pay")], store: createMemoryRunStore() });
    const { record } = await run.result;
    expect(charged).toHaveLength(1);
    const [first, second] = record.toolCalls;
    expect(second?.idempotency).toEqual({ source: "derived", scope: "run", replayOf: first?.callId });
    expect([first?.outcome, second?.outcome, second?.startedAt]).toEqual([
      "succeeded",
      "succeeded",
      undefined,
    ]);
  });

  it("gives the second of two direct calls with one key of the caller the first result, marked replayed", async () => {
    const { tools, charged } = payments({ contract: once });
    const first = await tools.execute("charge", { amount: 1 }, { idempotencyKey: "order-7" });
    const second = await tools.execute("charge", { amount: 1 }, { idempotencyKey: "order-7" });
    expect(charged).toHaveLength(1);
    expect(second).toEqual({ ...first, callId: second.callId, replayed: true });
    await tools.execute("charge", { amount: 1 }, { idempotencyKey: "order-8" });
    expect(charged).toHaveLength(2);
  });

  it("knows a caller's key again in another recorded call, and keeps callers apart", async () => {
    const { tools, charged } = payments({ contract: once });
    const call = (idempotencyKey: string, owner: string) =>
      runCall(
        tools,
        { name: "charge", args: { amount: 1 } },
        { store: createMemoryRunStore(), idempotencyKey, owner },
      );
    const first = await call("order-7", "ann");
    const second = await call("order-7", "ann");
    expect(second.result).toMatchObject({ success: true, replayed: true });
    expect(second.record.toolCalls[0]?.idempotency?.replayOf).toBe(first.result.callId);
    await call("order-7", "bob");
    await call("order-8", "ann");
    expect(charged).toHaveLength(3);
  });

  it("lets the second caller wait for the first that is at work", async () => {
    let finish = (): void => {};
    const started = new Promise<void>((resolve) => (finish = resolve));
    const { tools, clock, charged } = payments({
      handler: async () => {
        charged.push(1);
        await started;
        return ok("paid");
      },
    });
    const calls = [1, 2].map(() => tools.execute("charge", { amount: 1 }, { idempotencyKey: "k" }));
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    const results = await Promise.race([Promise.all(calls), pump(clock)]);
    expect(charged).toHaveLength(1);
    expect(results).toMatchObject([{ data: "paid" }, { data: "paid", replayed: true }]);
  });

  it("runs again after a failure that may pass, and replays one that may not", async () => {
    let tries = 0;
    const flaky = payments({
      handler: () => ((tries += 1) === 1 ? err("busy", { retryable: true }) : ok("paid")),
    });
    const key = { idempotencyKey: "k" };
    await flaky.tools.execute("charge", { amount: 1 }, key);
    expect(await flaky.tools.execute("charge", { amount: 1 }, key)).toMatchObject({ success: true });
    const declined = payments({ handler: () => ((tries += 1), err("declined")) });
    await declined.tools.execute("charge", { amount: 1 }, key);
    const before = tries;
    expect(await declined.tools.execute("charge", { amount: 1 }, key)).toMatchObject({
      error: "declined",
      replayed: true,
    });
    expect(tries).toBe(before);
  });

  it("never repeats a call of unknown outcome that its contract does not call safe", async () => {
    const { tools, charged, ledger } = payments({
      contract: once,
      handler: () => {
        charged.push(1);
        throw new Error("the line broke");
      },
    });
    const key = { idempotencyKey: "k" };
    expect(await tools.execute("charge", { amount: 1 }, key)).toMatchObject({ outcome: "unknown" });
    expect(await tools.execute("charge", { amount: 1 }, key)).toMatchObject({
      outcome: "unknown",
      code: "outcome_unknown",
    });
    expect(charged).toHaveLength(1);
    const left = await all(ledger.list({ state: "unknown" }));
    expect(left).toMatchObject([{ intent: { toolName: "charge", args: { amount: 1 } } }]);
  });

  it("runs Z35: a left-over intent that reconcile says succeeded gives the recorded result without the handler", async () => {
    const asked: unknown[] = [];
    const { tools, charged, ledger } = payments({
      contract: once,
      handler: () => {
        charged.push(1);
        throw new Error("the line broke");
      },
      reconcile: async (left) => {
        asked.push(left.idempotencyKey);
        return { outcome: "succeeded", result: { receipt: 9 } };
      },
    });
    const key = { idempotencyKey: "k" };
    await tools.execute("charge", { amount: 1 }, key);
    const again = await tools.execute("charge", { amount: 1 }, key);
    expect(again).toMatchObject({ success: true, data: { receipt: 9 }, replayed: true });
    expect([charged.length, asked]).toEqual([1, ["k"]]);
    expect(await all(ledger.list({ state: "done" }))).toHaveLength(1);
  });

  it.each([
    ["throws", async () => Promise.reject(new Error("no"))],
    ["answers nonsense", async () => ({ outcome: "maybe" }) as never],
    ["cannot tell", async () => ({ outcome: "still_unknown" }) as const],
  ])("keeps the outcome unknown where reconcile %s", async (_, reconcile) => {
    const { tools } = payments({
      contract: once,
      reconcile,
      handler: () => {
        throw new Error("x");
      },
    });
    await tools.execute("charge", { amount: 1 }, { idempotencyKey: "k" });
    const again = await tools.execute("charge", { amount: 1 }, { idempotencyKey: "k" });
    expect(again.code).toBe("outcome_unknown");
  });

  it("lists an intent as unknown after its deadline and when its process is dead", async () => {
    const store = createMemoryStore<Json>();
    const clock = fakeClock();
    const ledger = createEffectLedger(store, { clock });
    const soon = new Date(clock.now() + 1_000).toISOString();
    expect(await ledger.begin(intent({ deadline: soon }))).toEqual({ state: "fresh" });
    expect(await ledger.begin(intent())).toEqual({ state: "in_flight", until: soon });
    clock.advance(2_000);
    expect((await ledger.begin(intent())).state).toBe("unknown");
    expect((await ledger.begin(intent({ repeatable: true }))).state).toBe("fresh");
    await store.update("effect/sha256:1", (entry) => ({
      set: { ...(entry as object), writer: { ...Object(entry).writer, pid: 2 ** 30 } } as never,
    }));
    expect((await ledger.begin(intent())).state).toBe("unknown");
  });

  it("keeps an effect unknown where the repeat of it did not even start", async () => {
    const ledger = createEffectLedger(createMemoryStore<Json>());
    const gone = { callId: "c1", error: "", success: false, retryable: false, code: "x" } as const;
    await ledger.begin(intent({ repeatable: true }));
    await ledger.finish({ key: "sha256:1", id: "a1" }, { ...gone, outcome: "unknown" });
    expect((await ledger.begin(intent({ repeatable: true, callId: "c2" }))).state).toBe("fresh");
    await ledger.finish({ key: "sha256:1", id: "a1" }, { ...gone, callId: "c2", outcome: "not_started" });
    expect(await all(ledger.list())).toMatchObject([{ state: "unknown", intent: { callId: "c2" } }]);
    await ledger.begin(intent({ key: "sha256:2" }));
    await ledger.finish({ key: "sha256:2", id: "a1" }, { ...gone, outcome: "not_started" });
    expect(await all(ledger.list())).toHaveLength(1);
  });

  it("does not settle what another call has begun again meanwhile", async () => {
    const ledger = createEffectLedger(createMemoryStore<Json>());
    await ledger.begin(intent());
    await ledger.reconcile({ key: "sha256:1", id: "a1" }, { outcome: "failed", error: "an old answer" });
    expect((await ledger.begin(intent())).state).toBe("in_flight");
  });

  it("takes outcomes and findings only for the attempt they are about", async () => {
    const ledger = createEffectLedger(createMemoryStore<Json>());
    const paid = { callId: "c1", success: true, data: 1, outcome: "succeeded", retryable: false } as const;
    const unknown = {
      callId: "c1",
      success: false,
      error: "",
      outcome: "unknown",
      code: "x",
      retryable: false,
    } as const;
    await ledger.begin(intent({ id: "first", repeatable: true }));
    await ledger.finish({ key: "sha256:1", id: "first" }, unknown);
    await ledger.begin(intent({ id: "second", repeatable: true }));
    await ledger.finish({ key: "sha256:1", id: "first" }, paid);
    expect((await ledger.begin(intent())).state).toBe("in_flight");
    await ledger.finish({ key: "sha256:1", id: "second" }, unknown);
    await ledger.reconcile({ key: "sha256:1", id: "first" }, { outcome: "failed", error: "an old answer" });
    expect((await ledger.begin(intent())).state).toBe("unknown");
  });

  it("makes at most one effect where an old finding comes late", async () => {
    let effects = 0;
    let attempts = 0;
    let answerLate = (): void => {};
    const waits = new Promise<void>((resolve) => (answerLate = resolve));
    let asked = 0;
    const definition: Partial<ToolDefinition> = {
      contract: once,
      handler: () => {
        attempts += 1;
        if (attempts > 1) effects += 1;
        throw new Error("the line broke");
      },
      reconcile: async () => {
        const found = effects;
        if ((asked += 1) === 1) await waits;
        return found > 0
          ? { outcome: "succeeded", result: found }
          : { outcome: "failed", error: "not there" };
      },
    };
    const store = createMemoryStore<Json>();
    const [one, other] = [payments(definition, store), payments(definition, store)];
    const pay = ({ tools }: typeof one) => tools.execute("charge", { amount: 1 }, { idempotencyKey: "k" });
    await pay(one);
    const slow = pay(one);
    await new Promise((resolve) => setImmediate(resolve));
    await pay(other);
    answerLate();
    await slow;
    await pay(other);
    expect(effects).toBe(1);
  });

  it("ends a call whose reconcile hangs with its timeout, and lets recovery go on", async () => {
    const { tools, ledger } = payments({
      contract: { ...once, limits: { timeoutMs: 200 } },
      handler: () => {
        throw new Error("x");
      },
      reconcile: () => new Promise(() => {}),
    });
    await tools.execute("charge", { amount: 1 }, { idempotencyKey: "k" });
    const again = tools.execute(
      "charge",
      { amount: 1 },
      { idempotencyKey: "k", signal: AbortSignal.timeout(100) },
    );
    expect((await again).outcome).toBe("unknown");
    expect(await all(ledger.list({ state: "unknown" }))).toHaveLength(1);
  });

  it.each([
    ["a BigInt", 1n],
    ["a function", () => 1],
    ["NaN", Number.NaN],
    ["nothing", undefined],
  ])("takes no finding whose result is %s", async (_, result) => {
    const { tools } = payments({
      contract: once,
      handler: () => {
        throw new Error("x");
      },
      reconcile: async () => ({ outcome: "succeeded", result }) as never,
    });
    await tools.execute("charge", { amount: 1 }, { idempotencyKey: "k" });
    const again = await tools.execute("charge", { amount: 1 }, { idempotencyKey: "k" });
    expect(again).toMatchObject({ outcome: "unknown", code: "outcome_unknown" });
  });

  it("keeps the effects of owners, tasks, runs and direct calls apart", async () => {
    const { tools, charged } = payments();
    const key = { idempotencyKey: "k" };
    await tools.execute("charge", { amount: 1 }, { ...key, owner: "alice" });
    await tools.execute("charge", { amount: 1 }, { ...key, owner: "bob" });
    expect(charged).toHaveLength(2);
    await tools.execute("charge", { amount: 2 }, { callId: "1", owner: "alice" });
    await tools.execute("charge", { amount: 3 }, { callId: "1", owner: "bob" });
    expect(charged).toHaveLength(4);
  });

  it("answers a key that is no text with invalid_input, and never throws", async () => {
    const { tools, charged } = payments();
    const result = await tools.execute("charge", { amount: 1 }, { idempotencyKey: "\ud800" });
    expect(result).toMatchObject({ success: false, code: "invalid_input", outcome: "not_started" });
    expect(charged).toHaveLength(0);
  });

  it("keeps no secret of the arguments", async () => {
    const { tools, store } = payments();
    await tools.execute("charge", { amount: 1, note: "x" }, { idempotencyKey: "k" });
    const other = payments(
      { inputSchema: { type: "object", properties: { password: { type: "string" } } } },
      store,
    );
    await other.tools.execute("charge", { password: "canary-4711" }, { idempotencyKey: "k2" });
    const kept = await all(store.entries());
    expect(kept).toHaveLength(2);
    expect(JSON.stringify(kept)).not.toContain("canary-4711");
  });

  it.each(["begin", "finish"] as const)(
    "a ledger that fails at %s never lets an effect pass unseen",
    async (step) => {
      const { charged } = payments();
      const working = createEffectLedger(createMemoryStore<Json>());
      const ledger = { ...working, [step]: async () => Promise.reject(new Error("disk full")) };
      const tools = new ToolRegistry({ ledger });
      tools.register({
        name: "charge",
        description: "Charges an amount.",
        inputSchema: amount,
        contract: keyed,
        handler: (params) => (charged.push(params), ok("paid")),
      });
      const result = await tools.execute("charge", { amount: 1 });
      expect(result).toMatchObject({
        success: false,
        code: "store_failed",
        outcome: step === "begin" ? "not_started" : "unknown",
      });
      expect(charged).toHaveLength(step === "begin" ? 0 : 1);
    },
  );
});

/** Lets fake time pass until the calls have come to their end. */
async function pump(clock: ReturnType<typeof fakeClock>): Promise<never> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(60);
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
