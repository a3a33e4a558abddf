/** Prefix lint: a request begins as the one before it, or the report says where not. */

import { describe, expect, it } from "vitest";
import { lintPrefix } from "./lint-prefix.ts";
import { OpenFunctionsError } from "./errors.ts";
import type { Compactor } from "./loop-compaction.ts";
import { type Message, userMessage } from "./message.ts";
import { ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { runLoop } from "./__fixtures__/replayed-loop.ts";
import type { LoopOptions } from "./run-options.ts";
import { createMemoryRunStore } from "./run-store.ts";
import { type ScriptStep, scriptedAdapter } from "./testing/scripted-adapter.ts";
import { canonicalJson } from "./json.ts";

function registry(...names: readonly string[]): ToolRegistry {
  const tools = new ToolRegistry();
  for (const name of names)
    tools.register({
      name,
      description: `Does ${name}.`,
      inputSchema: { type: "object", properties: { n: { type: "number" } } },
      contract: "read",
      handler: ({ n }) => ok({ n, b: 1, a: 2 }),
    });
  return tools;
}

async function turn(
  steps: readonly ScriptStep[],
  options: Partial<LoopOptions>,
): Promise<{ readonly events: readonly AnyRunEvent[]; readonly messages: readonly Message[] }> {
  const store = createMemoryRunStore();
  const adapter = scriptedAdapter(steps);
  const run = runLoop({ adapter, capture: "full", store, messages: [userMessage("go")], ...options });
  const { messages } = await run.result;
  const events: AnyRunEvent[] = [];
  for await (const event of store.read(run.runId)) events.push(event);
  return { events, messages };
}

const calls = (from: number, to: number): ScriptStep[] =>
  Array.from({ length: to - from }, (_, index) => ({
    toolCalls: [{ name: "look", args: { n: from + index }, callId: `call_${from + index}` }],
  }));

describe("lintPrefix", () => {
  it("adapters Z22: a hundred rounds with tools and context, over two turns, keep every byte of their beginning", async () => {
    const tools = registry("look", "other");
    const system = "Be brief.";
    const context = {
      text: "The user lives in Oslo.",
      blocks: [{ providerId: "p", digest: "sha256:0" as never, chars: 23 }],
    };
    const limits = { maxRounds: 60, maxToolCalls: 60, wallMs: 60_000 };
    const sent: string[] = [];
    const watch = (step: ScriptStep): ScriptStep => {
      return (request) => {
        const { system: instructions, tools: listed, messages } = request;
        sent.push([instructions, listed, ...messages].map((part) => canonicalJson(part)).join("\n"));
        return typeof step === "function" ? {} : step;
      };
    };
    const first = await turn([...calls(0, 50), { text: "half" }].map(watch), {
      tools,
      system,
      context,
      limits,
    });
    const second = await turn([...calls(50, 99), { text: "done" }].map(watch), {
      tools,
      system,
      context,
      limits,
      messages: [...first.messages, userMessage("go on")],
    });
    expect(sent).toHaveLength(101);
    for (const [index, text] of sent.slice(1).entries())
      expect(text.startsWith(sent[index] ?? "none")).toBe(true);
    expect(lintPrefix([...first.events, ...second.events])).toEqual({
      compared: 100,
      withHistory: true,
      changes: [],
    });
  });

  it("names the byte of the instructions that another turn changed, such as a date", async () => {
    const at = (day: string): Promise<{ readonly events: readonly AnyRunEvent[] }> =>
      turn([{ text: "ok" }], { system: `Bé brief. Today is ${day}.` });
    const [first, second] = [await at("Monday"), await at("Tuesday")];
    const { changes } = lintPrefix([...first.events, ...second.events]);
    expect(changes).toEqual([
      {
        runId: second.events[0]?.runId,
        seq: second.events.find((event) => event.type === "model.requested")?.seq,
        segment: "instructions",
        name: "text",
        byte: 20,
        before: "Monday.",
        after: "Tuesday.",
      },
    ]);
  });

  it("names the tool that changed, or is gone, and the message", async () => {
    const first = await turn([{ text: "ok" }], { tools: registry("a", "b") });
    const second = await turn([{ text: "ok" }], { tools: registry("a", "c") });
    expect(lintPrefix([...first.events, ...second.events]).changes).toMatchObject([
      { segment: "tools", name: "b" },
    ]);
    const asked = await turn([{ text: "one" }], { messages: [userMessage("go")] });
    const edited = await turn([{ text: "two" }], {
      messages: [userMessage("went"), ...asked.messages.slice(1), userMessage("and?")],
    });
    expect(lintPrefix([...asked.events, ...edited.events]).changes).toMatchObject([
      { segment: "history", name: "0", before: 'go","role":"user"}', after: 'went","role":"user"}' },
    ]);
  });

  it("says why where the history was compacted", async () => {
    const full = new OpenFunctionsError("too long", { code: "context_overflow" });
    const compactor: Compactor = {
      compact: async (_messages, { overflowed }) =>
        overflowed ? { messages: [userMessage("short")] } : undefined,
    };
    const { events } = await turn([{ error: full }, { text: "ok" }], { compactor });
    expect(lintPrefix(events).changes).toMatchObject([
      { segment: "history", name: "0", reason: "the history was compacted" },
    ]);
  });

  it("compares digests where the record keeps no values, and says that histories were not read", async () => {
    const at = (day: string): ReturnType<typeof turn> =>
      turn([{ text: "ok" }], { system: [{ name: "today", text: day }], capture: "digest" });
    const [first, second] = [await at("Monday"), await at("Tuesday")];
    const report = lintPrefix([...first.events, ...second.events]);
    expect(report).toMatchObject({
      withHistory: false,
      changes: [{ segment: "instructions", name: "today" }],
    });
    expect(report.changes[0]).not.toHaveProperty("byte");
  });
});
