/** The guard phase: every limit, before anything is spent. */

import type { Ending } from "./loop-ending.ts";
import type { RunState } from "./loop-state.ts";
import type { StopReason } from "./run-event.ts";

/** The first limit that is reached, as the run's ending. */
export function checkLimits(state: RunState): Ending | undefined {
  const { limits } = state.context;
  // A run that made exactly its calls may still answer; one that asked for more ends.
  if (state.guard.overQuota || state.hooks.replay?.isOverQuota === true)
    return { status: "limit_reached", stopReason: "tool_quota" };
  const { usage } = state;
  const spentInput = usage.input + usage.cacheRead + usage.cacheWrite;
  const spentOutput = usage.output + usage.reasoning;
  const checks: readonly (readonly [StopReason, number, number | undefined])[] = [
    ["max_rounds", state.rounds, limits.maxRounds],
    ["token_budget", spentInput, limits.maxInputTokens],
    ["token_budget", spentOutput, limits.maxOutputTokens],
    ["cost_budget", usage.costUsd ?? 0, limits.maxCostUsd],
  ];
  const reached = checks.find(([, spent, limit]) => limit !== undefined && spent >= limit);
  return reached === undefined ? undefined : { status: "limit_reached", stopReason: reached[0] };
}
