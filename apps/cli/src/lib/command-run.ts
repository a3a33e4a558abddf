/** `openfunctions run`: one task for the default agent. */

import { type FileHandle, open } from "node:fs/promises";
import { type LoopResult, type RunStore, createMemoryRunStore } from "@openfunctions/core";
import { exportRun } from "@openfunctions/core/records";
import { chooseAdapter } from "./choose-adapter.ts";
import { Conversation } from "./conversation.ts";
import { dataHome } from "./data-home.ts";
import { followRun } from "./follow-run.ts";
import { openTools } from "./open-tools.ts";
import { openSigner } from "./signing-keys.ts";
import { CommandFailure, EXIT, note, paint, print, printJson, printable } from "./output.ts";

/** Options of the command. */
export interface RunCommandOptions {
  readonly from?: readonly string[];
  readonly provider?: string;
  readonly model?: string;
  readonly json?: boolean;
  readonly record?: string;
}

/** Runs the task and prints the answer. Exit 1 unless the run completed. */
export async function runCommand(task: string, options: RunCommandOptions): Promise<void> {
  const { provider, model } = options;
  if (task.trim() === "") throw new CommandFailure("The task is empty; say what is to be done.", EXIT.usage);
  const tools = await openTools({
    home: dataHome(),
    ...(options.from === undefined ? {} : { from: options.from }),
  });
  const chosen = await chooseAdapter({
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
  });
  note(paint("dim", `${chosen.adapter.provider}/${chosen.adapter.model} (${chosen.reason})`));
  const store = createMemoryRunStore();
  const signer = options.record === undefined ? undefined : await openSigner(dataHome());
  const conversation = new Conversation({
    adapter: chosen.adapter,
    tools,
    id: "run",
    store,
    ...(signer === undefined ? {} : { signer }),
  });
  const record = options.record === undefined ? undefined : await openRecord(options.record);
  const stop = new AbortController();
  const interrupt = (): void => stop.abort("interrupted");
  process.once("SIGINT", interrupt);
  try {
    const run = await conversation.turn(task, { signal: stop.signal });
    const result = await followRun(run, () => {});
    try {
      if (record !== undefined) await writeRecord(record, store, result);
    } finally {
      report(result, options.json === true);
    }
  } finally {
    await record?.close();
    process.removeListener("SIGINT", interrupt);
  }
}

/** Makes the record file before anything runs. An existing file is never overwritten. */
function openRecord(file: string): Promise<FileHandle> {
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
  for await (const line of exportRun(store, runId)) await handle.write(line);
  await handle.sync();
}

function report(result: LoopResult, asJson: boolean): void {
  const { runId, status, stopReason, text, usage, record } = result;
  if (asJson) {
    const toolCalls = record.toolCalls.map(({ callId, toolName, args, outcome, code, result: answer }) => ({
      callId,
      name: toolName,
      args: args.value,
      outcome,
      code,
      result: answer?.value,
    }));
    printJson({ runId, status, stopReason, text, toolCalls, rounds: record.rounds, usage });
  } else if (text !== "") {
    print(printable(text));
  }
  if (status === "completed") return;
  const why = result.error?.message ?? stopReason;
  throw new CommandFailure(
    `The run ended as ${status} (${stopReason}): ${why}`,
    stopReason === "caller_abort" ? EXIT.interrupted : EXIT.failed,
  );
}
