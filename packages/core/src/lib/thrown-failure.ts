/** What a client throws that is no answer of the provider: a fault of ours, or of the network. */

import { OpenFunctionsError, ProviderError } from "./errors.ts";
import type { FailureReading } from "./http-failure.ts";

/**
 * Makes the error of anything thrown that has no HTTP status. A mistake no network makes is `protocol`, everything
 * else `timeout` or `network`. Keys are removed from the text, and the cause is not attached, since what an SDK
 * throws may hold the request's headers.
 */
export function providerErrorFromThrown(
  cause: unknown,
  { provider, redactor }: Pick<FailureReading, "provider" | "redactor">,
): ProviderError {
  if (cause instanceof ProviderError) return cause;
  const isTimeout = cause instanceof Error && cause.constructor.name.includes("Timeout");
  const kind = isMistake(cause) ? "protocol" : isTimeout ? "timeout" : "network";
  const said = redactor.redactText(rootMessage(cause)).slice(0, 300);
  return new ProviderError(`The request to ${provider} failed: ${said}`, { provider, kind });
}

/** A fault of the client, or of ours. Fetch fails with a TypeError that has a cause. */
function isMistake(cause: unknown): boolean {
  if (cause instanceof TypeError)
    return cause.cause === undefined && !/fetch|terminated|network/i.test(cause.message);
  const kinds = [SyntaxError, ReferenceError, RangeError];
  return OpenFunctionsError.is(cause) || kinds.some((kind) => cause instanceof kind);
}

/** "Connection error." says nothing; the innermost cause names the address or the socket error. */
function rootMessage(cause: unknown): string {
  let error = cause;
  for (let depth = 0; depth < 5 && error instanceof Error && error.cause instanceof Error; depth += 1)
    error = error.cause;
  return error instanceof Error ? error.message : "the client threw something that is not an error";
}
