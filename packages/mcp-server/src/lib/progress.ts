/** Progress of one call: never backwards, at most ten a second, the last one always. */

import { type Json, isPlainObject } from "@openfunctions/core";

const INTERVAL_MS = 100;

/** Passes on what a handler reports, where it is `{ progress, total?, message? }`; anything else is not for clients. */
export class ProgressReporter {
  readonly #send: (update: Record<string, Json>) => void;
  #last = Number.NEGATIVE_INFINITY;
  #waiting: Record<string, Json> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (update: Record<string, Json>) => void) {
    this.#send = send;
  }

  /** Takes an update. */
  report(update: Json): void {
    if (!isPlainObject(update)) return;
    const { progress, total, message } = update;
    if (typeof progress !== "number" || progress <= this.#last) return;
    this.#last = progress;
    this.#waiting = {
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    };
    if (this.#timer === undefined) this.#flush();
  }

  /** Sends what waits; nothing is sent after it. */
  finish(): void {
    this.#flush();
    clearTimeout(this.#timer);
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#waiting === undefined) return;
    this.#send(this.#waiting);
    this.#waiting = undefined;
    this.#timer = setTimeout(() => this.#flush(), INTERVAL_MS);
  }
}
