/** What a short-lived process pays: import, one tool run once, exit. And where that time goes. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FakeOpenAI } from "./fake-openai-server.ts";
import { type Peer, PEER_NAMES } from "./peers.ts";
import { cell, ratioCell, type Section, type Table, type Target } from "./report.ts";
import { type ChildResult, readNumber, runChild } from "./run-child.ts";
import { interleave, type Summary, summarize } from "./statistics.ts";

const WHOLE: readonly Peer[] = ["fetch", "openai-sdk", "ai-sdk", "ai-sdk-stream", "openfunctions"];
const IN_STEPS = ["fetch", "ai-sdk", "openfunctions"] as const;

/** What is measured, and with what. */
export interface ColdStartSettings {
  readonly server: FakeOpenAI;
  readonly rounds: number;
}

/** Whole processes, with and without Node's compile cache, and the steps they consist of. */
export async function measureColdStart({ server, rounds }: ColdStartSettings): Promise<Section> {
  const cacheFolder = await mkdtemp(join(tmpdir(), "openfunctions-compile-cache-"));
  try {
    const bench = new ColdBench(server.baseUrl, rounds, cacheFolder);
    const plain = await bench.wholeProcesses(WHOLE, {});
    const cached = await bench.wholeProcesses(WHOLE, { cached: true });
    const steps = new Map<Peer, readonly Step[]>();
    for (const peer of IN_STEPS) steps.set(peer, await bench.steps(peer));
    return toSection({ plain, cached, steps });
  } finally {
    await rm(cacheFolder, { recursive: true, force: true });
  }
}

interface Cost {
  /** Until the process has its answer. */
  readonly answer: Summary;
  /** Until it has ended. */
  readonly wall: Summary;
  readonly cpu: Summary;
}

interface Step {
  readonly name: string;
  readonly files: number;
  readonly plain: { readonly ms: number; readonly cpuMs: number };
  readonly cached: { readonly ms: number; readonly cpuMs: number };
}

interface ColdResults {
  readonly plain: ReadonlyMap<Peer, Cost>;
  readonly cached: ReadonlyMap<Peer, Cost>;
  readonly steps: ReadonlyMap<Peer, readonly Step[]>;
}

class ColdBench {
  readonly #baseUrl: string;
  readonly #rounds: number;
  readonly #cacheFolder: string;

  constructor(baseUrl: string, rounds: number, cacheFolder: string) {
    this.#baseUrl = baseUrl;
    this.#rounds = rounds;
    this.#cacheFolder = cacheFolder;
  }

