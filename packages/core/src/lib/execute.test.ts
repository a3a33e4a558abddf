import { afterEach, describe, expect, it, vi } from "vitest";
import type { CallContext } from "./call-context.ts";
import type { CapabilityContract } from "./contract.ts";
import { fakeClock, recordingLogger } from "./testing/fakes.ts";
import { err, ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import type { RegistryOptions } from "./registry.ts";
import { type ToolContext, type ToolDefinition, defineTool } from "./tool.ts";

type Handler = (params: Record<string, unknown>, context: ToolContext) => unknown;

function registryWith(
  handler: Handler,
  changes: Partial<ToolDefinition> = {},
  options: RegistryOptions = {},
): ToolRegistry {
  const registry = new ToolRegistry(options);
  registry.register({
    name: "act",
    description: "does the act",
    inputSchema: { type: "object", properties: {}, additionalProperties: true },
    handler: handler as ToolDefinition["handler"],
    ...changes,
  });
  return registry;
}

const WRITE: CapabilityContract = {
  version: "1",
  authority: { level: "none" },
  effects: { kind: "write" },
  idempotency: { mode: "none" },
};

afterEach(() => vi.restoreAllMocks());

describe("execute", () => {
  it("core R1, field B11: an unknown tool is a result that names the nearest", async () => {
    const registry = registryWith(() => ok(1));
    const result = await registry.execute("akt", {});
    expect(result).toMatchObject({ success: false, code: "unknown_tool", outcome: "not_started" });
    expect(result.success === false && result.error).toContain('"akt"');
    expect(result.success === false && result.error).toContain('"act"');
  });

  it("core R2: a throw is tool_failed; unknown for a write, failed for a read", async () => {
    const kaboom: Handler = () => {
      throw new Error("kaboom");
    };
    expect(await registryWith(kaboom).execute("act", {})).toMatchObject({
      code: "tool_failed",
      error: "kaboom",
      outcome: "unknown",
      retryable: false,
    });
    expect(await registryWith(kaboom, { contract: "read" }).execute("act", {})).toMatchObject({
      code: "tool_failed",
      error: "kaboom",
      outcome: "failed",
    });
  });

  it("a thrown string is its own message, and a rejection is like a throw", async () => {
    const text: Handler = () => {
      // oxlint-disable-next-line no-throw-literal -- hostile on purpose
      throw "just text";
    };
    expect(await registryWith(text).execute("act", {})).toMatchObject({
      code: "tool_failed",
      error: "just text",
    });
    expect(await registryWith(async () => Promise.reject(undefined)).execute("act", {})).toMatchObject({
      code: "tool_failed",
      outcome: "unknown",
    });
  });

  it("core R4: what is no tool result is invalid_result", async () => {
    for (const value of [
      undefined,
      5,
      { success: "yes" },
      null,
      [],
      { success: false },
      { success: false, error: 1 },
      { success: true, data: Number.NaN },
    ]) {
      expect(await registryWith(() => value).execute("act", {})).toMatchObject({
        code: "invalid_result",
        outcome: "unknown",
      });
    }
  });

  it("core R5: a result that is not JSON harms no sibling", async () => {
    const registry = new ToolRegistry();
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const [name, data] of [
      ["good", 1],
      ["big", 10n],
      ["round", cycle],
    ] as const) {
      registry.register({
        name,
        description: "gives data",
        inputSchema: { type: "object", properties: {} },
        handler: () => ({ success: true, data }),
      });
    }
    const results = await Promise.all(["good", "big", "round"].map((name) => registry.execute(name, {})));
    expect(results.map(({ outcome }) => outcome)).toEqual(["succeeded", "unknown", "unknown"]);
    expect(results[1]?.code).toBe("invalid_result");
    expect(results[2]?.code).toBe("invalid_result");
  });

  it("core R7: an abort before the start, in a write and in a read", async () => {
    const never: Handler = () => new Promise(() => {});
    const aborted = AbortSignal.abort(new Error("stop"));
    expect(await registryWith(never).execute("act", {}, { signal: aborted })).toMatchObject({
      code: "cancelled",
      outcome: "not_started",
    });
    for (const [contract, outcome] of [
      [WRITE, "unknown"],
      ["read", "failed"],
    ] as const) {
      const controller = new AbortController();
      const seen: unknown[] = [];
      const registry = registryWith(
        (_params, { signal }) => {
          signal.addEventListener("abort", () => seen.push(signal.reason));
          return new Promise(() => {});
        },
        { contract },
      );
      const call = registry.execute("act", {}, { signal: controller.signal });
      await Promise.resolve();
      await new Promise((resolve) => setTimeout(resolve, 1));
      controller.abort("enough");
      expect(await call).toMatchObject({ code: "cancelled", outcome });
      expect(seen).toEqual(["enough"]);
    }
  });

  it("core R16: a call says nothing on the console, and starts and finishes once for listeners", async () => {
    const writes = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];
    const registry = registryWith(() => ok({ a: 1 }));
    const seen: string[] = [];
    registry.on("call:started", ({ name }) => seen.push(`started ${name}`));
    registry.on("call:finished", ({ name, outcome }) => seen.push(`finished ${name} ${outcome}`));
    await registry.execute("act", {});
    expect(seen).toEqual(["started act", "finished act succeeded"]);
    for (const write of writes) expect(write).not.toHaveBeenCalled();
  });

  it("core Z10: a timed out write starts once, is unknown and is not retried", async () => {
    const clock = fakeClock();
    let starts = 0;
    const registry = registryWith(
      () => {
        starts += 1;
        return new Promise(() => {});
      },
      { contract: { ...WRITE, limits: { timeoutMs: 50 } } },
      { ports: { clock } },
    );
    const call = registry.execute("act", {});
    await new Promise((resolve) => setTimeout(resolve, 1));
    clock.advance(51);
    expect(await call).toMatchObject({ code: "tool_timeout", outcome: "unknown", retryable: false });
    expect(starts).toBe(1);
  });

  it("a timed out read may be tried again, and its signal fires", async () => {
    const clock = fakeClock();
    let aborted = false;
    const registry = registryWith(
      (_params, { signal }) => {
        signal.addEventListener("abort", () => {
          aborted = true;
        });
        return new Promise(() => {});
      },
      {
        contract: {
          version: "1",
          authority: { level: "none" },
          effects: { kind: "read" },
          idempotency: { mode: "natural" },
          limits: { timeoutMs: 50 },
        },
      },
      { ports: { clock } },
    );
    const call = registry.execute("act", {});
    await new Promise((resolve) => setTimeout(resolve, 1));
    clock.advance(51);
    expect(await call).toMatchObject({ code: "tool_timeout", outcome: "failed", retryable: true });
    expect(aborted).toBe(true);
  });

  it("err() is a known failure with its own code; codes of ours are not believed", async () => {
    expect(await registryWith(() => err("bad")).execute("act", {})).toMatchObject({
      error: "bad",
      code: "tool_failed",
      outcome: "failed",
    });
    expect(await registryWith(() => err("bad", { code: "no_such_task" })).execute("act", {})).toMatchObject({
      code: "no_such_task",
    });
    expect(
      await registryWith(() => err("bad", { code: "approval_required" })).execute("act", {}),
    ).toMatchObject({ code: "tool_failed" });
    expect(await registryWith(() => err("bad", { outcome: "unknown" })).execute("act", {})).toMatchObject({
      outcome: "unknown",
    });
  });

  it("toJSON runs once, and caller and model see the same value", async () => {
    let count = 0;
    const data = { toJSON: () => ({ count: (count += 1) }) };
    expect(await registryWith(() => ({ success: true, data })).execute("act", {})).toMatchObject({
      data: { count: 1 },
    });
    expect(await registryWith(() => ({ success: true })).execute("act", {})).toMatchObject({ data: null });
  });

  it("checks data against the output schema", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    expect(await registryWith(() => ok({ n: 1 }), { outputSchema }).execute("act", {})).toMatchObject({
      success: true,
    });
    expect(await registryWith(() => ok({ n: "x" }), { outputSchema }).execute("act", {})).toMatchObject({
      code: "invalid_result",
    });
  });

  it("leaves the caller's arguments alone and gives the handler its own copy", async () => {
    const args = { list: [1], nested: { a: 1 } };
    const registry = registryWith((params) => {
      (params["list"] as number[]).push(2);
      return ok(params);
    });
    await registry.execute("act", args);
    expect(args).toEqual({ list: [1], nested: { a: 1 } });
  });
});

