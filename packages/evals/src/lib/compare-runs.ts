/** What differs between two runs of the same thing: before and after a change, or two models. */

import type { Json, RunRecord } from "@openfunctions/core";

/** One field that differs. */
export interface RunDifference {
  readonly field: string;
  readonly before: Json;
  readonly after: Json;
}

/** The differences in outcome, calls, effects, answer and tokens. Ids, times and digests of one run differ always and are left out. */
export function compareRuns(before: RunRecord, after: RunRecord): readonly RunDifference[] {
  const [left, right] = [factsOf(before), factsOf(after)];
  return Object.keys(left).flatMap((field) => {
    const [was, is] = [left[field] ?? null, right[field] ?? null];
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [{ field, before: was, after: is }];
  });
}

function factsOf(record: RunRecord): Readonly<Record<string, Json>> {
  const { status, stopReason = null, rounds, toolCalls, effects, output, usage, model } = record;
  return {
    status,
    stopReason,
    model: model?.requested ?? null,
    rounds,
    calls: toolCalls.map((call) => call.toolName),
    outcomes: toolCalls.map((call) => call.outcome),
    arguments: toolCalls.map((call) => call.args.value ?? null),
    effects: effects.summary,
    certainty: effects.certainty,
    answer: output?.value ?? null,
    tokens: usage.total,
    costUsd: usage.costUsd ?? null,
  };
}
