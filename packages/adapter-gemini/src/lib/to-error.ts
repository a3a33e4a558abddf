/** Any failure of the SDK, the network or Google, as a ProviderError. */

import { ProviderError } from "@openfunctions/core";
import {
  type FailureReading,
  type HeaderReader,
  isRecord,
  listAt,
  providerErrorFromEvent,
  providerErrorFromHttp,
  providerErrorFromSdk,
  recordAt,
  stringAt,
  type WireRecord,
} from "@openfunctions/core/wire";
import { FAILURE_TEXTS } from "./quirks.ts";

/** How a failure is read, with what the SDK's own errors have lost of an answer with an error status. */
export interface GeminiFailureReading extends FailureReading {
  readonly answer?: { readonly status: number; readonly headers: HeaderReader } | undefined;
}

/**
 * Classifies what the SDK throws by its shape, since the SDK itself is loaded only on the first request
 * (@google/genai 3.3.0: `ApiError` has `status`, and the body as JSON in its message; a redirect and an error that is
 * no JSON though it says so have no status). Keys are removed from every text.
 */
export function toGeminiError(cause: unknown, reading: GeminiFailureReading): ProviderError {
  const { answer } = reading;
  const status: unknown =
    cause instanceof Error ? (Reflect.get(cause, "status") ?? answer?.status) : undefined;
  if (!(cause instanceof Error) || cause instanceof ProviderError || typeof status !== "number")
    return providerErrorFromSdk(cause, reading);
  const { body, seconds } = readBody(cause.message);
  const get = (name: string): string | null =>
    answer?.headers.get(name) ?? (name === "retry-after" ? seconds : null);
  return providerErrorFromHttp({ status, body, headers: { get } }, reading);
}

/** The failure that Google states inside a stream that began well. */
export function geminiErrorFromEvent(event: WireRecord, reading: FailureReading): ProviderError {
  return providerErrorFromEvent(readBody(JSON.stringify(event)).body, reading);
}

/** Google's error with a code of ours where its text says more, and the wait it states ("34s", google.rpc.RetryInfo). */
function readBody(text: string): { readonly body: unknown; readonly seconds: string | null } {
  const error = unwrap(text);
  const delays = listAt(error, "details").flatMap((detail) =>
    isRecord(detail) ? stringAt(detail, "retryDelay") : [],
  );
  const seconds = /^(\d+(?:\.\d+)?)s$/m.exec(delays.join("\n"))?.[1] ?? null;
  const [, code] = FAILURE_TEXTS.find(([pattern]) => pattern.test(text)) ?? [];
  return { body: error === undefined ? text : { error: { ...error, ...(code && { code }) } }, seconds };
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
