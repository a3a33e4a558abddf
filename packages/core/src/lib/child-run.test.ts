/** Runs below runs: they inherit, and end with their parent. */

import { describe, expect, it } from "vitest";
import type { Logger } from "./logger.ts";
import { userMessage } from "./message.ts";
import { ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { type RunStore, createMemoryRunStore } from "./run-store.ts";
import { runLoop } from "./__fixtures__/replayed-loop.ts";
import type { LoopResult } from "./run-options.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";

describe("child runs", () => {
  it("runs L14: aborting the parent cancels the child with parent_cancelled, before the parent ends", async () => {
    const store = createMemoryRunStore();
    const order: string[] = [];
    let child: LoopResult | undefined;
    const tools = new ToolRegistry();
    tools.register({
      name: "delegate",
      description: "Asks another model.",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: async (_params, context) => {
        const adapter = scriptedAdapter([{ stall: true }]);
        const parent = { ...context.child(), runId: context.runId ?? "", depth: 0, ancestors: [] };
        const run = runLoop({ adapter, messages: [userMessage("dig")], parent, store });
        setImmediate(() => parentRun.abort("enough"));
        child = await run.result;
        order.push("child");
        return ok(child.status);
      },
    });
    const adapter = scriptedAdapter([{ toolCalls: [{ name: "delegate" }] }]);
    const parentRun = runLoop({ adapter, tools, messages: [userMessage("go")], store });
    const parent = await parentRun.result;
    order.push("parent");
    expect([child?.status, child?.stopReason]).toEqual(["cancelled", "parent_cancelled"]);
    expect([parent.status, parent.stopReason]).toEqual(["cancelled", "caller_abort"]);
    expect(child?.record.lineage).toMatchObject({
      parentRunId: parent.runId,
      rootRunId: parent.runId,
      depth: 1,
    });
    expect(order).toEqual(["child", "parent"]);
    expect((child?.record.endedAt ?? "z") <= (parent.record.endedAt ?? "")).toBe(true);
  });
});

describe("what a handler throws", () => {
  it("core Z4: the model reads the message alone, the log neither cause nor paths, and the record seals them redacted", async () => {
    const said: unknown[] = [];
    const say = (message: string, fields?: object): void => void said.push(message, fields);
    const logger: Logger = { debug: say, info: say, warn: say, error: say };
    const token = "sk-proj-abcdefghijklmnop1234567890";
    const store = createMemoryRunStore();
    const tools = new ToolRegistry({ logger });
    tools.register({
      name: "breaks",
      description: "Throws always.",
      inputSchema: { type: "object", properties: {} },
      handler: () => {
        throw new Error("it broke", { cause: new Error(`refused with ${token}`) });
      },
    });
    const adapter = scriptedAdapter([{ toolCalls: [{ name: "breaks" }] }, { text: "sorry" }]);
    const messages = [userMessage("go")];
    const run = runLoop({ adapter, tools, messages, store, capture: "full", logger });
    const result = await run.result;
    const seen = JSON.stringify(result.messages.filter(({ role }) => role === "tool"));
    expect(seen).toContain("it broke");
    expect(seen).not.toMatch(/refused|child-run\.test/);
    expect(JSON.stringify(said)).not.toMatch(/sk-proj|refused|child-run\.test/);
    const events = [];
    for await (const event of store.read(run.runId)) events.push(event);
    const finished = events.find((event) => event.type === "tool.finished");
    expect(finished?.data.cause?.value).toMatch(
      /it broke[\s\S]*child-run\.test[\s\S]*refused with \[redacted/,
    );
    expect(JSON.stringify(events)).not.toContain(token);
  });
});

describe("what a store is asked to keep", () => {
  it("lets the disk wait for reads, and has the intent of a write and the end on it", async () => {
    const store = createMemoryRunStore();
    const batches: (readonly [string, boolean | undefined])[] = [];
    const watched: RunStore = {
      ...store,
      append: (runId, events, options) => {
        for (const { type } of events) batches.push([type, options.durable]);
        return store.append(runId, events, options);
      },
    };
    const tools = new ToolRegistry();
    const empty = { type: "object", properties: {} } as const;
    tools.register({
      name: "look",
      description: "Reads.",
      inputSchema: empty,
      contract: "read",
      handler: () => ok(1),
    });
    tools.register({ name: "send", description: "Writes.", inputSchema: empty, handler: () => ok(1) });
    const script = [
      { toolCalls: [{ name: "look" }] },
      { delayMs: 20, toolCalls: [{ name: "send" }] },
      { text: "done" },
    ];
    await runLoop({ adapter: scriptedAdapter(script), tools, messages: [userMessage("go")], store: watched })
      .result;
    const started = batches.filter(([type]) => type === "tool.started");
    expect(started.map(([, durable]) => durable)).toEqual([false, true]);
    expect(batches.at(-1)).toEqual(["run.completed", true]);
  });
});
