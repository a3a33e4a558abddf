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
  #arriving: Promise<void> | undefined;
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

  /** By hand, since a generator takes several turns of the event loop for each of the many events of a stream. */
  [Symbol.asyncIterator](): AsyncIterator<Item> {
    if (this.#reading) throw new InputError("The events of a run are read once; another reader is at it.");
    this.#reading = true;
    let left = false;
    const leave = (): Promise<IteratorResult<Item>> => {
      if (!left) this.#stopReading();
      left = true;
      return Promise.resolve({ value: undefined, done: true });
    };
    const next = (): Promise<IteratorResult<Item>> => {
      if (!left && this.#next < this.#items.length)
        return Promise.resolve({ value: this.#take(), done: false });
      if (left || this.#ended) return leave();
      return this.#arrival().then(next);
    };
    return { next, return: leave };
  }

  #stopReading(): void {
    this.#reading = false;
    if (!this.#ended) this.#onLeave();
    this.#wake?.();
  }

  /** Resolves once there is something to read, or nothing more comes; the same for all who wait. */
  #arrival(): Promise<void> {
    this.#arriving ??= new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        this.#arriving = undefined;
        resolve();
      };
    });
    return this.#arriving;
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
