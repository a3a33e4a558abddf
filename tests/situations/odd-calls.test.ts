/** Calls as models get them wrong: the same outcome on every wire. */

import { describe, expect, it } from "vitest";
import { ok, runLoop, ToolRegistry, userMessage, type LoopResult } from "@openfunctions/core";
import { ADAPTERS, type Said, wireOf, withAdapter } from "./adapters.ts";
import { expectLegalHistory } from "./wire-shape.ts";

interface World {
  readonly tools: ToolRegistry;
  readonly ran: unknown[];
}

function world(): World {
  const ran: unknown[] = [];
  const tools = new ToolRegistry();
  tools.register({
    name: "look",
    description: "looks something up",
    inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    contract: "read",
    handler: (params) => (ran.push(Object(params).n), ok(Object(params).n)),
  });
  return { tools, ran };
}

const good = (id: string | null, n: number) => ({ id, name: "look", args: [`{"n":`, `${n}}`] });
const wrong = (...args: string[]) => ({ id: "call_bad", name: "look", args });

interface Outcome {
  readonly result: LoopResult;
  readonly ran: readonly unknown[];
  readonly bodies: readonly unknown[];
}

async function outcomeOf(name: string, said: readonly Said[]): Promise<Outcome> {
  const { tools, ran } = world();
  let outcome: Outcome | undefined;
  await withAdapter(name, said, async ({ adapter, server }) => {
    const result = await runLoop({ adapter, tools, messages: [userMessage("go")], capture: "full" }).result;
    outcome = { result, ran, bodies: server.requests.map(({ body }) => body) };
  });
  return outcome!;
}

const DONE: Said = { text: ["done"] };

