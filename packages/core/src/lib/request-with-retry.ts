/** One model call: open, decode, and ask again while nothing was delivered and the failure may pass. */

import type { ModelEvent } from "./adapter.ts";
import { defined } from "./defined.ts";
import { OpenFunctionsError, ProviderError } from "./errors.ts";
import { type ModelCall, REQUEST_LIMITS, type RequestLimits } from "./model-call.ts";
import { type Ports, systemClock } from "./ports.ts";
import { RequestAttempt } from "./request-attempt.ts";

/** How a call is run. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly limits?: Partial<RequestLimits> | undefined;
  /** The clock of every wait and timeout, and the dice of the jitter. Default: real ones. */
  readonly ports?: Partial<Pick<Ports, "clock" | "random">> | undefined;
}

const BASE_DELAY_MS = 500;
const MAX_DELAY_MS = 20_000;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Streams one model call, which `prepare` makes when the first event is asked for. Before the first content event a
 * retryable failure is announced as `retry` and asked again; after content it is thrown, for the loop to repeat the
 * step. Throws `ProviderError`, or the developer
 * errors of `prepare` and `open` as they are; an abort rejects with the signal's reason as soon as it happens,
 * and the socket is closed.
 */
export async function* requestWithRetry(
  prepare: () => ModelCall,
  options: RequestOptions = {},
): AsyncGenerator<ModelEvent> {
  const { signal } = options;
  const limits: RequestLimits = { ...REQUEST_LIMITS, ...options.limits };
  const clock = options.ports?.clock ?? systemClock;
  const endsAt = clock.now() + limits.totalMs;
  signal?.throwIfAborted();
  const call = prepare();
  if (call.warnings !== undefined) yield* call.warnings;
  for (let retry = 0; ; retry += 1) {
    const attempt = new RequestAttempt(call, { limits, signal, clock, leftMs: endsAt - clock.now() });
    let delivered = false;
    let failure: ProviderError;
    try {
      for (let events = await attempt.read(); events !== undefined; events = await attempt.read()) {
        for (const event of events) {
          attempt.throwIfStopped();
          delivered ||= isContent(event);
          yield event;
        }
      }
      return;
    } catch (cause) {
      signal?.throwIfAborted();
      failure = withAttempts(toProviderError(cause, call), retry + 1);
    } finally {
      attempt.close();
    }
    const delayMs = delayOf(failure, { retry, random: options.ports?.random ?? Math.random });
    if (delivered || retry >= limits.retries || delayMs === undefined) throw failure;
    if (clock.now() + delayMs >= endsAt) throw failure;
    yield { type: "retry", attempt: retry + 1, reason: reasonOf(failure), delayMs };
    await clock.sleep(delayMs, signal);
  }
}

function toProviderError(cause: unknown, call: ModelCall): ProviderError {
  if (cause instanceof ProviderError) return cause;
  if (OpenFunctionsError.is(cause) && cause.fault === "developer") throw cause;
  return call.toError(cause);
}

function isContent(event: ModelEvent): boolean {
  return event.type !== "start" && event.type !== "usage" && event.type !== "warning";
}

/** The wait before the next attempt, in milliseconds; undefined where asking again is no use. */
function delayOf(
  failure: ProviderError,
  how: { readonly retry: number; readonly random: () => number },
): number | undefined {
  if (!failure.retryable) return undefined;
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined) return retryAfterMs > MAX_RETRY_AFTER_MS ? undefined : retryAfterMs;
  // Full jitter: anything from zero to the exponential ceiling, so that many clients do not return together.
  return Math.round(how.random() * Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** how.retry));
}

function reasonOf(failure: ProviderError): string {
  return failure.status === undefined ? failure.kind : `${failure.kind} (${failure.status})`;
}

function withAttempts(error: ProviderError, attempts: number): ProviderError {
  if (error.attempts === attempts) return error;
  const { provider, kind, status, retryable, retryAfterMs, requestId, bodyExcerpt, cause = error } = error;
  const options = {
    provider,
    kind,
    status,
    retryable,
    retryAfterMs,
    requestId,
    bodyExcerpt,
    cause,
    attempts,
  };
  return new ProviderError(error.message, defined(options));
}
