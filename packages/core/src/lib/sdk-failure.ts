/** What a vendor's SDK or the network throws, as a ProviderError; known by its shape, because SDKs are loaded late. */

import { OpenFunctionsError, ProviderError, type ProviderErrorKind } from "./errors.ts";
import { type FailureReading, type HeaderReader, providerErrorFromHttp } from "./http-failure.ts";

/**
 * Classifies an error of the `openai` or the `@anthropic-ai/sdk` package (7.59.0 and 1.14.0, core/error.d.ts:
 * `APIError` has `status`, `headers` and the parsed `error`; connection errors have no status). `toBody` turns a
 * provider's own error object into one with the codes core knows. Keys are removed from every text.
 */
export function providerErrorFromSdk(
  cause: unknown,
  reading: FailureReading,
  toBody: (error: unknown) => unknown = (error) => error,
): ProviderError {
  if (cause instanceof ProviderError) return cause;
  if (!(cause instanceof Error)) return failure("network", { cause, reading });
  const status: unknown = Reflect.get(cause, "status");
  if (typeof status === "number") {
    const headers: unknown = Reflect.get(cause, "headers");
    const body: unknown = toBody(Reflect.get(cause, "error") ?? cause.message);
    return providerErrorFromHttp(
      { status, body, headers: isHeaders(headers) ? headers : undefined },
      reading,
    );
  }
  if (OpenFunctionsError.is(cause) || isMistake(cause)) return failure("protocol", { cause, reading });
  return failure(cause.constructor.name.includes("Timeout") ? "timeout" : "network", { cause, reading });
}

/** An error no network gives: a fault of the client, or of ours. Fetch fails with a TypeError that has a cause. */
function isMistake(cause: Error): boolean {
  if (cause instanceof TypeError)
    return cause.cause === undefined && !/fetch|terminated|network/i.test(cause.message);
  return cause instanceof SyntaxError || cause instanceof ReferenceError || cause instanceof RangeError;
}

function failure(
  kind: ProviderErrorKind,
  how: { readonly cause: unknown; readonly reading: FailureReading },
): ProviderError {
  const { provider, redactor } = how.reading;
  const said = redactor.redactText(rootMessage(how.cause)).slice(0, 300);
  // The cause is not attached: an SDK error holds the request's headers, and with them the key.
  return new ProviderError(`The request to ${provider} failed: ${said}`, { provider, kind });
}

/** "Connection error." says nothing; the innermost cause names the address or the socket error. */
function rootMessage(cause: unknown): string {
  let error = cause;
  for (let depth = 0; depth < 5 && error instanceof Error && error.cause instanceof Error; depth += 1)
    error = error.cause;
  return error instanceof Error ? error.message : "the client threw something that is not an error";
}

function isHeaders(value: unknown): value is HeaderReader {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
