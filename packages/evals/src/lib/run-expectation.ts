/** What a run is expected to have done, as a chain that throws at the first thing that is not so. */

import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import type { AIAdapter, Json, RunEffects, RunRecord } from "@openfunctions/core";
import { type Judgment, judgeRun } from "./judge-run.ts";

/** Expectations of one run. Each method throws `AssertionError` with what was expected and what was there. */
export interface RunExpectation {
  /** It came to an answer. */
  completed(): RunExpectation;
  /** The tool was asked for: at least once, or exactly `times`; with arguments that hold all of `args`. */
  calledTool(name: string, how?: { readonly times?: number; readonly args?: Json }): RunExpectation;
  didNotCall(name: string): RunExpectation;
  /** These calls came in this order; others may stand between them. */
  callOrder(names: readonly string[]): RunExpectation;
  effects(effects: Partial<Pick<RunEffects, "summary" | "certainty">>): RunExpectation;
  /** It cost less than `below` US dollars; an unknown price fails. */
  cost(bound: { readonly below: number }): RunExpectation;
  /** It took less than `belowMs` milliseconds from start to end. */
  latency(bound: { readonly belowMs: number }): RunExpectation;
  /** At most `max` model calls. */
  rounds(bound: { readonly max: number }): RunExpectation;
  /** The answer holds the text, or matches; needs capture `full`. */
  claim(expected: string | RegExp): RunExpectation;
  /** Asks a model whether the answer meets the rubric, in a run of its own. Its opinion proves nothing by itself. */
  judge(adapter: AIAdapter, rubric: string): Promise<Judgment>;
}

/** Begins expectations of a run, in vitest, `node:test` or anything that takes a throw for a failure. */
export function expectRun(record: RunRecord): RunExpectation {
  return new RecordExpectation(record);
}

class RecordExpectation implements RunExpectation {
  readonly #record: RunRecord;

  constructor(record: RunRecord) {
    this.#record = record;
  }

