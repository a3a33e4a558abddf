/** Any failure of the SDK or the network, as a ProviderError. */

import type { ProviderError } from "@openfunctions/core";
import { type FailureReading, providerErrorFromSdk } from "@openfunctions/core/wire";

/** Classifies what the `openai` SDK throws. Its errors need no exceptions of their own. */
export function toOpenAIError(cause: unknown, reading: FailureReading): ProviderError {
  return providerErrorFromSdk(cause, reading);
}
