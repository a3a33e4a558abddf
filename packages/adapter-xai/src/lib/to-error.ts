/** Any failure of xAI, the SDK or the network, as a ProviderError. */

import type { ProviderError } from "@openfunctions/core";
import { type FailureReading, providerErrorFromSdk } from "@openfunctions/core/wire";

/**
 * xAI answers a wrong key with 400 (docs.x.ai/developers/debugging, 2026-11-30; the body, whose text is the SDK's
 * `error`, in continuedev/continue #10778). That is a matter of the key, not of the request.
 */
export function toXaiError(cause: unknown, reading: FailureReading): ProviderError {
  return providerErrorFromSdk(cause, reading, (error) =>
    typeof error === "string" && /incorrect(?: |%20)api(?: |%20)key/i.test(error)
      ? { code: "invalid_api_key", message: error }
      : error,
  );
}
