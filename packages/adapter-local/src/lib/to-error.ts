/** Any failure of a local server or the way to it, as a ProviderError. */

import type { ProviderError } from "@openfunctions/core";
import { type FailureReading, providerErrorFromSdk } from "@openfunctions/core/wire";

/** An answer with an error status, thrown by the adapter's own transport; in the shape of an SDK's error. */
export class HttpStatusFailure extends Error {
  readonly status: number;
  readonly headers: Headers;
  /** The body's text. */
  readonly error: string;
  constructor(status: number, headers: Headers, body: string) {
    super(`status ${status}`);
    this.status = status;
    this.headers = headers;
    this.error = body;
  }
}

/** Classifies what the transport throws. Keys are removed from every text. */
export function toLocalError(cause: unknown, reading: FailureReading): ProviderError {
  return providerErrorFromSdk(cause, reading);
}