  async wholeProcesses(
    peers: readonly Peer[],
    { cached = false }: { readonly cached?: boolean },
  ): Promise<ReadonlyMap<Peer, Cost>> {
    const run = (peer: Peer): Promise<ChildResult> => this.#run(`peers/${peer}/cold-run.mjs`, { cached });
    // Fills the disk's cache and, where one is used, the compile cache.
    for (const peer of peers) await run(peer);
    const series = await interleave(peers, this.#rounds, run);
    return new Map([...series].map(([peer, results]) => [peer, toCost(results)] as const));
  }

  async steps(peer: Peer): Promise<readonly Step[]> {
    const program = `peers/${peer}/cold-steps.mjs`;
    const counted = readSteps(await this.#run(program, { flags: ["--import", "./peers/count-loads.mjs"] }));
    checkSteps(program, counted);
    await this.#run(program, { cached: true });
    const series = await interleave(["plain", "cached"], this.#rounds, async (kind) => {
      return readSteps(await this.#run(program, { cached: kind === "cached" }));
    });
    return counted.map(({ name, files }, index) => ({
      name,
      files,
      plain: medianStep(series.get("plain"), index),
      cached: medianStep(series.get("cached"), index),
    }));
  }

  #run(
    program: string,
    how: { readonly cached?: boolean; readonly flags?: readonly string[] },
  ): Promise<ChildResult> {
    return runChild(program, [this.#baseUrl], {
      flags: how.flags ?? [],
      ...(how.cached === true ? { compileCache: this.#cacheFolder } : {}),
    });
  }
}

function toCost(results: readonly ChildResult[]): Cost {
  return {
    answer: summarize(results.map((result) => readNumber(result, "answerMs"))),
    wall: summarize(results.map(({ wallMs }) => wallMs)),
    cpu: summarize(results.map((result) => readNumber(result, "cpuMs"))),
  };
}

interface StepReading {
  readonly name: string;
  readonly ms: number;
  readonly cpuMs: number;
  readonly files: number;
}

function readSteps({ values }: ChildResult): readonly StepReading[] {
  const { steps } = values;
  if (!Array.isArray(steps)) throw new Error("A child reported no steps.");
  return steps.map((step: StepReading) => step); // Proof: peers/steps.mjs writes exactly these fields
}

/** More than `agent.mjs` and what a run may load lazily. */
const MOST_FILES_OF_A_RUN = 20;

/** The steps name what a run loads. One that still loads a lot has changed, and its steps would tell a false story. */
function checkSteps(program: string, steps: readonly StepReading[]): void {
  const files = steps.at(-1)?.files ?? 0;
  if (files <= MOST_FILES_OF_A_RUN) return;
  throw new Error(
    `In ${program} the run itself loaded ${files} files: name what it loads as a step before it.`,
  );
}

function medianStep(series: readonly (readonly StepReading[])[] = [], index: number): Step["plain"] {
  const readings = series.flatMap((steps) => steps[index] ?? []);
  return {
    ms: summarize(readings.map(({ ms }) => ms)).median,
    cpuMs: summarize(readings.map(({ cpuMs }) => cpuMs)).median,
  };
}

function toSection(results: ColdResults): Section {
  return {
    title: "Cold start",
    method: [
      "A whole process: it imports, runs one tool once against the fake server (two model calls), and exits.",
      "Until exit as its parent sees it; until the answer, and CPU, as the process itself reads them just before it exits.",
      "A process that read a chunked reply waits at its exit while a compiler thread of Node finishes the HTTP parser; a longer reply would hide that.",
      "The AI SDK's `generate` gets its replies in one piece with a length, so it does not; streamed it does.",
      "With the compile cache (`NODE_COMPILE_CACHE`, the same as `module.enableCompileCache()`) the code was compiled by an earlier process.",
      "The steps are those of one process, timed inside it; files are the modules Node loads in a step.",
    ].join(" "),
    tables: [wholeTable(results), ...IN_STEPS.map((peer) => stepTable(peer, results))],
    targets: coldTargets(results),
  };
}

function wholeTable({ plain, cached }: ColdResults): Table {
  const floor = costOf(plain, "fetch");
  return {
    columns: [
      "",
      "until exit, ms",
      "to `fetch`",
      "until the answer, ms",
      "CPU, ms",
      "to `fetch`",
      "until exit with compile cache, ms",
      "CPU with compile cache, ms",
    ],
    rows: WHOLE.map((peer) => {
      const cost = costOf(plain, peer);
      const warm = costOf(cached, peer);
      return [
        PEER_NAMES[peer],
        cell(cost.wall, 0),
        ratioCell(cost.wall.median / floor.wall.median),
        cell(cost.answer, 0),
        cell(cost.cpu, 0),
        ratioCell(cost.cpu.median / floor.cpu.median),
        cell(warm.wall, 0),
        cell(warm.cpu, 0),
      ];
    }),
  };
}

function stepTable(peer: Peer, { steps }: ColdResults): Table {
  const taken = steps.get(peer) ?? [];
  const total = (read: (step: Step) => number): number => taken.reduce((sum, step) => sum + read(step), 0);
  const row = (name: string, read: (pick: (step: Step) => number) => number): readonly string[] => [
    name,
    String(read(({ files }) => files)),
    ...[
      ({ plain }: Step) => plain.ms,
      ({ plain }: Step) => plain.cpuMs,
      ({ cached }: Step) => cached.ms,
      ({ cached }: Step) => cached.cpuMs,
    ].map((pick) => read(pick).toFixed(1)),
  ];
  return {
    caption: `Steps of ${PEER_NAMES[peer]}:`,
    columns: [
      "step",
      "files",
      "wall, ms",
      "CPU, ms",
      "wall with compile cache, ms",
      "CPU with compile cache, ms",
    ],
    rows: [...taken.map((step) => row(step.name, (pick) => pick(step))), row("together", total)],
  };
}

function coldTargets({ plain, cached, steps }: ColdResults): readonly Target[] {
  const because = `${slowestSteps(steps.get("openfunctions") ?? [])} ${exitWait(costOf(plain, "openfunctions"))}`;
  const target = (what: string, limit: number, measured: number): Target => {
    return { name: `Cold start, ${what}`, relation: "at most", limit, measured, unit: "x", because };
  };
  const ratio = (costs: ReadonlyMap<Peer, Cost>, kind: keyof Cost, to: Peer): number =>
    costOf(costs, "openfunctions")[kind].median / costOf(costs, to)[kind].median;
  return [
    target("until exit, to the AI SDK", 1, ratio(plain, "wall", "ai-sdk")),
    target("until the answer, to the AI SDK", 1, ratio(plain, "answer", "ai-sdk")),
    target("CPU, to the AI SDK", 1, ratio(plain, "cpu", "ai-sdk")),
    target("until exit, to the AI SDK, streamed", 1, ratio(plain, "wall", "ai-sdk-stream")),
    target("until exit with compile cache on both sides, to the AI SDK", 1, ratio(cached, "wall", "ai-sdk")),
    // What the AI SDK needed when the goal was set: at most as much as it.
    target("until exit, to a bare `fetch`", 2.65, ratio(plain, "wall", "fetch")),
  ];
}

function slowestSteps(steps: readonly Step[]): string {
  const [first, second] = steps.toSorted((a, b) => b.plain.ms - a.plain.ms);
  if (first === undefined || second === undefined) return "";
  const say = ({ name, plain, files }: Step): string => `${name} (${plain.ms.toFixed(0)} ms, ${files} files)`;
  return `Its largest steps are ${say(first)} and ${say(second)}.`;
}

/** What the steps do not hold: they end with the answer. */
function exitWait({ answer, wall }: Cost): string {
  const rest = (wall.median - answer.median).toFixed(0);
  return `Of its ${wall.median.toFixed(0)} ms, ${rest} are the start of the process and, above all, Node's exit.`;
}

function costOf(costs: ReadonlyMap<Peer, Cost>, peer: Peer): Cost {
  const cost = costs.get(peer);
  if (cost === undefined) throw new Error(`"${peer}" was not measured.`);
  return cost;
}
