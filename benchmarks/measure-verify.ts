/** What verifying a record costs beside the hashes it is made of. */

import { cell, countCell, ratioCell, type Section } from "./report.ts";
import { readNumber, runChild } from "./run-child.ts";
import { interleave, summarize } from "./statistics.ts";

const WAYS = ["hashes", "verify", "file"] as const;
const NAMES: Readonly<Record<(typeof WAYS)[number], string>> = {
  hashes: "the hashes of the format alone, over bytes made ready",
  verify: "`verifyRun(chunks, { publicKeys })`",
  file: "one hash over the whole file",
};

/** CPU for a sealed record of 10,000 events, three ways. */
export async function measureVerify({ rounds }: { readonly rounds: number }): Promise<Section> {
  const series = await interleave(WAYS, rounds, (way) => runChild("verify-run.ts", [way]));
  const cpu = (way: (typeof WAYS)[number]): readonly number[] =>
    (series.get(way) ?? []).map((child) => readNumber(child, "cpuMs"));
  const medians = { hashes: summarize(cpu("hashes")).median, verify: summarize(cpu("verify")).median };
  const [sample] = series.get("verify") ?? [];
  if (sample === undefined) throw new Error("Nothing was measured.");
  const rows = WAYS.map((way) => {
    const summary = summarize(cpu(way));
    return [NAMES[way], cell(summary), ratioCell(summary.median / medians.hashes)];
  });
  return {
    title: "Verifying a record",
    method: `A real run of ${countCell(readNumber(sample, "events"))} events (tool calls, captured whole, sealed; ${countCell(readNumber(sample, "bytes"))} bytes), in memory, in pieces of 64 KB, in a warm process. Verification hashes every event without its values, and every sealed value with its salt: two small hashes per line where a hash over the whole file is one large one, so that one is reported but is no target.`,
    tables: [{ columns: ["", "CPU ms per record", "beside the hashes"], rows }],
    targets: [
      {
        name: "verifying a record of 10,000 events beside hashing the same bytes",
        relation: "at most",
        limit: 3,
        measured: medians.verify / medians.hashes,
        unit: "x",
        because: "Every byte is also read once in JavaScript, to see that the line is canonical.",
      },
    ],
  };
}
