/** What the one execution path costs beside validation alone and a bare call. Reported, without a target. */

import { cell, countCell, type Section } from "./report.ts";
import { readNumber, runChild } from "./run-child.ts";
import { interleave, summarize } from "./statistics.ts";

const WAYS = ["handler", "ajv", "execute"] as const;
const NAMES: Readonly<Record<(typeof WAYS)[number], string>> = {
  handler: "`await handler(args)`",
  ajv: "ajv alone, compiled",
  execute: "`await registry.execute(name, args)`",
};

/** Calls per second of a no-op tool with six properties, three ways. */
export async function measureExecute({ rounds }: { readonly rounds: number }): Promise<Section> {
  const series = await interleave(WAYS, rounds, async (way) => {
    return readNumber(await runChild("execute-run.ts", [way]), "perSecond");
  });
  const rows = [...series].map(([way, perSecond]) => {
    const summary = summarize(perSecond);
    const micros = summarize(perSecond.map((value) => 1_000_000 / value));
    return [NAMES[way], countCell(summary.median), cell(micros, 2)];
  });
  return {
    title: "One call through the registry",
    method:
      "A no-op tool with a six-property schema and valid arguments, called in a row in a warm process. `execute` also checks authority, copies arguments and result, applies the limits, and normalises the outcome.",
    tables: [{ columns: ["", "calls per second of CPU", "microseconds per call"], rows }],
    targets: [],
  };
}
