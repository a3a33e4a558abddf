/** A record by what a person types: the path of a record file, or the id of a run in the data folder. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { AnyRunEvent, RunStore } from "@openfunctions/core";
import { type RecordContent, checkLog, readRecord } from "@openfunctions/core/records";
import { CommandFailure, EXIT } from "./output.ts";

/** Reads it whole. Throws `CommandFailure` where there is neither, `RecordError` for a file that is no record or was changed. */
export async function openRecord(name: string, runs: RunStore): Promise<RecordContent> {
  const file = await stat(name).catch(() => undefined);
  if (file?.isFile() === true) {
    const record = await readRecord(createReadStream(name));
    checkLog(record.events);
    return record;
  }
  const events: AnyRunEvent[] = [];
  for await (const event of runs.read(name)) events.push(event);
  if (events.length > 0) return { events, ...(await runs.annex(name)) };
  throw new CommandFailure(
    `There is no record file and no run "${name}". \`openfunctions runs list\` shows the runs.`,
    EXIT.usage,
  );
}
