/** An eval: cases, what has to hold of every run they give, and how many of them must pass. */

import { type AnyRunEvent, ConfigError, type Json, type RunRecord } from "@openfunctions/core";

/** An input to run, live or scripted. */
export interface InputCase {
  readonly name: string;
  readonly input: Json;
}

/** The events of a recorded run, to replay against the current code, or to look at as they are. */
export interface RecordedCase {
  readonly name: string;
  readonly events: readonly AnyRunEvent[];
}

/** One case of an eval. */
export type EvalCase = InputCase | RecordedCase;

/** Throws where the run of a case is not as it should be; `expectRun` does. */
export type EvalCheck = (record: RunRecord, evalCase: EvalCase) => void | Promise<void>;

/** A checked eval. */
export interface EvalDefinition {
  readonly name: string;
  readonly cases: readonly EvalCase[];
  /** Named, so that the table can say which failed. */
  readonly checks: Readonly<Record<string, EvalCheck>>;
  /** The share of cases that must pass, from 0 to 1. Default 1. */
  readonly threshold?: number;
}

/** Checks an eval. Throws `ConfigError` for one that could never say anything. */
export function defineEval(definition: EvalDefinition): EvalDefinition {
  const { name, cases, checks, threshold = 1 } = definition;
  const names = cases.map((one) => one.name);
  const repeated = names.find((one, index) => names.indexOf(one) < index);
  if (cases.length === 0) throw fault(name, "has no cases, so it would pass by looking at nothing.");
  if (Object.keys(checks).length === 0) throw fault(name, "has no checks, so every case would pass.");
  if (repeated !== undefined) throw fault(name, `has two cases named "${repeated}".`);
  if (!(threshold >= 0 && threshold <= 1))
    throw fault(name, `has the threshold ${String(threshold)}; use a share from 0 to 1.`);
  return { name, cases: [...cases], checks: { ...checks }, threshold };
}

function fault(name: string, problem: string): ConfigError {
  return new ConfigError(`Eval "${name}" ${problem}`, { code: "invalid_config" });
}
