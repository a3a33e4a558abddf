/** One attempt of a model call: its timers, its abort and its socket, all freed together. */

import type { ModelEvent } from "./adapter.ts";
import { ProviderError } from "./errors.ts";
import { cutError } from "./http-failure.ts";
import type { ModelCall, RequestLimits, StreamDecoder } from "./model-call.ts";
import type { Clock } from "./ports.ts";
import type { WireSource } from "./wire-source.ts";

/** What bounds one attempt. `leftMs` is what remains of the call's total time. */
export interface AttemptOptions {
  readonly limits: RequestLimits;
  readonly signal: AbortSignal | undefined;
  readonly clock: Clock;
  readonly leftMs: number;
}

type Stage = "connect" | "firstEvent" | "idle";

/** What a closed attempt says; made once, since an error is costly and every attempt ends. */
const OVER = { cause: new Error("This attempt is over.") };

/**
 * Reads one reply in batches of model events. A timeout or an abort ends the request and rejects the read that
 * waits at that moment; time that a slow consumer takes does not count as idle. Events set no timer: the
 * one there is looks at the time of the last wait when it fires, and is set again. `close` must be called on every path.
 */
export class RequestAttempt {
  readonly #call: ModelCall;
  readonly #options: AttemptOptions;
  readonly #controller = new AbortController();
  readonly #decoder: StreamDecoder;
  readonly #out: ModelEvent[] = [];
  readonly #endsAt: number;
  #cancelTimer: () => void = () => {};
  #firesAt = Number.POSITIVE_INFINITY;
  #stage: Stage = "connect";
  #waitsSince = 0;
  #source: WireSource | undefined;
  #interrupt: ((cause: unknown) => void) | undefined;
  #stopped: { readonly cause: unknown } | undefined;
  #failed: { readonly cause: unknown } | undefined;

  constructor(call: ModelCall, options: AttemptOptions) {
    this.#call = call;
    this.#options = options;
    this.#decoder = call.decoder();
    this.#endsAt = options.clock.now() + options.leftMs;
    options.signal?.addEventListener("abort", this.#onAbort);
    if (options.signal?.aborted === true) this.#onAbort();
  }

  /** The next events (the list is reused by the next read), or undefined after the last. */
  async read(): Promise<readonly ModelEvent[] | undefined> {
    const out = this.#out;
    out.length = 0;
    this.throwIfStopped();
    if (this.#failed !== undefined) throw this.#failed.cause;
    if (this.#decoder.finished) return undefined;
    this.#source ??= await this.#open();
    while (out.length === 0 && !this.#decoder.finished) {
      const batch = await this.#wait(this.#source.read());
      this.#stage = "idle";
      if (batch === undefined) this.#end();
      else this.#decode(batch);
    }
    return out;
  }

  /** Throws the abort's reason or the timeout, also between two events of one batch. */
  throwIfStopped(): void {
    if (this.#stopped !== undefined) throw this.#stopped.cause;
  }

  /** Frees the socket, the timers and the listener. */
  close(): void {
    this.#cancelTimer();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    if (this.#decoder.finished) this.#source?.finish();
    else {
      this.#controller.abort();
      this.#source?.close();
    }
    this.#stopped ??= OVER;
  }

  async #open(): Promise<WireSource> {
    const opening = this.#call.open(this.#controller.signal).then((source) => {
      if (this.#stopped !== undefined) source.close();
      return source;
    });
    const source = await this.#wait(opening);
    this.#stage = "firstEvent";
    return source;
  }

  #decode(batch: readonly unknown[]): void {
    try {
      for (const event of batch) {
        this.#decoder.push(event, this.#out);
        if (this.#decoder.finished) return;
      }
    } catch (cause) {
      if (this.#out.length === 0) throw cause;
      this.#failed = { cause }; // What came before the failure is delivered first.
    }
  }

  /** The body is over; a decoder that says nothing of it has not seen its reply's end. */
  #end(): void {
    this.#decoder.end(this.#out);
    if (this.#decoder.finished) return;
    const cause = cutError(this.#call.provider);
    if (this.#out.length === 0) throw cause;
    this.#failed = { cause };
  }

  #wait<T>(step: Promise<T>): Promise<T> {
    this.#waitsSince = this.#options.clock.now();
    const dueAt = this.#dueAt(this.#waitsSince);
    if (dueAt < this.#firesAt) this.#arm(dueAt);
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      step.then(
        (value) => {
          this.#interrupt = undefined;
          resolve(value);
        },
        (cause: unknown) => {
          this.#interrupt = undefined;
          reject(cause);
        },
      );
    });
  }

  /** When a wait that began at `since` has lasted too long, by its stage or by the total. */
  #dueAt(since: number): number {
    return Math.min(since + this.#options.limits[`${this.#stage}Ms`], this.#endsAt);
  }

  #arm(dueAt: number): void {
    this.#cancelTimer();
    this.#firesAt = dueAt;
    this.#cancelTimer = this.#options.clock.after(
      Math.max(0, dueAt - this.#options.clock.now()),
      this.#onTimer,
    );
  }

  readonly #onTimer = (): void => {
    const now = this.#options.clock.now();
    const { limits } = this.#options;
    // While nobody waits the consumer is busy; that time is not the provider's.
    const dueAt = this.#dueAt(this.#interrupt === undefined ? now : this.#waitsSince);
    if (now >= this.#endsAt) this.#stop(this.#timeout(`did not finish within ${limits.totalMs} ms in all`));
    else if (dueAt > now) this.#arm(dueAt);
    else this.#stop(this.#timeout(`${STAGE_TEXT[this.#stage]} within ${limits[`${this.#stage}Ms`]} ms`));
  };

  readonly #onAbort = (): void => {
    this.#stop(this.#options.signal?.reason);
  };

  #timeout(what: string): ProviderError {
    return new ProviderError(`${this.#call.provider} ${what}.`, {
      provider: this.#call.provider,
      kind: "timeout",
    });
  }

  #stop(cause: unknown): void {
    if (this.#stopped !== undefined) return;
    this.#stopped = { cause };
    this.#controller.abort(cause);
    this.#source?.close();
    this.#interrupt?.(cause);
    this.#interrupt = undefined;
  }
}

const STAGE_TEXT: Readonly<Record<Stage, string>> = {
  connect: "did not send response headers",
  firstEvent: "did not send a first event",
  idle: "sent no further event",
};
