/** Runs the cases of an eval and says which passed. */

import { type AnyRunEvent, ConfigError, type Json, type RunRecord, foldRun } from "@openfunctions/core";
import { type RunDifference, compareRuns } from "./compare-runs.ts";
import { type EvalCase, type EvalDefinition, type RecordedCase, defineEval } from "./define-eval.ts";

/** How the cases of an eval are run. */
export interface EvalRunner {
  /** Runs an input: live, or with a scripted model. Needed where a case is an input. */
  readonly run?: (input: Json, options: { readonly signal: AbortSignal }) => Promise<RunRecord>;
  /** Replays recorded events against the current code. Without it, recorded runs are looked at as they are. */
  readonly replay?: (events: readonly AnyRunEvent[]) => Promise<RunRecord>;
  /** Cases at a time. Default 4. */
  readonly concurrency?: number;
  readonly signal?: AbortSignal;
}

/** One check that did not hold, or why there was nothing to check (`run`). */
export interface EvalFailure {
  readonly check: string;
  readonly message: string;
}

/** What became of one case. `errored` gave no run to look at; it never counts as passed. */
export interface EvalCaseResult {
  readonly name: string;
  readonly status: "passed" | "failed" | "errored";
  readonly failures: readonly EvalFailure[];
  /** How a replay differs from the record; empty where nothing was replayed. */
  readonly differences: readonly RunDifference[];
  readonly record?: RunRecord;
}

/** What became of an eval. */
export interface EvalReport {
  readonly name: string;
  readonly cases: readonly EvalCaseResult[];
  readonly passed: number;
  readonly total: number;
  /** `passed / total`. */
  readonly score: number;
  readonly threshold: number;
  /** True where the score reaches the threshold. */
  readonly ok: boolean;
  /** For a program: 0 where `ok`, else 1. */
  readonly exitCode: 0 | 1;
}

const CONCURRENCY = 4;

/** Runs every case, a failing one included, and keeps their order. Throws `ConfigError` where a case cannot be run at all. */
export async function runEval(definition: EvalDefinition, runner: EvalRunner): Promise<EvalReport> {
  const { name, cases, checks, threshold = 1 } = defineEval(definition);
  const { run, signal = new AbortController().signal, concurrency = CONCURRENCY } = runner;
  const input = cases.find((one) => "input" in one);
  if (run === undefined && input !== undefined)
    throw new ConfigError(`Case "${input.name}" is an input; give runEval a "run" function.`, {
      code: "invalid_config",
    });
  const results: EvalCaseResult[] = [];
  const waiting = [...cases.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, evalCase] = next;
      results[index] = await runCase(evalCase, checks, { ...runner, signal });
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(concurrency, cases.length)) }, work));
  const passed = results.filter(({ status }) => status === "passed").length;
  const score = passed / results.length;
  const isOk = score >= threshold;
  return {
    name,
    cases: results,
    passed,
    total: results.length,
    score,
    threshold,
    ok: isOk,
    exitCode: isOk ? 0 : 1,
  };
}

type Runner = EvalRunner & { readonly signal: AbortSignal };

async function runCase(
  evalCase: EvalCase,
  checks: EvalDefinition["checks"],
  runner: Runner,
): Promise<EvalCaseResult> {
  const { name } = evalCase;
  let record: RunRecord;
  try {
    runner.signal.throwIfAborted();
    record = await recordOf(evalCase, runner);
  } catch (cause) {
    return {
      name,
      status: "errored",
      failures: [{ check: "run", message: messageOf(cause) }],
      differences: [],
    };
  }
  const failures: EvalFailure[] = [];
  for (const [check, holds] of Object.entries(checks)) {
    try {
      await holds(record, evalCase);
    } catch (cause) {
      failures.push({ check, message: messageOf(cause) });
    }
  }
  const differences =
    "events" in evalCase && runner.replay !== undefined ? compareRuns(foldRun(evalCase.events), record) : [];
  return { name, status: failures.length === 0 ? "passed" : "failed", failures, differences, record };
}

function recordOf(evalCase: EvalCase, { run, replay, signal }: Runner): Promise<RunRecord> {
  if ("input" in evalCase && run !== undefined) return run(evalCase.input, { signal });
  const { events } = evalCase as RecordedCase; // Proof: runEval refuses inputs without `run`
  return replay === undefined ? Promise.resolve(foldRun(events)) : replay(events);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
