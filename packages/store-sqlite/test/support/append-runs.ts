/**
 * `node append-runs.ts <file> <own run> <shared run> <count>`: appends events to a run of its own, and each time tries
 * the same number of a shared run, printing those it won. Without a shared run it appends three events at a time to its
 * own, and prints a line for each append that is done.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type AnyRunEvent, OpenFunctionsError, runLoop } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { openSqlite } from "@openfunctions/store-sqlite";

const [file = "", own = "", shared = "", count = "0"] = process.argv.slice(2);
const total = Number(count);
const stores = await openSqlite({ file });
const runs = stores.runStore();
const [start, middle, end] = await templates();
if (shared === "") await appendForKill();
else await appendShared();
await stores.close();

async function appendShared(): Promise<void> {
  for (let seq = 0; seq < total; seq += 1) {
    await runs.append(own, [eventOf(own, seq)], { expectedSeq: seq });
    await stores.store("counts").update("n", (n) => ({ set: Number(n ?? 0) + 1 }));
    try {
      await runs.append(shared, [eventOf(shared, seq)], { expectedSeq: seq });
      process.stdout.write(`${seq}\n`);
    } catch (error) {
      if (!OpenFunctionsError.is(error) || error.code !== "store_conflict") throw error;
      // Behind or ahead of the others: waits until they are here.
      while ((await lengthOf(shared)) <= seq) await sleep(1);
    }
  }
}

async function appendForKill(): Promise<void> {
  await runs.append(own, [eventOf(own, 0)], { expectedSeq: 0 });
  process.stdout.write("0\n");
  for (let seq = 1; seq < total; seq += 3) {
    const batch = [seq, seq + 1, seq + 2].map((one) => ({ ...middle, runId: own, seq: one }));
    await runs.append(own, batch, { expectedSeq: seq });
    process.stdout.write(`${seq}\n`);
  }
}

async function lengthOf(runId: string): Promise<number> {
  let length = 0;
  for await (const event of runs.read(runId)) length = event.seq + 1;
  return length;
}

function eventOf(runId: string, seq: number): AnyRunEvent {
  if (seq === 0) return { ...start, runId, seq };
  return { ...(seq === total - 1 ? end : middle), runId, seq };
}

/** The first event, a message and the last event of a real run; stores do not check hashes. */
async function templates(): Promise<readonly [AnyRunEvent, AnyRunEvent, AnyRunEvent]> {
  const events: AnyRunEvent[] = [];
  const adapter = scriptedAdapter([{ text: "hello" }]);
  for await (const event of runLoop({ adapter, messages: [{ role: "user", content: "hi" }] }))
    if ("seq" in event) events.push(event);
  const message = events.find((event) => event.type === "message.appended");
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || message === undefined || last === undefined)
    throw new Error("A run has no events.");
  return [first, message, last];
}
