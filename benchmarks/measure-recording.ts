/** What keeping a record costs an agent run, by where it is kept. */

import type { FakeOpenAI } from "./fake-openai-server.ts";
import { cell, ratioCell, type Section, type Target } from "./report.ts";
import { readNumber, runChild } from "./run-child.ts";
import { interleave, type Summary, summarize } from "./statistics.ts";

const NAMES = {
  none: "no record: no store, no hashes",
  chain: "hash chain, no store",
  memory: "memory store",
  sqlite: "SQLite, as shipped (what must outlive the machine is synced)",
  "sqlite-normal": 'SQLite, `synchronous: "normal"`',
  files: "record files",
} as const;
type Way = keyof typeof NAMES;

const TASKS = { k1: "1 tool round", k10: "10 tool rounds" } as const;
type Task = keyof typeof TASKS;

/** CPU per run of a one-tool agent over the fake server, with content kept in full. */
export async function measureRecording(settings: {
  readonly server: FakeOpenAI;
  readonly rounds: number;
}): Promise<Section> {
  const { server, rounds } = settings;
  const series = await interleave(Object.keys(NAMES).filter(isWay), rounds, (way) =>
    runChild("recording-run.ts", [way, "full", server.baseUrl], {
      flags: way === "none" ? ["--import", "./without-chain.ts"] : [],
    }),
  );
  const of = (way: Way, task: Task): Summary =>
    summarize((series.get(way) ?? []).map((result) => readNumber(result, task)));
  const ratio = (way: Way, task: Task): number => of(way, task).median / of("none", task).median;
  const target = (name: string, way: Way, limit: number): readonly Target[] =>
    Object.keys(TASKS)
      .filter(isTask)
      .map((task) => ({
        name: `CPU per run, ${TASKS[task]}, ${name}, to no record`,
        relation: "at most",
        limit,
        measured: ratio(way, task),
        unit: "x",
      }));
  return {
    title: "The cost of a record",
    method:
      "The agent of the first section from the sources, content kept in full; user and system milliseconds of CPU per run. The run without a record has no store, and the hash of an event and the digest of a leaf are constants, put in while the modules load: core itself has no switch for that.",
    tables: [
      {
        columns: ["", "1 tool round, ms", "to no record", "10 tool rounds, ms", "to no record"],
        rows: Object.keys(NAMES)
          .filter(isWay)
          .map((way) => [
            NAMES[way],
            cell(of(way, "k1")),
            ratioCell(ratio(way, "k1")),
            cell(of(way, "k10")),
            ratioCell(ratio(way, "k10")),
          ]),
      },
    ],
    targets: [...target("kept in memory", "memory", 1.15), ...target("kept in SQLite", "sqlite", 1.5)],
  };
}

function isWay(name: string): name is Way {
  return Object.hasOwn(NAMES, name);
}

function isTask(name: string): name is Task {
  return Object.hasOwn(TASKS, name);
}
