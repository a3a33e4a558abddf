/** A fork goes on from a recorded point with another model, and repeats no effect. */

import { describe, expect, it } from "vitest";
import { forkRun } from "./fork-run.ts";
import { userMessage } from "./message.ts";
import { replayRun } from "./replay-run.ts";
import { ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { createMemoryRunStore } from "./run-store.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { runLoop } from "./run-loop.ts";
import { recordedAdapter, replayAdapter } from "./testing/recorded-adapter.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";

function world() {
  const ran: unknown[] = [];
  const tools = new ToolRegistry();
  const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
  tools.register({
    name: "save",
    description: "Saves a note.",
    inputSchema: text,
    handler: ({ text: note }) => (ran.push(note), ok(note)),
  });
  tools.register({
    name: "read",
    description: "Reads a note.",
    inputSchema: text,
    contract: "read",
    handler: ({ text: note }) => (ran.push(`read ${note}`), ok(note)),
  });
  return { tools, ran };
}

const call = (name: string, text: string) => ({ name, args: { text } });

async function recorded(tools: ToolRegistry): Promise<readonly AnyRunEvent[]> {
  const store = createMemoryRunStore();
  const adapter = scriptedAdapter([{ toolCalls: [call("save", "a")] }, { text: "saved" }]);
  const run = runLoop({
    adapter,
    tools,
    system: "Be brief.",
    messages: [userMessage("keep a")],
    capture: "full",
    store,
  });
  await run.result;
  const events: AnyRunEvent[] = [];
  for await (const event of store.read(run.runId)) events.push(event);
  return events;
}

describe("forkRun", () => {
  it("asks another model again from a round on, as a new run that names the old one", async () => {
    const { tools, ran } = world();
    const events = await recorded(tools);
    const adapter = scriptedAdapter([{ text: "kept" }], { model: "other" });
    const store = createMemoryRunStore();
    const { runId, status, text, record } = await forkRun(events, { at: { round: 1 }, adapter, store })
      .result;
    expect([status, text, ran]).toEqual(["completed", "kept", ["a"]]);
    const seq = events.findIndex((event) => event.type === "model.requested" && event.data.round === 1);
    expect(record.lineage.forkOf).toEqual({ runId: events[0]?.runId, seq });
    expect([record.model?.requested, runId === events[0]?.runId]).toEqual(["other", false]);
    const made: AnyRunEvent[] = [];
    for await (const event of store.read(runId)) made.push(event);
    expect((await replayRun(made)).complete).toBe(true);
    expect(made.some((event) => event.type === "message.appended")).toBe(false);
    const turns = (
      await forkRun(made, { at: { round: 0 }, adapter: scriptedAdapter([{ text: "again" }]) }).result
    ).messages;
    expect(turns.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("answers equal calls from the record, and refuses others where it has no tools", async () => {
    const { tools, ran } = world();
    const events = await recorded(tools);
    const script = [{ toolCalls: [call("save", "a"), call("save", "b")] }, { text: "done" }];
    const { record } = await forkRun(events, { at: { round: 0 }, adapter: scriptedAdapter(script) }).result;
    expect(record.toolCalls.map(({ outcome, code }) => [outcome, code])).toEqual([
      ["succeeded", undefined],
      ["not_started", "not_permitted"],
    ]);
    expect(ran).toEqual(["a"]);
  });

  it("finds a call again whose defaults were filled in", async () => {
    const tools = new ToolRegistry();
    const inputSchema = { type: "object", properties: { all: { type: "boolean", default: false } } } as const;
    let ran = 0;
    tools.register({
      name: "list",
      description: "Lists things.",
      inputSchema,
      contract: "read",
      handler: () => ok((ran += 1)),
    });
    const script = () => scriptedAdapter([{ toolCalls: [{ name: "list" }] }, { text: "done" }]);
    const store = createMemoryRunStore();
    const run = runLoop({
      adapter: script(),
      tools,
      messages: [userMessage("list")],
      capture: "full",
      store,
    });
    await run.result;
    const events: AnyRunEvent[] = [];
    for await (const event of store.read(run.runId)) events.push(event);
    const { record } = await forkRun(events, { at: { round: 0 }, adapter: script() }).result;
    expect(record.toolCalls[0]).toMatchObject({
      outcome: "succeeded",
      idempotency: { replayOf: "call_0_0" },
    });
    expect(ran).toBe(1);
  });

  it("runs live reads, and a live write only with a grant of its own", async () => {
    const { tools, ran } = world();
    const events = await recorded(tools);
    const script = () =>
      scriptedAdapter([{ toolCalls: [call("read", "z"), call("save", "b")] }, { text: "done" }]);
    const refused = await forkRun(events, { at: { round: 0 }, adapter: script(), tools }).result;
    expect(refused.record.toolCalls.map(({ outcome, code }) => [outcome, code])).toEqual([
      ["succeeded", undefined],
      ["not_started", "approval_required"],
    ]);
    const grants = [
      { ref: "g1", scopes: ["tool:save"], grantedBy: { kind: "human", id: "ann", via: "local" } },
    ] as const;
    await forkRun(events, { at: { round: 0 }, adapter: script(), tools, grants }).result;
    expect(ran).toEqual(["a", "read z", "read z", "b"]);
  });

  it("does not take a grant that has expired", async () => {
    const { tools, ran } = world();
    const events = await recorded(tools);
    const grantedBy = { kind: "human", id: "ann", via: "local" } as const;
    const grants = [{ ref: "g1", scopes: ["tool:save"], grantedBy, expiresAt: "2001-01-01T00:00:00.000Z" }];
    const adapter = scriptedAdapter([{ toolCalls: [call("save", "b")] }, { text: "done" }]);
    const { record } = await forkRun(events, { at: { round: 0 }, adapter, tools, grants }).result;
    expect([record.toolCalls[0]?.code, ran]).toEqual(["approval_required", ["a"]]);
  });

  it("refuses a record that somebody changed", async () => {
    const events = await recorded(world().tools);
    const forged = JSON.parse(JSON.stringify(events).replace('"value":"saved"', '"value":"forged"'));
    const options = { at: { round: 1 }, adapter: scriptedAdapter([]) };
    expect(() => forkRun(forged, options)).toThrow(/does not match its digest/);
  });

  it.each([0, -1, 1.5, 99, { round: 7 }])("refuses to fork at %j", async (at) => {
    const events = await recorded(world().tools);
    expect(() => forkRun(events, { at, adapter: scriptedAdapter([]) })).toThrow("to fork at");
  });
});

describe("recordedAdapter and replayAdapter", () => {
  const messages = [userMessage("keep a")];

  it("make one run into a test without a model, through JSON", async () => {
    const { tools } = world();
    const real = recordedAdapter(scriptedAdapter([{ toolCalls: [call("save", "a")] }, { text: "saved" }]));
    await runLoop({ adapter: real, tools, messages }).result;
    const kept = JSON.parse(JSON.stringify(real.calls));
    const again = await runLoop({ adapter: replayAdapter(kept), tools, messages }).result;
    expect([again.status, again.text]).toEqual(["completed", "saved"]);
  });

  it("answers from the events of a recorded run", async () => {
    const { tools } = world();
    const events = await recorded(tools);
    const adapter = replayAdapter(events);
    const again = await runLoop({ adapter, tools, system: "Be brief.", messages }).result;
    expect(again.text).toBe("saved");
  });

  it("fails loudly on another request, and shows how it differs", async () => {
    const { tools } = world();
    const real = recordedAdapter(scriptedAdapter([{ text: "hi" }]));
    await runLoop({ adapter: real, tools, messages }).result;
    const other = [userMessage("keep b")];
    const { status, error } = await runLoop({ adapter: replayAdapter(real.calls), tools, messages: other })
      .result;
    expect(status).toBe("failed");
    expect(error?.message).toContain('/messages/0/content: recorded "keep a", now "keep b"');
  });
});
