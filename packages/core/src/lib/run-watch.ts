/** Gives a run's events as they are appended. */

import { isEnded } from "./run-append.ts";
import { nextStatus } from "./run-status.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { RunStatus } from "./run-record.ts";

/** Tells those who wait for a run that something happened to it. */
export class RunBells {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Calls `wake` at every ring for the run, until the function it gives back is called. */
  listen(runId: string, wake: () => void): () => void {
    const listeners = this.#listeners.get(runId) ?? new Set();
    this.#listeners.set(runId, listeners.add(wake));
    return () => {
      listeners.delete(wake);
      if (listeners.size === 0 && this.#listeners.get(runId) === listeners) this.#listeners.delete(runId);
    };
  }

  /** Wakes who waits for this run; without an id, everybody. */
  ring(runId?: string): void {
    const rung = runId === undefined ? [...this.#listeners.values()] : [this.#listeners.get(runId) ?? []];
    for (const wake of rung.flatMap((listeners) => [...listeners])) wake();
  }
}

/** What a store gives to be watched. */
export interface WatchSource {
  readonly bells: RunBells;
  /** How often to look for what other processes appended, in milliseconds; left out where there are none. */
  readonly pollMs?: number;
  read(runId: string, fromSeq: number): AsyncIterable<AnyRunEvent>;
  status(runId: string): Promise<RunStatus | undefined>;
}

/** Which run to watch, and from where. */
export interface WatchTarget {
  readonly runId: string;
  readonly fromSeq: number;
  readonly signal?: AbortSignal | undefined;
}

/** What `RunStore.watch` gives. */
export async function* watchRun(
  source: WatchSource,
  { runId, fromSeq, signal }: WatchTarget,
): AsyncGenerator<AnyRunEvent> {
  let rung = false;
  let wake = (): void => {};
  const stop = source.bells.listen(runId, () => {
    rung = true;
    wake();
  });
  try {
    let next = fromSeq;
    while (!isOver(signal)) {
      rung = false;
      // Asked first: what is appended between the two is read all the same.
      const status = await source.status(runId);
      for await (const event of source.read(runId, next)) {
        if (isOver(signal)) return;
        yield event;
        next = event.seq + 1;
        if (isEnded(nextStatus("running", event) ?? "running")) return;
      }
      if (status === undefined || isEnded(status)) return;
      if (!rung) await pause(source.pollMs, signal, (resolve) => (wake = resolve));
    }
  } finally {
    stop();
  }
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

async function pause(
  ms: number | undefined,
  signal: AbortSignal | undefined,
  offer: (resolve: () => void) => void,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
  const done = (): void => resolve();
  offer(done);
  signal?.addEventListener("abort", done, { once: true });
  if (isOver(signal)) done();
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", done);
}