describe("authority", () => {
  const level = (authority: CapabilityContract["authority"]): CapabilityContract => ({ ...WRITE, authority });
  const run = (authority: CapabilityContract["authority"], context: CallContext = {}) =>
    registryWith(() => ok("ran"), { contract: level(authority) }).execute("act", {}, context);

  it("session lets code and proven callers in, and refuses an anonymous one from the network", async () => {
    expect((await run({ level: "session" })).success).toBe(true);
    expect(
      (await run({ level: "session" }, { principal: { kind: "remote", id: "r", via: "network" } })).success,
    ).toBe(true);
    expect(
      (await run({ level: "session" }, { principal: { kind: "anonymous", id: "?", via: "local" } })).success,
    ).toBe(true);
    expect(
      await run({ level: "session" }, { principal: { kind: "anonymous", id: "?", via: "network" } }),
    ).toMatchObject({ code: "not_permitted", outcome: "not_started" });
  });

  it("grant needs every scope of an unexpired grant, human is never decided by a grant", async () => {
    const grant = (scopes: string[], expiresAt?: string) => ({
      grants: [
        {
          ref: "g",
          scopes,
          grantedBy: { kind: "human", id: "me", via: "local" } as const,
          ...(expiresAt === undefined ? {} : { expiresAt }),
        },
      ],
    });
    expect(await run({ level: "grant", scopes: ["a", "b"] }, grant(["a"]))).toMatchObject({
      code: "approval_required",
    });
    expect((await run({ level: "grant", scopes: ["a", "b"] }, grant(["a", "b"]))).success).toBe(true);
    expect(await run({ level: "grant", scopes: ["a"] }, grant(["a"], "2001-01-01T00:00:00Z"))).toMatchObject({
      code: "approval_required",
    });
    expect(await run({ level: "grant" }, {})).toMatchObject({ code: "approval_required" });
    expect(await run({ level: "human" }, grant(["a"]))).toMatchObject({
      code: "approval_required",
      outcome: "not_started",
    });
  });

  it("a policy can narrow but never widen, and one that throws denies", async () => {
    const decided = async (
      decide: () => never | { decision: "allow" } | { decision: "ask" | "deny"; reason: string },
      authority: CapabilityContract["authority"],
    ) =>
      registryWith(
        () => ok("ran"),
        { contract: level(authority) },
        { policy: { decide }, logger: recordingLogger() },
      ).execute("act", {});
    expect(await decided(() => ({ decision: "deny", reason: "not today" }), { level: "none" })).toMatchObject(
      { code: "not_permitted" },
    );
    expect(await decided(() => ({ decision: "ask", reason: "is it you?" }), { level: "none" })).toMatchObject(
      { code: "approval_required" },
    );
    expect(await decided(() => ({ decision: "allow" }), { level: "human" })).toMatchObject({
      code: "approval_required",
    });
    expect(
      await decided(
        () => {
          throw new Error("broken policy");
        },
        { level: "none" },
      ),
    ).toMatchObject({ code: "not_permitted" });
  });
});

