/** Any failure of the SDK, the network or Google, as a ProviderError. */

import { OpenFunctionsError, ProviderError, type ProviderErrorKind } from "@openfunctions/core";
import {
  type FailureReading,
  type HeaderReader,
  isRecord,
  listAt,
  providerErrorFromEvent,
  providerErrorFromHttp,
  recordAt,
  stringAt,
  type WireRecord,
} from "@openfunctions/core/wire";
import { FAILURE_TEXTS } from "./quirks.ts";

/** How a failure is read. `headers` are those of the answer, which the SDK's own error has lost. */
export interface GeminiFailureReading extends FailureReading {
  readonly headers?: HeaderReader | undefined;
}

/**
 * Classifies what the SDK throws by its shape, since the SDK itself is loaded only on the first request
 * (@google/genai 3.3.0: `ApiError` has `status`, and the body as JSON in its message). Keys are removed from every text.
 */
export function toGeminiError(cause: unknown, reading: GeminiFailureReading): ProviderError {
  if (cause instanceof ProviderError) return cause;
  if (!(cause instanceof Error)) return failure("network", { cause, reading });
  const status: unknown = Reflect.get(cause, "status");
  if (typeof status === "number") {
    const { body, retryDelay } = readBody(cause.message);
    return providerErrorFromHttp({ status, body, headers: withDelay(reading.headers, retryDelay) }, reading);
  }
  if (OpenFunctionsError.is(cause) || isMistake(cause)) return failure("protocol", { cause, reading });
  return failure("network", { cause, reading });
}

/** The failure that Google states inside a stream that began well. */
export function geminiErrorFromEvent(event: WireRecord, reading: FailureReading): ProviderError {
  return providerErrorFromEvent(readBody(JSON.stringify(event)).body, reading);
}

/** Google's error object with a code of ours where its text says more than its status, and the wait it asks for. */
function readBody(text: string): { readonly body: unknown; readonly retryDelay: string } {
  const error = unwrap(text);
  const details = listAt(error, "details").filter(isRecord);
  const retryDelay =
    details.map((detail) => stringAt(detail, "retryDelay")).find((delay) => delay !== "") ?? "";
  if (error === undefined) return { body: text, retryDelay };
  const [, code] = FAILURE_TEXTS.find(([pattern]) => pattern.test(text)) ?? [];
  return { body: { error: { ...error, ...(code && { code }) } }, retryDelay };
}

/** An answer to a stream's request is not JSON to the SDK, which puts its whole text into a message of its own. */
function unwrap(text: string, depth: number = 0): WireRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\s*(data:|got status: [^{]*)/, ""));
  } catch {
    return undefined; // An error page, or words of the SDK.
  }
  const body: unknown = Array.isArray(value) ? value[0] : value;
  const error = isRecord(body) ? recordAt(body, "error") : undefined;
  return depth < 3 && error !== undefined ? (unwrap(stringAt(error, "message"), depth + 1) ?? error) : error;
}

/** Google states its wait in the body (google.rpc.RetryInfo, "34s"); a header wins. */
function withDelay(headers: HeaderReader | undefined, retryDelay: string): HeaderReader {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(retryDelay)?.[1] ?? null;
  return { get: (name) => headers?.get(name) ?? (name === "retry-after" ? seconds : null) };
}

/** An error no network gives: a fault of the client, or of ours. Fetch fails with a TypeError that has a cause. */
function isMistake(cause: Error): boolean {
  if (cause instanceof TypeError)
    return cause.cause === undefined && !/fetch|terminated|network/i.test(cause.message);
  return cause instanceof SyntaxError || cause instanceof ReferenceError || cause instanceof RangeError;
}

function failure(
  kind: ProviderErrorKind,
  { cause, reading }: { readonly cause: unknown; readonly reading: FailureReading },
): ProviderError {
  const { provider, redactor } = reading;
  const said = redactor.redactText(rootMessage(cause)).slice(0, 300);
  // The cause is not attached: it may hold the request, and with it the key.
  return new ProviderError(`The request to ${provider} failed: ${said}`, { provider, kind });
}

/** "fetch failed" says nothing; the innermost cause names the address or the socket error. */
function rootMessage(cause: unknown): string {
  let error = cause;
  for (let depth = 0; depth < 5 && error instanceof Error && error.cause instanceof Error; depth += 1)
    error = error.cause;
  return error instanceof Error ? error.message : "the client threw something that is not an error";
}