describe.each(ADAPTERS)("%s", (name) => {
  it.each([
    ["text that cannot become JSON", "{bad"],
    ["an array", "[1,2]"],
    ["a string", '"n"'],
    ["a number", "7"],
    ["two objects", '{"n":1}{"n":2}'],
    ["a number no JSON has", '{"n":NaN}'],
  ])(
    "adapters A5: arguments that are %s are an invalid_input result; the sibling runs, the run goes on",
    async (_, args) => {
      const { result, ran, bodies } = await outcomeOf(name, [
        { calls: [wrong(args), good("call_ok", 2)] },
        DONE,
      ]);
      expect(result).toMatchObject({ status: "completed", text: "done" });
      expect(ran).toEqual([2]);
      expect(result.record.toolCalls).toMatchObject([
        { callId: "call_bad", outcome: "not_started", code: "invalid_input" },
        { callId: "call_ok", outcome: "succeeded" },
      ]);
      expectLegalHistory(name, bodies[1]);
    },
  );

  it.each([
    ["a prototype key", "__proto__"],
    ["a method of objects", "constructor"],
    ["a name nobody has", "lookup"],
    ["a name no provider takes back", "functions.look<|channel|>"],
    ["no name at all", ""],
    ["a very long name", "n".repeat(300)],
  ])(
    "field B11: a call of %s is an error result; the sibling runs, the next request is legal",
    async (_, called) => {
      const calls = [
        { id: "call_bad", name: called, args: ['{"__proto__":{"x":1},"constructor":2}'] },
        good("call_ok", 2),
      ];
      const { result, ran, bodies } = await outcomeOf(name, [{ calls }, DONE]);
      expect(result).toMatchObject({ status: "completed", text: "done" });
      expect(ran).toEqual([2]);
      expect(result.record.toolCalls).toMatchObject([
        { toolName: called, outcome: "not_started", code: "unknown_tool" },
        { outcome: "succeeded" },
      ]);
      expectLegalHistory(name, bodies[1]);
      expect(Reflect.get({}, "x")).toBeUndefined();
    },
  );

  it("prototype keys among the arguments are data: they reach no prototype, and the history keeps them", async () => {
    const args = '{"n":3,"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}';
    const { result, ran, bodies } = await outcomeOf(name, [
      { calls: [{ id: "call_1", name: "look", args: [args] }] },
      DONE,
    ]);
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect([ran, Reflect.get({}, "x")]).toEqual([[3], undefined]);
    expectLegalHistory(name, bodies[1]);
    expect(JSON.stringify(bodies[1]).replaceAll("\\", "")).toContain('"__proto__":{"x":1}');
  });

  it("two calls with one id end the run as protocol_error; none of them runs", async () => {
    const { result, ran } = await outcomeOf(name, [{ calls: [good("call_1", 1), good("call_1", 2)] }]);
    expect(result).toMatchObject({ status: "failed", stopReason: "protocol_error" });
    expect(ran).toEqual([]);
  });

  it("an id of an earlier turn ends the run as protocol_error; its call does not run", async () => {
    const { result, ran } = await outcomeOf(name, [
      { calls: [good("call_1", 1)] },
      { calls: [good("call_1", 2)] },
    ]);
    expect(result).toMatchObject({ status: "failed", stopReason: "protocol_error" });
    expect(ran).toEqual([1]);
  });

  it("calls without ids get some that every provider takes back, in each round anew", async () => {
    const { result, ran, bodies } = await outcomeOf(name, [
      { calls: [good(null, 1), good(null, 2)] },
      { calls: [good(null, 3)] },
      DONE,
    ]);
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect(ran).toEqual([1, 2, 3]);
    const ids = result.record.toolCalls.map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,40}$/);
    expectLegalHistory(name, bodies[2]);
  });

  it("ids that only their provider takes are made legal elsewhere, call and result alike", async () => {
    const long = `functions.look:0|${"x".repeat(90)}`;
    const { result } = await outcomeOf(name, [
      { calls: [good(long, 1), good(`${long}y`, 2), good("call 3", 3)] },
      DONE,
    ]);
    expect(result.record.toolCalls.map(({ callId }) => callId)).toEqual([long, `${long}y`, "call 3"]);
    for (const other of ADAPTERS) {
      await withAdapter(other, [DONE], async ({ adapter, server }) => {
        const messages = [...result.messages, userMessage("and now?")];
        expect((await runLoop({ adapter, tools: world().tools, messages }).result).text).toBe("done");
        expectLegalHistory(other, server.requests[0]?.body);
      });
    }
  });

  it("field A13: field A14: arguments cut off are a truncated reply: nothing of it runs, nothing looks finished", async () => {
    for (const finish of ["tool_calls", "stop", "length"] as const) {
      const { result, ran } = await outcomeOf(name, [
        { calls: [good("call_ok", 1), wrong('{"n":', "1")], finish },
      ]);
      expect(result).toMatchObject({ status: "limit_reached", stopReason: "output_truncated", text: "" });
      expect(ran).toEqual([]);
      expect(result.record.toolCalls).toEqual([]);
    }
  });

  it.each([
    '{"name":"look","arguments":{"n":1}}',
    '<tool_call>{"name":"look","arguments":{"n":1}}</tool_call>',
    '```json\n{"tool":"look","n":1}\n```',
    'look({"n":1})',
  ])("text that looks like a call is text: %s", async (text) => {
    const { result, ran } = await outcomeOf(name, [{ text: [text.slice(0, 9), text.slice(9)] }]);
    expect(result).toMatchObject({ status: "completed", stopReason: "model_response", text });
    expect(ran).toEqual([]);
    expect(result.record.toolCalls).toEqual([]);
  });

  it("field A1: nothing, white space and null are no arguments; a tool without parameters runs", async () => {
    const tools = new ToolRegistry();
    let runs = 0;
    const inputSchema = { type: "object", properties: {} } as const;
    tools.register({
      name: "now",
      description: "the time",
      inputSchema,
      contract: "read",
      handler: () => ok((runs += 1)),
    });
    const calls = ["", " ", "null", "{}"].map((args, index) => ({
      id: `call_${index}`,
      name: "now",
      args: [args],
    }));
    await withAdapter(name, [{ calls }, DONE], async ({ adapter }) => {
      const result = await runLoop({ adapter, tools, messages: [userMessage("go")] }).result;
      expect(result.record.toolCalls.map(({ outcome }) => outcome)).toEqual(Array(4).fill("succeeded"));
    });
    expect(runs).toBe(4);
    expect(wireOf(name).name).toBe(name);
  });
});
