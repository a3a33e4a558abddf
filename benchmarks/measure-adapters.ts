/** What each adapter costs beside its provider's own SDK: CPU per run and per streamed delta. */

import type { FakeOpenAI } from "./fake-openai-server.ts";
import { cell, ratioCell, type Section, type Target } from "./report.ts";
import { type ChildResult, readNumber, runChild } from "./run-child.ts";
import { interleave, type Summary, summarize } from "./statistics.ts";

const PROVIDERS = {
  anthropic: "`adapter-anthropic`, `@anthropic-ai/sdk`",
  openai: "`adapter-openai`, `openai` (Responses)",
  gemini: "`adapter-gemini`, `@google/genai`",
  xai: "`adapter-xai`, `openai` (Responses)",
  openrouter: "`adapter-openrouter`, `openai` (chat completions)",
} as const;
type Provider = keyof typeof PROVIDERS;
const NAMES = Object.keys(PROVIDERS).filter((name): name is Provider => Object.hasOwn(PROVIDERS, name));

/** CPU of a run's model calls and of a long answer, each provider's adapter and SDK in turns. */
export async function measureAdapters(settings: {
  readonly server: FakeOpenAI;
  readonly rounds: number;
}): Promise<Section> {
  const { server, rounds } = settings;
  const ways = NAMES.flatMap((name) => [`${name} ours`, `${name} sdk`]);
  const series = await interleave(ways, rounds, (way) =>
    runChild("adapter-run.ts", [...way.split(" "), server.baseUrl]),
  );
  const of = (way: string, key: string): Summary =>
    summarize((series.get(way) ?? []).map((result: ChildResult) => readNumber(result, key)));
  const ratio = (name: Provider, key: string): number =>
    of(`${name} ours`, key).median / of(`${name} sdk`, key).median;
  const target = (name: Provider, what: string, how: Pick<Target, "limit" | "measured">): Target => ({
    name: `${what}, adapter-${name} to its SDK`,
    relation: "at most",
    unit: "x",
    ...how,
  });
  return {
    title: "Adapters beside their SDKs",
    method:
      "The two streamed model calls of a one-tool run, and an answer of 2,000 deltas, through the adapter alone (no loop, no record) and written by hand on the provider's own SDK; user and system milliseconds of CPU in a warm process. What the loop and the record add is in the sections above.",
    tables: [
      {
        columns: ["", "a run, ms", "SDK, ms", "to the SDK", "1,000 deltas, ms", "SDK, ms", "to the SDK"],
        rows: NAMES.map((name) => [
          PROVIDERS[name],
          cell(of(`${name} ours`, "run")),
          cell(of(`${name} sdk`, "run")),
          ratioCell(ratio(name, "run")),
          cell(of(`${name} ours`, "per1000")),
          cell(of(`${name} sdk`, "per1000")),
          ratioCell(ratio(name, "per1000")),
        ]),
      },
    ],
    targets: NAMES.flatMap((name) => [
      target(name, "CPU per run", { limit: 1.25, measured: ratio(name, "run") }),
      target(name, "CPU per 1,000 deltas", { limit: 1.5, measured: ratio(name, "per1000") }),
    ]),
  };
}
