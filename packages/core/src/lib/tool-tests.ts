/** Runs the unit tests that travel with tools. */

import { InputError } from "./errors.ts";
import { type Json, isPlainObject } from "./json.ts";
import { createPorts } from "./ports.ts";
import type { CallContext } from "./call-context.ts";
import type { CallResult } from "./result.ts";
import type { Tool, ToolTest } from "./tool.ts";
import type { ToolFilter, ToolView } from "./tool-view.ts";

/** Options of `runToolTests`. */
export interface ToolTestOptions {
  readonly filter?: ToolFilter;
  /** Per test, in milliseconds. Default 5 000. */
  readonly timeoutMs?: number;
  /** The context of each call, such as an owner of its own. */
  readonly makeContext?: (tool: Tool, test: ToolTest) => CallContext;
}

/** One test that did not hold. */
export interface ToolTestFailure {
  readonly tool: string;
  readonly test: string;
  readonly problem: string;
}

/** What became of the tests; `skipped` counts tools without tests. */
export interface ToolTestReport {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly results: readonly {
    readonly tool: string;
    readonly test: string;
    readonly passed: boolean;
    readonly problem?: string;
  }[];
  readonly failures: readonly ToolTestFailure[];
}

/**
 * Runs each test through `execute`, one after the other. A tool whose contract says `natural` is run twice: the second
 * call has to succeed or fail as the first did, and a read to answer in the same shape. Never throws for a failing test.
 */
export async function runToolTests(tools: ToolView, options: ToolTestOptions = {}): Promise<ToolTestReport> {
  const view = tools.snapshot(options.filter);
  const results: { tool: string; test: string; passed: boolean; problem?: string }[] = [];
  let skipped = 0;
  for (const tool of view.getAll()) {
    if (tool.tests === undefined || tool.tests.length === 0) skipped += 1;
    for (const test of tool.tests ?? []) {
      const problem = await runTest(view, { tool, test }, options);
      const base = { tool: tool.name, test: test.description, passed: problem === undefined };
      results.push(problem === undefined ? base : { ...base, problem });
    }
  }
  const failures = results.flatMap(({ tool, test, problem }) =>
    problem === undefined ? [] : [{ tool, test, problem }],
  );
  return { passed: results.length - failures.length, failed: failures.length, skipped, results, failures };
}

interface ToolTestCase {
  readonly tool: Tool;
  readonly test: ToolTest;
}

async function runTest(
  view: ToolView,
  { tool, test }: ToolTestCase,
  options: ToolTestOptions,
): Promise<string | undefined> {
  const { expect } = test;
  if (expect.success === undefined && expect.error === undefined && expect.data === undefined) {
    throw new InputError(
      `Test "${test.description}" of "${tool.name}" expects nothing: give success, error or data.`,
    );
  }
  const timeoutMs = options.timeoutMs ?? 5_000;
  const ports = createPorts();
  const execute = (): Promise<CallResult> =>
    view.execute(tool.name, test.input, {
      ports,
      signal: AbortSignal.timeout(timeoutMs),
      ...options.makeContext?.(tool, test),
    });
  const result = await execute();
  const problem = checkResult(result, expect);
  if (
    problem !== undefined ||
    tool.contract.effects.kind === "none" ||
    tool.contract.idempotency.mode !== "natural"
  )
    return problem;
  return checkRepeat(result, await execute(), tool);
}

function checkResult(result: CallResult, expect: ToolTest["expect"]): string | undefined {
  const wanted = expect.success ?? expect.error === undefined;
  if (result.success !== wanted) {
    return result.success
      ? "succeeded, expected a failure"
      : `failed with ${result.code ?? "no code"}: ${result.error}`;
  }
  if (expect.error !== undefined) {
    if (result.success) return "has no error";
    if (!result.error.includes(expect.error))
      return `error is "${result.error}", expected it to contain "${expect.error}"`;
  }
  if (expect.data === undefined) return undefined;
  if (!result.success) return "has no data";
  return matchData(result.data, expect.data, expect.match)
    ? undefined
    : describeMismatch(result.data, expect.data);
}

/** A repeat of a natural tool has to succeed or fail as the first did; only a read has to answer the same. */
function checkRepeat(first: CallResult, second: CallResult, tool: Tool): string | undefined {
  if (first.success !== second.success)
    return `is declared natural, but a second call ${second.success ? "succeeded" : "failed"}`;
  if (tool.contract.effects.kind !== "read" || !first.success || !second.success) return undefined;
  const same =
    JSON.stringify(Object.keys(Object(first.data))) === JSON.stringify(Object.keys(Object(second.data)));
  return same ? undefined : "is declared a natural read, but a second call answered with another shape";
}

/** Objects by subset or exactly; arrays by length unless the expectation asked for a subset by `match`. */
function matchData(got: Json | undefined, wanted: Json, match: "subset" | "exact" | undefined): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(got)) return false;
    if (match === "subset")
      return wanted.every((item: Json) => got.some((found: Json) => matchData(found, item, match)));
    return (
      got.length === wanted.length && wanted.every((item: Json, index) => matchData(got[index], item, match))
    );
  }
  if (!isPlainObject(wanted)) return Object.is(got, wanted);
  if (!isPlainObject(got)) return false;
  if (match === "exact" && Object.keys(got).length !== Object.keys(wanted).length) return false;
  // Proof: both came through JSON
  return Object.entries(wanted).every(
    ([key, item]) => Object.hasOwn(got, key) && matchData(got[key] as Json, item as Json, match),
  );
}

function describeMismatch(got: Json, wanted: Json): string {
  return `data is ${JSON.stringify(got).slice(0, 300)}, expected ${JSON.stringify(wanted).slice(0, 300)}`;
}
