/** The few numbers a series of measurements is reduced to. */

/** Median, smallest and largest of a series. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

/** Summarises a series. Throws for an empty one: a median of nothing must not reach a report. */
export function summarize(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle];
  const min = sorted[0];
  const max = sorted.at(-1);
  if (high === undefined || min === undefined || max === undefined)
    throw new Error("There is no measurement.");
  const low = sorted[middle - 1] ?? high;
  const median = sorted.length % 2 === 0 ? (low + high) / 2 : high;
  return { median, min, max, count: sorted.length };
}

/** Runs `measure` for every name in turn, `rounds` times over: A B C A B C, so that drift of the machine hits all alike. */
export async function interleave<Name extends string, Value>(
  names: readonly Name[],
  rounds: number,
  measure: (name: Name, round: number) => Promise<Value>,
): Promise<ReadonlyMap<Name, readonly Value[]>> {
  const series = new Map<Name, Value[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) series.get(name)?.push(await measure(name, round));
  }
  return series;
}
