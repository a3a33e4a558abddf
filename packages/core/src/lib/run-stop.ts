/** Stopping a run from outside: who asked for it, what it aborts, and who no longer waits. */

import { describeThrown, isThrownError } from "./describe-thrown.ts";
import type { Clock } from "./ports.ts";
import type { StopReason } from "./run-event.ts";

/** Why a run was stopped from outside. */
export interface Stop {
  readonly stopReason: StopReason;
  readonly reason: string;
}

/** What a run is stopped by. */
export interface StopSources {
  readonly caller: AbortSignal | undefined;
  readonly parent: AbortSignal | undefined;
  /** Milliseconds the run may take. */
  readonly wallMs: number;
  readonly clock: Clock;
}

/** Why whatever outlives its run is aborted; made once, since an error is costly and every run ends. */
const RUN_OVER = new DOMException("The run has ended.", "AbortError");

/** The one owner of a run's signal. The first stop counts. */
export class RunStop {
  readonly #controller = new AbortController();
  /** Who waits for something that a stopped run does not wait for. */
  readonly #waiting = new Set<(reason: unknown) => void>();
  #why: Stop | undefined;
  #release: () => void = () => {};

  /** What everything that runs for this run listens to. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Set once the run was stopped from outside. */
  get why(): Stop | undefined {
    return this.#why;
  }

  /** Stops the run for its caller. */
  abort(reason: unknown): void {
    const isTold = typeof reason === "string" || isThrownError(reason);
    const told = isTold ? describeThrown(reason) : "aborted by the caller";
    this.#stop({ stopReason: "caller_abort", reason: told }, reason);
  }

  /** Follows the caller's signal, the parent's signal and the wall clock. */
  watch({ caller, parent, wallMs, clock }: StopSources): void {
    const onCaller = (): void => this.abort(caller?.reason);
    const onParent = (): void =>
      this.#stop({ stopReason: "parent_cancelled", reason: "the parent run was cancelled" }, parent?.reason);
    const cancelTimer = clock.after(wallMs, () => {
      const reason = new DOMException("The run's time is up.", "TimeoutError");
      this.#stop({ stopReason: "time_budget", reason: "the run's time is up" }, reason);
    });
    caller?.addEventListener("abort", onCaller, { once: true });
    parent?.addEventListener("abort", onParent, { once: true });
    this.#release = () => {
      cancelTimer();
      caller?.removeEventListener("abort", onCaller);
      parent?.removeEventListener("abort", onParent);
    };
    if (caller?.aborted === true) onCaller();
    if (parent?.aborted === true) onParent();
  }

  /** The value, or a rejection as soon as the run is stopped; a stopped run waits for nobody. */
  until<T>(value: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) reject(this.signal.reason);
      this.#waiting.add(reject);
      value.then(
        (given) => {
          this.#waiting.delete(reject);
          resolve(given);
        },
        (cause: unknown) => {
          this.#waiting.delete(reject);
          reject(cause);
        },
      );
    });
  }

  /** The run is over: stops the clock and everything that still runs. */
  end(): void {
    this.#release();
    this.#abort(RUN_OVER);
  }

  #stop(stop: Stop, reason: unknown): void {
    if (this.#why !== undefined || this.signal.aborted) return;
    this.#why = stop;
    this.#abort(reason ?? new DOMException(stop.reason, "AbortError"));
  }

  #abort(reason: unknown): void {
    if (this.signal.aborted) return;
    this.#controller.abort(reason);
    for (const reject of this.#waiting) reject(reason);
  }
}
