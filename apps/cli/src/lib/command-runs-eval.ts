/** `openfunctions runs eval`: recorded runs as regression cases. */

import { createReadStream } from "node:fs";
import { mkdir, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  type AIAdapter,
  type AnyRunEvent,
  type RunRecord,
  type ToolView,
  foldRun,
} from "@openfunctions/core";
import { encodeRecordLine, forkRun, readRecord, replayRun } from "@openfunctions/core/records";
import { type RecordedCase, formatReport, runEval } from "@openfunctions/evals";
import { chooseAdapter } from "./choose-adapter.ts";
import { writeNew } from "./command-runs-read.ts";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { openRecord } from "./open-record.ts";
import { openTools } from "./open-tools.ts";
import { CommandFailure, EXIT, print, printJson } from "./output.ts";

/** Options of the command. */
export interface EvalCommandOptions {
  readonly save?: string;
  readonly dir?: string;
  readonly from?: readonly string[];
  readonly provider?: string;
  readonly model?: string;
  readonly threshold?: string;
  readonly json?: boolean;
}

const SUFFIX = ".jsonl";

/** Replays a folder of records against today's code, or, with `--save`, adds a run to such a folder. */
export async function evalCommand(name: string, options: EvalCommandOptions): Promise<void> {
  const other = options.provider ?? options.model;
  if (other !== undefined && options.from !== undefined)
    throw new CommandFailure("Another model answers from the record; leave --from out.", EXIT.usage);
  if (options.save !== undefined && (other ?? options.from ?? options.threshold) !== undefined)
    throw new CommandFailure("--save goes with --dir only.", EXIT.usage);
  if (options.save !== undefined) return saveCase(name, options.save, options.dir ?? "evals");
  const cases = await readCases(name);
  const threshold = thresholdOf(options.threshold);
  const home = dataHome();
  const tools = options.from === undefined ? undefined : await openTools({ home, from: options.from });
  const wish = { ...named("provider", options.provider), ...named("model", options.model) };
  const adapter = Object.keys(wish).length === 0 ? undefined : (await chooseAdapter(wish)).adapter;
  const report = await runEval(
    { name: basename(name), cases, threshold, checks: { status: sameStatus } },
    { replay: (events) => (adapter === undefined ? replayed(events, tools) : asked(events, adapter)) },
  );
  if (options.json === true) printJson(report);
  else process.stdout.write(formatReport(report));
  if (!report.ok) throw new CommandFailure("The eval is below its threshold.", EXIT.failed);
}

/** The same loop beside the record; anything that comes out differently is why the case fails. */
async function replayed(events: readonly AnyRunEvent[], tools: ToolView | undefined): Promise<RunRecord> {
  await replayRun(events, tools === undefined ? {} : { tools });
  return foldRun(events);
}

/** The recorded input given to another model; its calls are answered from the record. */
async function asked(events: readonly AnyRunEvent[], adapter: AIAdapter): Promise<RunRecord> {
  return (await forkRun(events, { at: { round: 0 }, adapter, capture: "full" }).result).record;
}

/** A run passes where it ends as the recorded one did. */
function sameStatus(record: RunRecord, evalCase: object): void {
  const { events } = evalCase as RecordedCase; // Proof: every case of this command is a record
  const before = foldRun(events).status;
  if (record.status !== before) throw new Error(`ended as ${record.status}, and as ${before} in the record`);
}

async function readCases(folder: string): Promise<readonly RecordedCase[]> {
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined) throw new CommandFailure(`There is no folder "${folder}".`, EXIT.usage);
  const names = found.isFile() ? [basename(folder)] : await readdir(folder);
  const parent = found.isFile() ? join(folder, "..") : folder;
  const files = names.filter((name) => name.endsWith(SUFFIX)).sort();
  if (files.length === 0)
    throw new CommandFailure(`"${folder}" holds no record files (*${SUFFIX}).`, EXIT.usage);
  return Promise.all(
    files.map(async (file) => {
      const { events } = await readRecord(createReadStream(join(parent, file)));
      return { name: basename(file, SUFFIX), events };
    }),
  );
}

async function saveCase(name: string, as: string, folder: string): Promise<void> {
  if (!/^[\w.-]+$/.test(as))
    throw new CommandFailure(
      `"${as}" cannot name a case; use letters, digits, ".", "_" and "-".`,
      EXIT.usage,
    );
  await withHomeStores(dataHome(), async ({ runs }) => {
    const { events, seal, redactions } = await openRecord(name, runs);
    await mkdir(folder, { recursive: true });
    const file = join(folder, `${as}${SUFFIX}`);
    const lines = [...events, ...(seal === undefined ? [] : [seal]), ...redactions];
    await writeNew(file, lines.map(encodeRecordLine).join(""));
    print(`${file}: ${events.length} events. Run it with: openfunctions runs eval ${folder}`);
  });
}

function thresholdOf(text: string | undefined): number {
  const share = Number(text ?? 1);
  if (share >= 0 && share <= 1) return share;
  throw new CommandFailure(`--threshold is "${text}"; use a share from 0 to 1.`, EXIT.usage);
}

function named<K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } {
  const entry: { [P in K]?: string } = {};
  if (value !== undefined) entry[key] = value;
  return entry;
}
