/** One call's clock and signal: stops it on timeout or when the caller aborts, whichever is first. */

import type { Clock } from "./ports.ts";

/** Why a call was stopped. */
export type CallStop = "tool_timeout" | "cancelled";

/**
 * Owns the handler's signal and the timer; both begin when somebody waits or asks for the signal, since a handler that
 * answers at once needs neither. `dispose` on every path.
 */
export class CallControl {
  readonly timeoutMs: number;
  #controller: AbortController | undefined;
  #reason: unknown;
  readonly #clock: Clock;
  readonly #caller: AbortSignal | undefined;
  readonly #onCallerAbort = (): void => this.#end("cancelled", this.#caller?.reason);
  #cancelTimer: (() => void) | undefined;
  #stop: CallStop | undefined;
  #onStop: (() => void) | undefined;
  #done = false;

  constructor(clock: Clock, timeoutMs: number, caller: AbortSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#caller = caller;
    if (caller?.aborted === true) this.#end("cancelled", caller.reason);
  }

  /** The signal the handler gets. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#arm();
      this.#controller = new AbortController();
      if (this.#stop !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why the call was stopped, or undefined while it may run. */
  get stop(): CallStop | undefined {
    // The caller's signal is listened to only once somebody waits, so until then it is asked.
    if (this.#caller?.aborted === true) this.#end("cancelled", this.#caller.reason);
    return this.#stop;
  }

  /** True once nobody waits for the handler any more. */
  get done(): boolean {
    return this.#done || this.#stop !== undefined;
  }

  /** Calls back when the call is stopped, before the handler hears of it. */
  onStop(callback: () => void): void {
    this.#arm();
    this.#onStop = callback;
    if (this.#stop !== undefined) callback();
  }

  /** Clears the timer and lets go of the caller's signal. */
  dispose(): void {
    this.#done = true;
    this.#cancelTimer?.();
    this.#caller?.removeEventListener("abort", this.#onCallerAbort);
  }

  #arm(): void {
    if (this.stop !== undefined || this.#cancelTimer !== undefined || this.done) return;
    this.#cancelTimer = this.#clock.after(this.timeoutMs, () => {
      const reason = new DOMException(`The call took longer than ${this.timeoutMs} ms.`, "TimeoutError");
      this.#end("tool_timeout", reason);
    });
    this.#caller?.addEventListener("abort", this.#onCallerAbort, { once: true });
  }

  #end(stop: CallStop, reason: unknown): void {
    if (this.done) return;
    this.#stop = stop;
    this.#reason = reason;
    this.#onStop?.();
    this.#controller?.abort(reason);
  }
}
