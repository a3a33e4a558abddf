/** How many calls of one connection run at once, how many may wait, and when all have ended. */

import { setTimeout as sleep } from "node:timers/promises";

import { type CallGate, createGate } from "@openfunctions/core";

import { internalError } from "./protocol-errors.ts";

const MAX_WAITING = 256;

/** One lane per connection, kept while it has calls. */
export class CallLanes {
  readonly #maxConcurrent: number;
  readonly #lanes = new Map<string, { readonly gate: CallGate; calls: number }>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
  }

  /** True where the next call of this connection would be refused. */
  isFull(key: string): boolean {
    return (this.#lanes.get(key)?.calls ?? 0) >= this.#maxConcurrent + MAX_WAITING;
  }

  /** Does one call's work in the lane. Throws a retryable internal error where too many wait already. */
  async run<T>(key: string, work: (gate: CallGate) => Promise<T>): Promise<T> {
    if (this.isFull(key))
      throw internalError("Too many calls wait on this connection; try again later.", true);
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
    if (this.#running.size === 0) return;
    const timer = new AbortController();
    const all = Promise.allSettled(this.#running);
    await Promise.race([all, sleep(ms, undefined, { signal: timer.signal }).catch(() => {})]);
    timer.abort();
  }
}