  completed(): RunExpectation {
    const { status, stopReason, error } = this.#record;
    const why = error === undefined ? "" : `, ${error.code}${said(error.message.value)}`;
    return this.#check(status === "completed", {
      message: `The run is ${status} (${stopReason ?? "no end"}${why}), not completed.`,
      actual: status,
      expected: "completed",
    });
  }

  calledTool(name: string, how: { readonly times?: number; readonly args?: Json } = {}): RunExpectation {
    const { times, args } = how;
    const named = this.#record.toolCalls.filter((call) => call.toolName === name);
    const kept = args === undefined || named.every((call) => call.args.value !== undefined);
    this.#check(kept, {
      message: `The arguments of "${name}" were not kept (capture ${this.#record.capture}); record with capture "full".`,
      actual: undefined,
      expected: args,
    });
    const fitting = args === undefined ? named : named.filter((call) => holds(call.args.value, args));
    const isEnough = times === undefined ? fitting.length > 0 : fitting.length === times;
    const wanted = times === undefined ? "at least once" : count(times);
    return this.#check(isEnough, {
      message: `"${name}" was called ${count(fitting.length)}${args === undefined ? "" : " with these arguments"}, not ${wanted}. Called: ${this.#called()}.`,
      actual: args === undefined ? this.#names() : named.map((call) => call.args.value),
      expected: args ?? name,
    });
  }

  didNotCall(name: string): RunExpectation {
    const calls = this.#names().filter((one) => one === name);
    return this.#check(calls.length === 0, {
      message: `"${name}" was called ${count(calls.length)}, not never.`,
      actual: calls,
      expected: [],
    });
  }

  callOrder(names: readonly string[]): RunExpectation {
    let next = 0;
    for (const name of this.#names()) if (name === names[next]) next += 1;
    return this.#check(next === names.length, {
      message: `The calls came as ${this.#called()}; "${names[next] ?? ""}" is missing or came too early.`,
      actual: this.#names(),
      expected: names,
    });
  }

  effects(expected: Partial<Pick<RunEffects, "summary" | "certainty">>): RunExpectation {
    const { summary, certainty } = this.#record.effects;
    const isSame =
      (expected.summary ?? summary) === summary && (expected.certainty ?? certainty) === certainty;
    const message = `The effects are ${summary} and ${certainty}.`;
    return this.#check(isSame, {
      message,
      actual: { summary, certainty },
      expected: { summary, certainty, ...expected },
    });
  }

  cost({ below }: { readonly below: number }): RunExpectation {
    const { costUsd } = this.#record.usage;
    return this.#check(costUsd !== undefined && costUsd < below, {
      message: `The run cost ${costUsd === undefined ? "an unknown amount" : `$${costUsd}`}, not less than $${below}.`,
      actual: costUsd,
      expected: `< ${below}`,
    });
  }

  latency({ belowMs }: { readonly belowMs: number }): RunExpectation {
    const { startedAt, endedAt } = this.#record;
    const tookMs = endedAt === undefined ? undefined : Date.parse(endedAt) - Date.parse(startedAt);
    return this.#check(tookMs !== undefined && tookMs < belowMs, {
      message: `The run ${tookMs === undefined ? "has not ended" : `took ${tookMs} ms`}, not less than ${belowMs} ms.`,
      actual: tookMs,
      expected: `< ${belowMs}`,
    });
  }

  rounds({ max }: { readonly max: number }): RunExpectation {
    const { rounds } = this.#record;
    const message = `The run made ${rounds} model calls, not at most ${max}.`;
    return this.#check(rounds <= max, { message, actual: rounds, expected: `<= ${max}` });
  }

  claim(expected: string | RegExp): RunExpectation {
    const text = answerOf(this.#record);
    // A pattern with the flag g keeps its place between matches.
    const isThere = typeof expected === "string" ? text.includes(expected) : text.search(expected) >= 0;
    const message = `The answer does not hold ${typeof expected === "string" ? JSON.stringify(expected) : String(expected)}.`;
    return this.#check(isThere, { message, actual: text, expected });
  }

  async judge(adapter: AIAdapter, rubric: string): Promise<Judgment> {
    const judgment = await judgeRun(adapter, { answer: answerOf(this.#record), rubric });
    const message = `The judge says no: ${judgment.reason}`;
    this.#check(judgment.passed, { message, actual: answerOf(this.#record), expected: rubric });
    return judgment;
  }

  #check(
    holds: boolean,
    failure: { readonly message: string; readonly actual: unknown; readonly expected: unknown },
  ): RunExpectation {
    if (holds) return this;
    const { message, actual, expected } = failure;
    throw new AssertionError({
      message: `${message} (run ${this.#record.runId})`,
      actual,
      expected,
      operator: "expectRun",
      stackStartFn: this.#check,
    });
  }

  #names(): readonly string[] {
    return this.#record.toolCalls.map((call) => call.toolName);
  }

  #called(): string {
    return this.#names().join(", ") || "nothing";
  }
}

/** The answer of a run. Throws `AssertionError` where there is none or it was not kept. */
function answerOf(record: RunRecord): string {
  const text = record.status === "completed" ? record.output?.value : undefined;
  if (text !== undefined) return text;
  const why =
    record.status === "completed"
      ? `its text was not kept (capture ${record.capture}); record with capture "full"`
      : `it is ${record.status} (${record.stopReason ?? "no end"})`;
  throw new AssertionError({
    message: `Run ${record.runId} has no answer to look at: ${why}.`,
    operator: "expectRun",
  });
}

/** True where `actual` has everything that `expected` has: objects by their keys, all else by equality. */
function holds(actual: unknown, expected: Json): boolean {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected))
    return isDeepStrictEqual(actual, expected);
  if (typeof actual !== "object" || actual === null) return false;
  return Object.entries(expected).every(
    ([key, value]) => Object.hasOwn(actual, key) && holds(Reflect.get(actual, key), value),
  );
}

function count(times: number): string {
  if (times === 0) return "never";
  return times === 1 ? "once" : `${times} times`;
}

function said(text: string | undefined): string {
  return text === undefined ? "" : `: ${text}`;
}
