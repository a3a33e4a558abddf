/** The record is what the events say, and nothing after the end counts. */

import { describe, expect, it } from "vitest";
import { userMessage } from "./message.ts";
import { createMemoryRunStore } from "./run-store.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { RunFold, foldRun } from "./run-fold.ts";
import { runLoop } from "./run-loop.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";

async function recorded(): Promise<readonly AnyRunEvent[]> {
  const store = createMemoryRunStore();
  const run = runLoop({ adapter: scriptedAdapter([{ text: "hi" }]), messages: [userMessage("go")], store });
  await run.result;
  const events: AnyRunEvent[] = [];
  for await (const event of store.read(run.runId)) events.push(event);
  return events;
}

describe("the fold", () => {
  it("runs L1: a second terminal event is a RecordError, and the record is unchanged", async () => {
    const events = await recorded();
    const fold = new RunFold();
    for (const event of events) fold.apply(event);
    const before = fold.record();
    const last = events.at(-1);
    if (last === undefined) throw new Error("nothing was recorded");
    expect(() => fold.apply({ ...last, seq: last.seq + 1 })).toThrow(
      expect.objectContaining({ code: "record_invalid" }),
    );
    expect(fold.record()).toEqual(before);
  });

  it("gives the record of a prefix as it stood, and through JSON the same", async () => {
    const events = await recorded();
    expect(foldRun(events.slice(0, 2))).toMatchObject({ status: "running", rounds: 0 });
    const record = foldRun(events);
    expect(JSON.parse(JSON.stringify(record))).toEqual(record);
    expect(foldRun(JSON.parse(JSON.stringify(events)))).toEqual(record);
  });
});
