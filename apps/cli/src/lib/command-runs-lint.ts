/** `openfunctions runs lint`: whether each request of a run begins as the one before it, so that it can be cached. */

import type { AnyRunEvent, RunStore } from "@openfunctions/core";
import { type PrefixChange, lintPrefix } from "@openfunctions/core/records";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { openRecord } from "./open-record.ts";
import { CommandFailure, EXIT, note, print, printJson, printable } from "./output.ts";

/** Options of the command. */
export interface LintCommandOptions {
  readonly json?: boolean;
}

/** Exit 0 where every change has a reason, 1 where one has none, 2 wrong usage. */
export async function lintCommand(name: string, options: LintCommandOptions): Promise<void> {
  const report = await withHomeStores(dataHome(), async ({ runs }) => {
    const { events } = await openRecord(name, runs);
    return lintPrefix([...(await turnBefore(events[0], runs)), ...events]);
  });
  const without = report.changes.filter(({ reason }) => reason === undefined);
  if (options.json === true) printJson(report);
  else {
    for (const change of report.changes) print(printable(describe(change)));
    print(`${report.compared} pair(s) of requests compared, ${report.changes.length} change(s).`);
    if (!report.withHistory)
      note(
        "The record keeps no values: instructions and tools were compared by digest, histories not at all.",
      );
  }
  if (without.length > 0)
    throw new CommandFailure(
      `${without.length} change(s) without a reason: a provider reads everything from there on anew.`,
      EXIT.failed,
    );
}

/** The events of the turn before this one, where the data folder has it. */
async function turnBefore(first: AnyRunEvent | undefined, runs: RunStore): Promise<readonly AnyRunEvent[]> {
  if (first?.type !== "run.started") return [];
  const { threadId } = first.data.lineage;
  if (threadId === undefined) return [];
  const page = await runs.list({ threadId, until: first.at, limit: 2 });
  const before = page.runs.find(({ runId }) => runId !== first.runId);
  const events: AnyRunEvent[] = [];
  if (before !== undefined) for await (const event of runs.read(before.runId)) events.push(event);
  return events;
}

function describe({ runId, seq, segment, name, byte, before, after, reason }: PrefixChange): string {
  const what = segment === "history" ? `message ${name}` : `${segment} "${name}"`;
  const where = byte === undefined ? "" : ` at byte ${byte}`;
  const how =
    before === undefined ? "" : `: ${JSON.stringify(before)} became ${JSON.stringify(after ?? "nothing")}`;
  const why = reason === undefined ? "" : ` (${reason})`;
  return `run ${runId}, event ${seq}: ${what} changed${where}${how}${why}`;
}
