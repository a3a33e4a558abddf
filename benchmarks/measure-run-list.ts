/** What a page of runs costs beside the bare SQL that finds it, among 10,000. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cell, countCell, ratioCell, type Section } from "./report.ts";
import { readNumber, runChild } from "./run-child.ts";
import { interleave, type Summary, summarize } from "./statistics.ts";

const RUNS = 10_000;
const WAYS = ["raw", "list"] as const;
const PAGES = {
  newest: "the newest 50",
  middle: "50 from the middle, by cursor",
  thread: "the 25 of a thread",
} as const;

/** CPU of one page by `RunStore.list` of store-sqlite, and by the same indexed query written by hand. */
export async function measureRunList({ rounds }: { readonly rounds: number }): Promise<Section> {
  const folder = await mkdtemp(join(tmpdir(), "openfunctions-bench-"));
  try {
    const file = join(folder, "runs.db");
    await runChild("run-list.ts", ["make", file, String(RUNS)]);
    const series = await interleave(WAYS, rounds, (way) => runChild("run-list.ts", [way, file]));
    const of = (way: (typeof WAYS)[number], page: string): Summary =>
      summarize((series.get(way) ?? []).map((result) => readNumber(result, page)));
    const ratio = (page: string): number => of("list", page).median / of("raw", page).median;
    return {
      title: "A page of stored runs",
      method: `${countCell(RUNS)} runs in a SQLite file, each with one tool call; user and system microseconds of CPU per page, in a warm process. The raw query selects the ids and records of the same runs through the same index with \`node:sqlite\` and parses the records, as every caller would have to: without that it is about a tenth.`,
      tables: [
        {
          columns: ["", "raw query, µs", "`list`, µs", "to the raw query"],
          rows: Object.entries(PAGES).map(([page, name]) => [
            name,
            cell(of("raw", page), 0),
            cell(of("list", page), 0),
            ratioCell(ratio(page)),
          ]),
        },
      ],
      targets: [
        {
          name: "A page among 10,000 stored runs, to the raw indexed query",
          relation: "at most",
          limit: 1.5,
          measured: Math.max(...Object.keys(PAGES).map(ratio)),
          unit: "x",
        },
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
