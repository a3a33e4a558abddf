/**
 * npm run bench: measures this repository beside its peers and writes RESULTS.md.
 *
 *   npm run bench                             everything
 *   npm run bench -- --only rounds,deltas     some parts, printed and not written
 *   npm run bench -- --rounds 15              more rounds where the machine is noisy
 *   npm run bench -- --skip-install           with the peers (and our packages) as they were installed last
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type FakeOpenAI, startFakeOpenAI } from "./fake-openai-server.ts";
import { measureDeltas, measureRounds } from "./measure-agents.ts";
import { measureAdapters } from "./measure-adapters.ts";
import { measureColdStart } from "./measure-cold-start.ts";
import { measureExecute } from "./measure-execute.ts";
import { measureFootprint } from "./measure-footprint.ts";
import { measureMcp } from "./measure-mcp.ts";
import { measureVerify } from "./measure-verify.ts";
import { measureRecording } from "./measure-recording.ts";
import { measureRunList } from "./measure-run-list.ts";
import { measureStores } from "./measure-stores.ts";
import { installPeers } from "./peers.ts";
import { holds, type Section, toMarkdown } from "./report.ts";

interface Settings {
  readonly server: FakeOpenAI;
  readonly rounds: number;
}

const PARTS = {
  rounds: measureRounds,
  deltas: measureDeltas,
  adapters: measureAdapters,
  cold: measureColdStart,
  execute: measureExecute,
  recording: measureRecording,
  list: measureRunList,
  stores: measureStores,
  mcp: measureMcp,
  verify: measureVerify,
  footprint: measureFootprint,
} satisfies Record<string, (settings: Settings) => Section | Promise<Section>>;
type Part = keyof typeof PARTS;

const ALL = Object.keys(PARTS).filter(isPart);
const DEFAULT_ROUNDS = 9;
const RESULTS = join(import.meta.dirname, "RESULTS.md");

const options = readOptions();
if (!options.skipInstall) {
  note("installing the peers, building and packing our packages");
  installPeers();
}
const sections = await measure(options.parts, options.rounds);
const report = toMarkdown(sections, { command: commandOf(options.rounds) });
console.log(report);
// A report of some parts would pass for one of all.
if (options.parts.length === ALL.length) writeFileSync(RESULTS, report);
const missed = sections.flatMap((section) => section.targets).filter((target) => !holds(target));
note(missed.length === 0 ? "every target holds" : `${missed.length} targets missed`);

async function measure(parts: readonly Part[], rounds: number): Promise<readonly Section[]> {
  const server = await startFakeOpenAI();
  try {
    const sections: Section[] = [];
    for (const part of parts) {
      note(`measuring ${part}`);
      sections.push(await PARTS[part]({ server, rounds }));
    }
    return sections;
  } finally {
    await server.close();
  }
}

function readOptions(): {
  readonly parts: readonly Part[];
  readonly rounds: number;
  readonly skipInstall: boolean;
} {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      rounds: { type: "string", default: String(DEFAULT_ROUNDS) },
      "skip-install": { type: "boolean", default: false },
    },
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) fail(`"${values.rounds}" is no number of rounds.`);
  const asked = values.only?.split(",") ?? ALL;
  const unknown = asked.filter((part) => !isPart(part));
  if (unknown.length > 0) fail(`There is no part "${unknown.join(", ")}". Parts: ${ALL.join(", ")}.`);
  return { parts: ALL.filter((part) => asked.includes(part)), rounds, skipInstall: values["skip-install"] };
}

function isPart(name: string): name is Part {
  return Object.hasOwn(PARTS, name);
}

function commandOf(rounds: number): string {
  return `npm run bench -- --rounds ${rounds}`;
}

/** Progress goes beside the report, not into it. */
function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function fail(message: string): never {
  note(message);
  process.exit(2);
}
