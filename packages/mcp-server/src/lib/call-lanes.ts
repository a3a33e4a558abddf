/** How many calls of one connection run at once, how many may wait, and when all have ended. */

import { setTimeout as sleep } from "node:timers/promises";

import { type CallGate, createGate } from "@openfunctions/core";

const MAX_WAITING = 256;

/** One lane per connection, kept while it has calls. */
export class CallLanes {
  readonly #maxConcurrent: number;
  readonly #lanes = new Map<string, { readonly gate: CallGate; calls: number }>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
  }

  /** True where so many calls of this connection wait that the next one has to be refused. */
  isFull(key: string): boolean {
    return (this.#lanes.get(key)?.calls ?? 0) >= this.#maxConcurrent + MAX_WAITING;
  }

  /** Does one call's work behind the gate of its connection. */
  async run<T>(key: string, work: (gate: CallGate) => Promise<T>): Promise<T> {
    const lane = this.#lanes.get(key) ?? { gate: createGate(this.#maxConcurrent), calls: 0 };
    this.#lanes.set(key, lane);
    lane.calls += 1;
    const call = work(lane.gate);
    this.#running.add(call);
    try {
      return await call;
    } finally {
      this.#running.delete(call);
      lane.calls -= 1;
      if (lane.calls === 0) this.#lanes.delete(key);
    }
  }

  /** Resolves when no call runs any more, or after `ms` milliseconds. */
  async settled(ms: number): Promise<void> {
    const timer = new AbortController();
    const tooLong = sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([Promise.allSettled(this.#running), tooLong]);
    timer.abort();
  }
}
