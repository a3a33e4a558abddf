/**
 * `runLoop` for tests whose runs are made again from their records once the test is over: what ended by itself must
 * come to the same digest, what was stopped from outside is followed as far as it went.
 */

import { afterEach, expect } from "vitest";
import { replayRun } from "../replay-run.ts";
import { type AnyRunEvent, isTerminal, type RunEvent } from "../run-event.ts";
import { runLoop as plainLoop } from "../run-loop.ts";
import type { LoopOptions, LoopRun } from "../run-options.ts";

const recorded = new Map<string, AnyRunEvent[]>();

/** Runs the loop and keeps what it writes. */
export function runLoop(options: LoopOptions): LoopRun {
  const { ports } = options;
  const observe = (event: RunEvent): void => {
    const events = recorded.get(event.runId) ?? [];
    events.push(event as AnyRunEvent); // Proof: an event's type and data are tied
    recorded.set(event.runId, events);
    ports?.observe?.(event);
  };
  return plainLoop({ ...options, ports: { ...ports, observe } });
}

/** Said by a test whose records lack something on purpose: a run of it cannot be made again, and says so. */
export function recordLacks(what: string): void {
  lacking.push(what);
}

const lacking: string[] = [];

afterEach(async () => {
  const runs = [...recorded.values()];
  const [what] = lacking.splice(0);
  recorded.clear();
  const replays = await Promise.allSettled(runs.map(replay));
  const failed = replays.filter((one) => one.status === "rejected");
  if (what !== undefined) expect(failed, `runs that cannot be made again without ${what}`).not.toEqual([]);
  else for (const { reason } of failed) throw reason;
});

async function replay(events: readonly AnyRunEvent[]): Promise<void> {
  const [first] = events;
  const last = events.at(-1);
  if (first?.type !== "run.started" || first.data.capture !== "full") return;
  if (last === undefined || !isTerminal(last.type)) return;
  const report = await replayRun(events);
  const ending = { type: last.type, stopReason: Reflect.get(last.data, "stopReason") };
  const isOwn = last.type !== "run.cancelled" && ending.stopReason !== "internal_error";
  if (isOwn) expect({ ...report, ...ending }).toEqual({ ...report, ...ending, complete: true, head: last.hash });
}
