/** `openfunctions run`: one task for the default agent. */

import { randomUUID } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { type LoopResult, type RunStore } from "@openfunctions/core";
import { exportRun } from "@openfunctions/core/records";
import { noteWaiting } from "./answer-tickets.ts";
import { chooseAdapter } from "./choose-adapter.ts";
import { Conversation } from "./conversation.ts";
import { dataHome } from "./data-home.ts";
import { followRun } from "./follow-run.ts";
import { type HomeStores, withHomeStores } from "./home-stores.ts";
import { openTools } from "./open-tools.ts";
import { CommandFailure, EXIT, note, paint, print, printJson, printable } from "./output.ts";

/** Options of the command. */
export interface RunCommandOptions {
  readonly from?: readonly string[];
  readonly provider?: string;
  readonly model?: string;
  readonly json?: boolean;
  readonly record?: string;
}

/** Runs the task and prints the answer. Exit 1 unless the run completed, 5 where it waits for a person. */
export async function runCommand(task: string, options: RunCommandOptions): Promise<void> {
  const { provider, model } = options;
  if (task.trim() === "") throw new CommandFailure("The task is empty; say what is to be done.", EXIT.usage);
  const home = dataHome();
  const tools = await openTools({ home, ...(options.from === undefined ? {} : { from: options.from }) });
  const { adapter, reason } = await chooseAdapter({
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
  });
  note(paint("dim", `${adapter.provider}/${adapter.model} (${reason})`));
  await withHomeStores(home, async (stores) => {
    const record = options.record === undefined ? undefined : await makeRecordFile(options.record);
    try {
      const conversation = new Conversation({ adapter, tools, id: randomUUID(), home: stores.loop });
      const result = await untilInterrupted(async (signal) =>
        followRun(await conversation.turn(task, { signal }), () => {}),
      );
      try {
        if (record !== undefined) await writeRecord(record, stores.runs, result);
        if (record !== undefined && result.status === "suspended")
          note(
            `The record ends where the run waits; once it has ended: openfunctions runs export ${result.runId}`,
          );
      } finally {
        await reportResult(result, { asJson: options.json === true, stores, from: options.from });
      }
    } finally {
      await record?.close();
    }
  });
}

/** Gives the work a signal that Ctrl-C fires. */
export async function untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort("interrupted");
  process.once("SIGINT", interrupt);
  try {
    return await work(stop.signal);
  } finally {
    process.removeListener("SIGINT", interrupt);
  }
}

/** Makes the record file before anything runs. An existing file is never overwritten. */
function makeRecordFile(file: string): Promise<FileHandle> {
  return open(file, "wx", 0o600).catch((cause: unknown) => {
    const exists = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
    const why = exists
      ? "exists already"
      : `could not be made: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CommandFailure(`The record file "${file}" ${why}. Nothing was run.`, EXIT.environment);
  });
}

/** One canonical JSON line per event, then the seal. */
async function writeRecord(handle: FileHandle, store: RunStore, { runId }: LoopResult): Promise<void> {
  for await (const line of exportRun(store, runId)) await handle.appendFile(line);
  await handle.sync();
}

/** How a result is reported. */
export interface ReportOptions {
  readonly asJson: boolean;
  readonly stores: HomeStores;
  /** Where the tools came from. */
  readonly from: readonly string[] | undefined;
}

/** Prints the answer, or what the run waits for. Throws `CommandFailure` unless the run completed. */
export async function reportResult(
  result: LoopResult,
  { asJson, stores, from }: ReportOptions,
): Promise<void> {
  const { runId, status, stopReason, text, usage, record, pending = [] } = result;
  note(paint("dim", `run ${runId}`));
  if (asJson) {
    const toolCalls = record.toolCalls.map(({ callId, toolName, args, outcome, code, result: answer }) => ({
      callId,
      name: toolName,
      args: args.value,
      outcome,
      code,
      result: answer?.value,
    }));
    const { rounds } = record;
    const error = result.error && { code: result.error.code, message: result.error.message };
    printJson({ runId, status, stopReason, text, toolCalls, rounds, usage, pending, error });
  } else if (text !== "") {
    print(printable(text));
  }
  if (status === "completed") return;
  if (status === "suspended") {
    const tickets = await Promise.all(pending.map(({ ticketId }) => stores.approvals.get(ticketId)));
    noteWaiting(
      runId,
      tickets.filter((ticket) => ticket !== undefined),
      from,
    );
    throw new CommandFailure("The run waits for a person.", EXIT.waiting);
  }
  const why = result.error?.message ?? stopReason;
  throw new CommandFailure(
    `The run ended as ${status} (${stopReason}): ${why}`,
    stopReason === "caller_abort" ? EXIT.interrupted : EXIT.failed,
  );
}
