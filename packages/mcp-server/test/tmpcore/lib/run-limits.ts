/** What a run may spend. */

/** Bounds of a run (spec core.md section 10). Absent means no such bound, except where a default is named. */
export interface RunLimits {
  /** Model calls. Default 10. */
  readonly maxRounds: number;
  /** Tool calls in total. Default 64. */
  readonly maxToolCalls: number;
  /** Wall time in milliseconds. Default 300 000. */
  readonly wallMs: number;
  /** Equal calls in a row (tool, arguments and result) before the next is refused. Default 3. */
  readonly maxRepeats: number;
  readonly maxInputTokens?: number;
  readonly maxOutputTokens?: number;
  /** US dollars; needs a model with a known price. */
  readonly maxCostUsd?: number;
}

/** The limits of a run that names none. */
export const DEFAULT_LIMITS: RunLimits = Object.freeze({
  maxRounds: 10,
  maxToolCalls: 64,
  wallMs: 300_000,
  maxRepeats: 3,
});

/** The smaller of two limits, field by field. */
export function smallerLimits(left: RunLimits, right: Partial<RunLimits>): RunLimits {
  const merged: Record<string, number> = { ...left };
  for (const [key, value] of Object.entries(right)) {
    const other = merged[key];
    merged[key] = other === undefined ? value : Math.min(other, value);
  }
  const { maxRounds = 0, maxToolCalls = 0, wallMs = 0, maxRepeats = 0, ...rest } = merged;
  return { maxRounds, maxToolCalls, wallMs, maxRepeats, ...rest };
}