describe("the concurrency gate", () => {
  it("runs at most the limit at once, in order, and lets siblings finish", async () => {
    const open: (() => void)[] = [];
    let running = 0;
    let most = 0;
    const order: unknown[] = [];
    const registry = registryWith(
      async ({ n }) => {
        order.push(n);
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => open.push(resolve));
        running -= 1;
        return ok(n);
      },
      { contract: "read" },
      { limits: { maxConcurrent: 2 } },
    );
    const calls = [1, 2, 3, 4].map((n) => registry.execute("act", { n }));
    for (let turn = 0; turn < 4; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      open.shift()?.();
    }
    const results = await Promise.all(calls);
    expect(results.map((result) => result.success && result.data)).toEqual([1, 2, 3, 4]);
    expect(order).toEqual([1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  it("a tool that is not parallel-safe never overlaps itself; equal conflict values wait, others do not", async () => {
    const spans = async (
      changes: Partial<ToolDefinition>,
      args: readonly Record<string, unknown>[],
    ): Promise<number> => {
      let running = 0;
      let most = 0;
      const registry = registryWith(async () => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        return ok(null);
      }, changes);
      await Promise.all(args.map((arg) => registry.execute("act", arg)));
      return most;
    };
    expect(await spans({}, [{}, {}, {}])).toBe(1);
    expect(await spans({ contract: "read" }, [{}, {}, {}])).toBe(3);
    const inputSchema = { type: "object", properties: { id: { type: "string" } } } as const;
    const contract = { ...WRITE, concurrency: { conflictParam: "id" } };
    expect(await spans({ inputSchema, contract }, [{ id: "a" }, { id: "a" }])).toBe(1);
    expect(await spans({ inputSchema, contract }, [{ id: "a" }, { id: "b" }])).toBe(2);
  });

  it("a call that is aborted while it waits has not started and frees its place", async () => {
    let release = (): void => {};
    const registry = registryWith(
      () =>
        new Promise((resolve) => {
          release = () => resolve(ok(null));
        }),
      { contract: WRITE },
    );
    const first = registry.execute("act", {});
    const stop = new AbortController();
    const second = registry.execute("act", {}, { signal: stop.signal });
    await new Promise((resolve) => setTimeout(resolve, 1));
    stop.abort();
    expect(await second).toMatchObject({ code: "cancelled", outcome: "not_started" });
    release();
    expect((await first).success).toBe(true);
    const third = registry.execute("act", {});
    await new Promise((resolve) => setTimeout(resolve, 1));
    release();
    expect((await third).success).toBe(true);
  });
});

describe("what a handler is given", () => {
  it("progress reaches caller and listeners; what is not JSON is dropped", async () => {
    const logger = recordingLogger();
    const updates: unknown[] = [];
    const heard: unknown[] = [];
    const registry = registryWith(
      (_params, context) => {
        context.progress({ done: 1 });
        context.progress(10n as never);
        return ok(null);
      },
      {},
      { logger },
    );
    registry.on("call:progress", ({ update }) => heard.push(update));
    await registry.execute("act", {}, { onProgress: (update) => updates.push(update) });
    expect(updates).toEqual([{ done: 1 }]);
    expect(heard).toEqual([{ done: 1 }]);
    expect(logger.lines).toHaveLength(1);
  });

  it("a keyed tool gets the key of its parameter, the caller's, or one derived from the call", async () => {
    const inputSchema = {
      type: "object",
      properties: { ref: { type: "string" }, n: { type: "number" } },
    } as const;
    const contract: CapabilityContract = { ...WRITE, idempotency: { mode: "keyed", keyParam: "ref" } };
    const keys: unknown[] = [];
    const registry = registryWith(
      (_params, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        return ok(null);
      },
      { inputSchema, contract },
    );
    await registry.execute("act", { ref: "r1" });
    await registry.execute("act", {}, { idempotencyKey: "caller" });
    await registry.execute("act", { n: 1 }, { callId: "c1" });
    await registry.execute("act", { n: 1 }, { callId: "c1" });
    expect(keys.slice(0, 2)).toEqual(["r1", "caller"]);
    expect(keys[2]).toMatch(/^sha256:/);
    expect(keys[3]).toBe(keys[2]);
  });
});

describe("defineTool through register", () => {
  it("checks a plain definition", () => {
    const registry = new ToolRegistry();
    expect(() =>
      registry.register({
        name: "Bad",
        description: "bad name",
        inputSchema: { type: "object", properties: {} },
        handler: () => ok(1),
      }),
    ).toThrow(/snake_case/);
    expect(
      registry.register(
        defineTool({
          name: "good",
          description: "good name",
          inputSchema: { type: "object", properties: {} },
          handler: () => ok(1),
        }),
      ),
    ).toEqual({ name: "good", action: "registered" });
  });
});
