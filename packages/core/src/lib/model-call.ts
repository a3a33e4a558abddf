/** What one model call is made of: how it is opened, decoded, classified and bounded. */

import type { ModelEvent } from "./adapter.ts";
import type { ProviderError } from "./errors.ts";
import { MAX_TIMER_MS } from "./ports.ts";
import type { WireSource } from "./wire-source.ts";

/** Turns the wire events of one reply into model events. One decoder serves one attempt. */
export interface StreamDecoder {
  /** True once the reply's end was decoded; nothing is read after that. */
  readonly finished: boolean;
  /** Appends what one wire event means to `out`. Throws `ProviderError` for a failure the provider states. */
  push(event: unknown, out: ModelEvent[]): void;
  /** The body ended. Appends the rest, or throws `ProviderError` (network) where the reply is cut. */
  end(out: ModelEvent[]): void;
}

/** One model call as the helper sees it. */
export interface ModelCall {
  /** The provider's id, for errors. */
  readonly provider: string;
  /** Given before the first attempt, once. */
  readonly warnings?: readonly ModelEvent[];
  /** Sends one request; resolves at the response headers. The signal ends the request and its body. */
  open(signal: AbortSignal): Promise<WireSource>;
  /** A fresh decoder for one attempt. */
  decoder(): StreamDecoder;
  /** Classifies any failure that is not a `ProviderError` yet. */
  toError(cause: unknown): ProviderError;
}

/** Times in milliseconds and the number of repeats. Defaults: spec adapters.md section 9. */
export interface RequestLimits {
  /** Repeats after the first try, only before content. Default 2. */
  readonly retries: number;
  /** To the response headers. Default 20 000. */
  readonly connectMs: number;
  /** From the headers to the first event. Default 120 000. */
  readonly firstEventMs: number;
  /** Between two events. Default 60 000. */
  readonly idleMs: number;
  /** For the call with its retries. Default 600 000. */
  readonly totalMs: number;
}

/** The defaults of `RequestLimits`. */
export const REQUEST_LIMITS: RequestLimits = Object.freeze({
  retries: 2,
  connectMs: 20_000,
  firstEventMs: 120_000,
  idleMs: 60_000,
  totalMs: 600_000,
});

/** The timeout an SDK is given: the call's own, in what a timer takes. The limits above come first. */
export function sdkTimeoutMs(limits: Partial<RequestLimits> = {}): number {
  return Math.min(limits.totalMs ?? REQUEST_LIMITS.totalMs, MAX_TIMER_MS);
}
