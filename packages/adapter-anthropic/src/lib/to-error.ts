/** Any failure of the SDK or the network, as a ProviderError. */

import type { ProviderError } from "@openfunctions/core";
import { type FailureReading, isRecord, providerErrorFromSdk } from "@openfunctions/core/wire";

/** Classifies what the `@anthropic-ai/sdk` throws. Its errors need no exceptions of their own. */
export function toAnthropicError(cause: unknown, reading: FailureReading): ProviderError {
  return providerErrorFromSdk(cause, reading);
}

/**
 * True where the API refuses thinking because something before it was changed since: 400 "Invalid `signature` in
 * `thinking` block. The block is bound to a different conversation."
 * (platform.claude.com/docs/en/build-with-claude/preserved-thinking, 2026-11-30).
 */
export function isStaleThinking(cause: unknown): boolean {
  if (!isRecord(cause) || cause["status"] !== 400) return false;
  return /Invalid `signature` in `thinking` block/.test(String(cause["message"]));
}
