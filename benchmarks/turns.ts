/** Two ways of doing the same, in turns in one process, so that a busy machine meets both alike. */

import { summarize } from "./statistics.ts";

/** Does it once, the `n`th time. */
export type Ways = Readonly<Record<"ours" | "raw", (n: number) => unknown>>;
/** Milliseconds, turn by turn. */
export type Times = Readonly<Record<"ours" | "raw", readonly number[]>>;

/** Milliseconds of each turn; who begins changes from turn to turn. */
export async function inTurns(turns: number, ways: Ways): Promise<Times> {
  const times: Record<"ours" | "raw", number[]> = { ours: [], raw: [] };
  for (let n = 0; n < turns; n += 1) {
    for (const way of n % 2 === 0 ? (["ours", "raw"] as const) : (["raw", "ours"] as const)) {
      const began = performance.now();
      await ways[way](n);
      times[way].push(performance.now() - began);
    }
  }
  return times;
}

/** The medians, and the 95th of a hundred, under names that begin with `name`. */
export function named(name: string, times: Times): Readonly<Record<string, number>> {
  const late = (way: keyof Times): number =>
    times[way].toSorted((left, right) => left - right)[Math.floor(times[way].length * 0.95)] ?? 0;
  return {
    [`${name}Ours`]: summarize(times.ours).median,
    [`${name}Raw`]: summarize(times.raw).median,
    [`${name}OursLate`]: late("ours"),
    [`${name}RawLate`]: late("raw"),
  };
}
