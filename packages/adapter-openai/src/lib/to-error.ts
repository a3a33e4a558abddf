/** Any failure of the SDK or the network, as a ProviderError. */

import { ProviderError } from "@openfunctions/core";
import {
  type FailureReading,
  type HeaderReader,
  providerErrorFromHttp,
  providerErrorFromThrown,
} from "@openfunctions/core/wire";

/**
 * Classifies what the SDK throws by its shape, since the SDK itself is loaded only on the first request
 * (openai 7.59.0, core/error.d.ts: `APIError` has `status`, `headers` and the parsed `error`; connection errors
 * have no status). Keys are removed from every text.
 */
export function toOpenAIError(cause: unknown, reading: FailureReading): ProviderError {
  const status: unknown = cause instanceof Error ? Reflect.get(cause, "status") : undefined;
  const isAnswer = cause instanceof Error && !(cause instanceof ProviderError) && typeof status === "number";
  if (!isAnswer) return providerErrorFromThrown(cause, reading);
  const headers: unknown = Reflect.get(cause, "headers");
  const body: unknown = Reflect.get(cause, "error") ?? cause.message;
  return providerErrorFromHttp({ status, body, headers: isHeaders(headers) ? headers : undefined }, reading);
}

function isHeaders(value: unknown): value is HeaderReader {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function";
}
