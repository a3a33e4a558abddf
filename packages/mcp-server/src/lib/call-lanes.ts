/** How many calls of one connection run at once, how many may wait, and when all have ended. */

import { setTimeout as sleep } from "node:timers/promises";

import { type CallGate, createGate } from "@openfunctions/core";

const MAX_WAITING = 256;
const LOOK_MS = 5;

/** One lane per connection, kept while it has calls. */
export class CallLanes {
  readonly #maxConcurrent: number;
  readonly #lanes = new Map<string, { readonly gate: CallGate; calls: number }>();

  constructor(maxConcurrent: number) {
    this.#maxConcurrent = maxConcurrent;
  }

  /** True where so many calls of this connection wait that the next one has to be refused. */
  isFull(key: string): boolean {
    return (this.#lanes.get(key)?.calls ?? 0) >= this.#maxConcurrent + MAX_WAITING;
  }

  /** Counts one call in; it runs behind the gate that is returned, and is counted out by `leave`. */
  enter(key: string): CallGate {
    const lane = this.#lanes.get(key) ?? { gate: createGate(this.#maxConcurrent), calls: 0 };
    if (lane.calls === 0) this.#lanes.set(key, lane);
    lane.calls += 1;
    return lane.gate;
  }

  /** Counts one call out. */
  leave(key: string): void {
    const lane = this.#lanes.get(key);
    if (lane === undefined) return;
    lane.calls -= 1;
    if (lane.calls === 0) this.#lanes.delete(key);
  }

  /** Resolves when no call runs any more, or after `ms` milliseconds. */
  async settled(ms: number): Promise<void> {
    for (let left = ms; left > 0 && this.#lanes.size > 0; left -= LOOK_MS) await sleep(LOOK_MS);
  }
}
