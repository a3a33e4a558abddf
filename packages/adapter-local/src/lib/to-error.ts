/** Any failure of a local server or the way to it, as a ProviderError. */

import { ProviderError } from "@openfunctions/core";
import { type FailureReading, providerErrorFromHttp } from "@openfunctions/core/wire";

/** An answer with an error status, thrown by the adapter's own transport. */
export class HttpStatusFailure extends Error {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  constructor(status: number, headers: Headers, body: string) {
    super(`status ${status}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}

/** Classifies what the transport throws. Keys are removed from every text. */
export function toLocalError(cause: unknown, reading: FailureReading): ProviderError {
  if (cause instanceof ProviderError) return cause;
  if (cause instanceof HttpStatusFailure) {
    return providerErrorFromHttp(
      { status: cause.status, headers: cause.headers, body: parseBody(cause.body) },
      reading,
    );
  }
  const root = rootOf(cause);
  const said = reading.redactor.redactText(root).slice(0, 300);
  return new ProviderError(`The request to ${reading.provider} failed: ${said}`, {
    provider: reading.provider,
    kind: "network",
  });
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** "fetch failed" says nothing; the innermost cause names the address or the socket error. */
function rootOf(cause: unknown): string {
  let error = cause;
  while (error instanceof Error && error.cause instanceof Error) error = error.cause;
  return error instanceof Error ? error.message || error.name : String(error);
}
