/** Any failure of the SDK or the network, as a ProviderError. */

import type { ProviderError } from "@openfunctions/core";
import { type FailureReading, providerErrorFromSdk } from "@openfunctions/core/wire";

/** OpenAI's failures have the codes and bodies that core reads (fixture openai/openai-error.1.json). */
export function toOpenAIError(cause: unknown, reading: FailureReading): ProviderError {
  return providerErrorFromSdk(cause, reading);
}
