/** `openfunctions runs list|show|explain|export`: what is known of runs. */

import { open } from "node:fs/promises";
import { type RunQuery, type RunRecord, type RunStatus, foldRun } from "@openfunctions/core";
import { encodeRecordLine, explainRun } from "@openfunctions/core/records";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { openRecord } from "./open-record.ts";
import { CommandFailure, EXIT, note, print, printJson, oneLine } from "./output.ts";

const STATUSES: readonly RunStatus[] = [
  "running",
  "suspended",
  "completed",
  "limit_reached",
  "failed",
  "cancelled",
];

/** Which runs to list. */
export interface ListOptions {
  readonly status?: string;
  readonly thread?: string;
  readonly task?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: boolean;
}

/** One line per run, newest first. */
export async function listCommand(options: ListOptions): Promise<void> {
  const query = toQuery(options);
  await withHomeStores(dataHome(), async ({ runs, recover }) => {
    // A run whose process was killed would stand as running for ever.
    await recover();
    const page = await runs.list(query);
    if (options.json === true) return printJson(page);
    if (page.runs.length === 0) print("No runs.");
    for (const record of page.runs) print(lineOf(record));
    if (page.cursor !== undefined) note(`More: --cursor ${JSON.stringify(page.cursor)}`);
  });
}

function lineOf({
  runId,
  status,
  stopReason,
  startedAt,
  model,
  rounds,
  toolCalls,
  effects,
}: RunRecord): string {
  const asked = model === undefined ? "" : `  ${model.provider}/${model.requested}`;
  const doubt = effects.certainty === "unknown" ? "  effects unknown" : "";
  const why = stopReason === undefined ? "" : ` (${stopReason})`;
  return oneLine(
    `${runId}  ${startedAt}  ${status}${why}${asked}  ${rounds} model, ${toolCalls.length} tool calls${doubt}`,
  );
}

function toQuery({ status, thread, task, since, limit, cursor }: ListOptions): RunQuery {
  const known = STATUSES.find((one) => one === status);
  if (status !== undefined && known === undefined)
    throw new CommandFailure(
      `There is no status "${status}". Use one of ${STATUSES.join(", ")}.`,
      EXIT.usage,
    );
  if (since !== undefined && Number.isNaN(Date.parse(since)))
    throw new CommandFailure(
      `--since is "${since}"; use a date such as 2026-11-30 or an ISO time.`,
      EXIT.usage,
    );
  const size = limit === undefined ? undefined : Number(limit);
  if (size !== undefined && !(Number.isInteger(size) && size > 0))
    throw new CommandFailure(`--limit is "${limit}"; use a whole number above 0.`, EXIT.usage);
  return {
    ...(known === undefined ? {} : { status: known }),
    ...(thread === undefined ? {} : { threadId: thread }),
    ...(task === undefined ? {} : { taskId: task }),
    ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
    ...(size === undefined ? {} : { limit: size }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

/** The record as JSON, or its events one per line. */
export async function showCommand(name: string, options: { readonly events?: boolean }): Promise<void> {
  await withHomeStores(dataHome(), async ({ runs }) => {
    const { events } = await openRecord(name, runs);
    if (options.events === true) for (const event of events) printJson(event, 0);
    else printJson(foldRun(events));
  });
}

/** What was asked, what ran, what changed, what it cost, why it stopped, what is not proven. */
export async function explainCommand(name: string): Promise<void> {
  await withHomeStores(dataHome(), async ({ runs }) => {
    const { events, ...annex } = await openRecord(name, runs);
    process.stdout.write(`${explainRun(foldRun(events), { events, annex }).trimEnd()}\n`);
  });
}

/** Canonical lines on stdout or into a new file: events, seal, redactions. */
export async function exportCommand(name: string, options: { readonly out?: string }): Promise<void> {
  await withHomeStores(dataHome(), async ({ runs }) => {
    const { events, seal, redactions } = await openRecord(name, runs);
    const lines = [...events, ...(seal === undefined ? [] : [seal]), ...redactions].map(encodeRecordLine);
    if (options.out === undefined) process.stdout.write(lines.join(""));
    else await writeNew(options.out, lines.join(""));
  });
}

/** Writes a file that is not there yet. */
export async function writeNew(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", 0o600).catch((cause: unknown) => {
    const isThere = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    const why = isThere ? "it is there already" : cause instanceof Error ? cause.message : String(cause);
    throw new CommandFailure(`"${file}" could not be made: ${why}.`, EXIT.environment);
  });
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
