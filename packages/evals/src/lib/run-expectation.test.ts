import { AssertionError } from "node:assert";
import { type LoopOptions, type RunRecord, ToolRegistry, ok, runLoop } from "@openfunctions/core";
import { type ScriptStep, scriptedAdapter } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { type RunExpectation, expectRun } from "./run-expectation.ts";

const USAGE = { input: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, total: 15, costUsd: 0.01 };

async function record(options: Partial<LoopOptions> = {}, steps?: readonly ScriptStep[]): Promise<RunRecord> {
  const tools = new ToolRegistry();
  const inputSchema = {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "array", items: { type: "integer" } } },
  } as const;
  for (const [name, contract] of [
    ["weather", "read"],
    ["book", "write"],
  ] as const)
    tools.register({ name, description: `Does ${name}.`, inputSchema, contract, handler: () => ok("fine") });
  const calls: ScriptStep = {
    usage: USAGE,
    toolCalls: [
      { name: "weather", args: { city: "Oslo", days: [1, 2] } },
      { name: "weather", args: { city: "Rome" } },
      { name: "book", args: { city: "Oslo" } },
    ],
  };
  const adapter = scriptedAdapter(steps ?? [calls, { text: "Go to Oslo.", usage: USAGE }]);
  const messages = [{ role: "user" as const, content: "where to?" }];
  return (await runLoop({ adapter, tools, messages, capture: "full", ...options }).result).record;
}

function failure(expectation: () => unknown): AssertionError {
  try {
    expectation();
  } catch (cause) {
    if (cause instanceof AssertionError) return cause;
  }
  throw new Error("it did not throw an AssertionError");
}

describe("expectRun", () => {
  it("chains expectations that hold", async () => {
    const run = await record();
    expectRun(run)
      .completed()
      .calledTool("weather")
      .calledTool("weather", { times: 2 })
      .calledTool("weather", { args: { city: "Oslo" }, times: 1 })
      .didNotCall("pay")
      .callOrder(["weather", "book"])
      .effects({ summary: "committed", certainty: "known" })
      .cost({ below: 0.03 })
      .latency({ belowMs: 60_000 })
      .rounds({ max: 2 })
      .claim("Oslo")
      .claim(/^go to/i);
  });

  const WRONG: readonly (readonly [string, (run: RunExpectation) => unknown, RegExp])[] = [
    [
      "a tool that was not called",
      (run) => run.calledTool("pay"),
      /"pay" was called never, not at least once. Called: weather, weather, book/,
    ],
    ["a wrong count", (run) => run.calledTool("weather", { times: 1 }), /called 2 times, not once/],
    [
      "other arguments",
      (run) => run.calledTool("weather", { args: { city: "Bonn" } }),
      /never with these arguments/,
    ],
    ["half of an array", (run) => run.calledTool("weather", { args: { days: [1] } }), /with these arguments/],
    ["a forbidden call", (run) => run.didNotCall("book"), /"book" was called once, not never/],
    ["another order", (run) => run.callOrder(["book", "weather"]), /"weather" is missing or came too early/],
    ["other effects", (run) => run.effects({ summary: "read_only" }), /effects are committed and known/],
    ["a smaller cost", (run) => run.cost({ below: 0.02 }), /cost \$0.02, not less than \$0.02/],
    ["less time", (run) => run.latency({ belowMs: 0 }), /not less than 0 ms/],
    ["fewer rounds", (run) => run.rounds({ max: 1 }), /made 2 model calls, not at most 1/],
    ["another answer", (run) => run.claim("Rome"), /does not hold "Rome"/],
  ];

  it.each(WRONG)("says what was expected and what was there: %s", async (_title, expectation, message) => {
    const run = await record();
    const error = failure(() => expectation(expectRun(run)));
    expect(error.message).toMatch(message);
    expect(error.message).toContain(run.runId);
    expect(error.expected).toBeDefined();
  });

  it("names status, reason and error of a run that did not complete", async () => {
    const run = await record({ limits: { maxRounds: 1 } });
    expect(failure(() => expectRun(run).completed()).message).toMatch(/limit_reached \(max_rounds\)/);
    expect(failure(() => expectRun(run).claim("x")).message).toMatch(/no answer to look at/);
  });

  it("fails rather than pass over what was not kept or not known", async () => {
    const dark = await record({ capture: "digest" });
    expect(failure(() => expectRun(dark).claim("Oslo")).message).toMatch(/capture "full"/);
    expect(failure(() => expectRun(dark).calledTool("weather", { args: {} })).message).toMatch(
      /capture "full"/,
    );
    const unpriced = await record({}, [{ text: "hi", usage: { ...USAGE, costUsd: undefined } as never }]);
    expect(failure(() => expectRun(unpriced).cost({ below: 1 })).message).toMatch(/unknown amount/);
  });

  it("asks a judge in a run of its own, the answer fenced as data", async () => {
    const run = await record();
    const judge = scriptedAdapter([{ text: '{"reason":"it names a city","passed":true}' }]);
    const judgment = await expectRun(run).judge(judge, "names a city");
    expect(judgment).toMatchObject({ passed: true, reason: "it names a city" });
    expect(judgment.run.runId).not.toBe(run.runId);
    expect(JSON.stringify(judge.requests[0]?.messages)).toMatch(/<data origin=.*Go to Oslo/);
    const strict = scriptedAdapter([{ text: '{"reason":"no price","passed":false}' }]);
    await expect(expectRun(run).judge(strict, "names a price")).rejects.toThrow(/judge says no: no price/);
  });
});
