/** `openfunctions run`: one task for the default agent. */

import { open } from "node:fs/promises";
import { type LoopResult, type RunStore, canonicalJson, createMemoryRunStore } from "@openfunctions/core";
import { chooseAdapter } from "./choose-adapter.ts";
import { Conversation } from "./conversation.ts";
import { dataHome } from "./data-home.ts";
import { followRun } from "./follow-run.ts";
import { openTools } from "./open-tools.ts";
import { CommandFailure, EXIT, note, paint, print, printJson } from "./output.ts";

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
  const conversation = new Conversation({ adapter: chosen.adapter, tools, id: "run", store });
  const stop = new AbortController();
  const interrupt = (): void => stop.abort("interrupted");
  process.once("SIGINT", interrupt);
  try {
    const run = await conversation.turn(task, { signal: stop.signal });
    const result = await followRun(run, () => {});
    if (options.record !== undefined) await writeRecord(options.record, store, result);
    report(result, options.json === true);
  } finally {
    process.removeListener("SIGINT", interrupt);
  }
}

/** A record file: one canonical JSON line per event. An existing file is never overwritten. */
async function writeRecord(file: string, store: RunStore, { runId }: LoopResult): Promise<void> {
  const handle = await open(file, "wx", 0o600).catch((cause: unknown) => {
    throw new CommandFailure(
      `The record file "${file}" could not be made: ${cause instanceof Error ? cause.message : String(cause)}`,
      EXIT.environment,
    );
  });
  try {
    for await (const event of store.read(runId)) await handle.write(`${canonicalJson(event)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  note(paint("dim", `record: ${file}`));
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
    print(text);
  }
  if (status === "completed") return;
  const why = result.error?.message ?? stopReason;
  throw new CommandFailure(
    `The run ended as ${status} (${stopReason}): ${why}`,
    stopReason === "caller_abort" ? EXIT.interrupted : EXIT.failed,
  );
}
