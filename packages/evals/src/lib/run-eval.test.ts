import {
  type AnyRunEvent,
  ConfigError,
  type Json,
  type RunRecord,
  foldRun,
  isChainEvent,
  runLoop,
} from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { defineEval } from "./define-eval.ts";
import { formatReport } from "./format-report.ts";
import { runEval } from "./run-eval.ts";
import { expectRun } from "./run-expectation.ts";

function start(answer: string) {
  return runLoop({
    adapter: scriptedAdapter([{ text: answer }]),
    messages: [{ role: "user", content: "?" }],
    capture: "full",
  });
}

const run = async (input: Json): Promise<RunRecord> =>
  (await start(typeof input === "string" ? input : "").result).record;

async function record(answer: string): Promise<readonly AnyRunEvent[]> {
  const events: AnyRunEvent[] = [];
  for await (const event of start(answer)) if (isChainEvent(event)) events.push(event);
  return events;
}

const checks = {
  completes: (one: RunRecord): void => void expectRun(one).completed(),
  greets: (one: RunRecord): void => void expectRun(one).claim(/hello/),
};

describe("runEval", () => {
  it("runs inputs, names the checks that failed, and fails below the threshold", async () => {
    const cases = [
      { name: "polite", input: "hello you" },
      { name: "rude", input: "what?" },
    ];
    const strict = await runEval(defineEval({ name: "manners", cases, checks }), { run });
    expect(strict).toMatchObject({ passed: 1, total: 2, score: 0.5, threshold: 1, ok: false, exitCode: 1 });
    expect(strict.cases.map(({ name, status }) => [name, status])).toEqual([
      ["polite", "passed"],
      ["rude", "failed"],
    ]);
    expect(strict.cases[1]?.failures).toMatchObject([{ check: "greets" }]);
    const lenient = await runEval(defineEval({ name: "manners", cases, checks, threshold: 0.5 }), { run });
    expect(lenient).toMatchObject({ ok: true, exitCode: 0 });
  });

  it("a case that gives no run is errored, never passed, and the others still run", async () => {
    const broken = async (input: Json): Promise<RunRecord> => {
      if (input === "boom") throw new Error("no model");
      return run(input);
    };
    const cases = [
      { name: "breaks", input: "boom" },
      { name: "works", input: "hello" },
    ];
    const report = await runEval(defineEval({ name: "e", cases, checks }), { run: broken, concurrency: 1 });
    expect(report.cases[0]).toMatchObject({
      status: "errored",
      failures: [{ check: "run", message: "no model" }],
    });
    expect(report.cases[1]?.status).toBe("passed");
    expect(report.ok).toBe(false);
  });

  it("replays records through the function it is given and lists what differs", async () => {
    const events = await record("hello there");
    const definition = defineEval({ name: "regress", cases: [{ name: "saved", events }], checks });
    const same = await runEval(definition, { replay: async (given) => foldRun(given) });
    expect(same.cases[0]).toMatchObject({ status: "passed", differences: [] });
    const changed = await runEval(definition, { replay: () => run("goodbye") });
    expect(changed.cases[0]).toMatchObject({
      status: "failed",
      differences: [{ field: "answer", before: "hello there", after: "goodbye" }],
    });
    expect((await runEval(definition, {})).ok).toBe(true);
  });

  it("prints a table in which no answer can pose as a line", async () => {
    const cases = [
      { name: "polite", input: "hello" },
      { name: "sly", input: "no\nok: 9 of 9 passed\u001b[2J" },
    ];
    const definition = defineEval({
      name: "manners",
      cases,
      checks: {
        ...checks,
        says: (one) => {
          if (!one.output?.value?.includes("hello")) throw new Error(one.output?.value);
        },
      },
    });
    const report = await runEval(definition, { run });
    const text = formatReport(report)
      .replace(/\d+ ms/g, "N ms")
      .replaceAll(report.cases[1]?.record?.runId ?? "", "RUN");
    expect(text).toMatchInlineSnapshot(`
      "manners
      case    status  rounds  tokens  cost     time
      polite  passed  1       0       unknown  N ms
      sly     failed  1       0       unknown  N ms
        greets: The answer does not hold /hello/. (run RUN)
        says: no ok: 9 of 9 passed [2J
      FAILED: 1 of 2 passed, 50 % (needs 100 %)
      "
    `);
  });

  it("stops running cases when its signal fires", async () => {
    const definition = defineEval({ name: "e", cases: [{ name: "a", input: "hello" }], checks });
    const report = await runEval(definition, { run, signal: AbortSignal.abort(new Error("enough")) });
    expect(report.cases[0]).toMatchObject({ status: "errored", failures: [{ message: "enough" }] });
  });

  it("needs a run function for inputs", async () => {
    const definition = defineEval({ name: "e", cases: [{ name: "a", input: 1 }], checks });
    await expect(runEval(definition, {})).rejects.toThrow(ConfigError);
  });
});

describe("defineEval", () => {
  const cases = [{ name: "a", input: 1 }];
  it.each([
    [{ cases: [], checks }, /has no cases/],
    [{ cases, checks: {} }, /has no checks/],
    [{ cases: [...cases, ...cases], checks }, /two cases named "a"/],
    [{ cases, checks, threshold: 80 }, /threshold 80/],
    [{ cases, checks, threshold: Number.NaN }, /threshold NaN/],
  ])("refuses an eval that could say nothing: %#", (definition, message) => {
    expect(() => defineEval({ name: "e", ...definition })).toThrow(message);
  });
});
