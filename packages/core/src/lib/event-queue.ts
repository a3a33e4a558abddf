/** Hands events from a writer to one reader, in order, without making the writer wait. */

import { InputError } from "./errors.ts";
import type { AnyRunEvent, LiveEvent } from "./run-event.ts";

type Item = AnyRunEvent | LiveEvent;

/**
 * Keeps chain events until somebody reads; live events are lost on purpose while nobody does. Ending the iteration
 * early calls `onLeave`.
 */
export class EventQueue implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  readonly #onLeave: () => void;
  #next = 0;
  #wake: (() => void) | undefined;
  #ended = false;
  #reading = false;

  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  /** Adds an event. */
  push(event: Item): void {
    if (!this.#reading && !("seq" in event)) return;
    this.#items.push(event);
    this.#wake?.();
  }

  /** Lets the reader finish once it has read everything. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    if (this.#reading) throw new InputError("The events of a run are read once; another reader is at it.");
    this.#reading = true;
    try {
      for (;;) {
        while (this.#next < this.#items.length) yield this.#take();
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    } finally {
      this.#reading = false;
      if (!this.#ended) this.#onLeave();
    }
  }

  #take(): Item {
    const item = this.#items[this.#next] as Item; // Proof: the caller checked that next is below the length
    this.#next += 1;
    if (this.#next === this.#items.length) {
      this.#items.length = 0;
      this.#next = 0;
    }
    return item;
  }
}
