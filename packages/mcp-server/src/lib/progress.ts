/** Progress of one call: never backwards, at most ten a second, the last one always. */

import { type Json, isPlainObject } from "@openfunctions/core";

/** Params of a progress notification, without its token. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

const INTERVAL_MS = 100;

/** Passes on what a handler reports; `finish` sends what waits and ends it. */
export class ProgressReporter {
  readonly #send: (progress: Progress) => void;
  #sent = Number.NEGATIVE_INFINITY;
  #waiting: Progress | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (progress: Progress) => void) {
    this.#send = send;
  }

  /** Takes an update; anything but `{ progress, total?, message? }` is not progress in MCP's sense and is left out. */
  report(update: Json): void {
    if (!isPlainObject(update)) return;
    const { progress, total, message } = update;
    if (typeof progress !== "number" || progress <= (this.#waiting?.progress ?? this.#sent)) return;
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
    const next = this.#waiting;
    this.#waiting = undefined;
    this.#sent = next.progress;
    this.#timer = setTimeout(() => this.#flush(), INTERVAL_MS);
    this.#send(next);
  }
}
