/** Any failure of OpenRouter, a provider behind it, the SDK or the network, as a ProviderError. */

import { isPlainObject, type ProviderError } from "@openfunctions/core";
import { type FailureReading, providerErrorFromSdk } from "@openfunctions/core/wire";

/**
 * OpenRouter's errors are `{code, message, metadata}`, the code being the status (openrouter.ai/docs, errors and
 * debugging, 2026-11-30). The SDK keeps that object as `error`.
 */
export function toOpenRouterError(cause: unknown, reading: FailureReading): ProviderError {
  return providerErrorFromSdk(cause, reading, (error) => (isPlainObject(error) ? unwrapped(error) : error));
}

/**
 * The error with what the provider itself said, without which "Provider returned error" is all there is (fixture
 * openrouter/test_openrouter_errors_raised: `metadata.raw`), and a full context window could not be told. Input that
 * was flagged names its `reasons`; that is a content filter, though the code is 403.
 */
export function unwrapped(error: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const metadata = isPlainObject(error["metadata"]) ? error["metadata"] : {};
  const { raw, reasons, provider_name: upstream } = metadata;
  if (Array.isArray(reasons)) {
    return { code: "content_filter", message: `${String(error["message"])} (${reasons.join(", ")})` };
  }
  if (typeof raw !== "string" || raw === "") return error;
  const whose = typeof upstream === "string" ? `${upstream}: ` : "";
  return { code: error["code"], message: `${String(error["message"])} (${whose}${raw})` };
}
