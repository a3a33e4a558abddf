/** What a failed HTTP answer means: its kind, whether asking again may help, and when. */

import { type ProviderErrorKind, type ProviderErrorOptions, ProviderError } from "./errors.ts";
import type { Redactor } from "./redactor.ts";

/** The part of `Headers` that is read here. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** An answer with an error status. `body` is its text, or the JSON a client parsed from it. */
export interface HttpFailure {
  readonly status: number;
  readonly headers?: HeaderReader | undefined;
  readonly body?: unknown;
  readonly cause?: unknown;
}

/** What a failure says of itself. `code` is its code or type, "" where it has none; `status` is 0 where unknown. */
export interface StatedFailure {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

/** How a provider's failures are read. */
export interface FailureReading {
  /** The provider's id, as in `ProviderError.provider`. */
  readonly provider: string;
  readonly redactor: Redactor;
  /** Names the kind where the provider's error code or message says more than the status. */
  readonly classify?: (failure: StatedFailure) => ProviderErrorKind | undefined;
  /** Milliseconds since 1970, for a `Retry-After` date. */
  readonly now: number;
}

const MAX_EXCERPT_CHARS = 2048;
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/**
 * Codes and types of OpenAI-shaped error objects: ResponseError.code of openai 7.59.0, the recorded bodies under
 * fixtures/openai and openai-compatible, and OpenAI's error code guide (2026-11).
 */
const KIND_BY_CODE: Readonly<Record<string, ProviderErrorKind>> = {
  server_error: "overloaded",
  internal_error: "overloaded",
  internal_server_error: "overloaded",
  service_unavailable: "overloaded",
  overloaded_error: "overloaded",
  slow_down: "overloaded",
  timeout: "timeout",
  rate_limit_exceeded: "rate_limit",
  rate_limit_error: "rate_limit",
  insufficient_quota: "quota",
  billing_hard_limit_reached: "quota",
  context_length_exceeded: "context_length",
  invalid_api_key: "auth",
  authentication_error: "auth",
  permission_error: "permission",
  model_not_found: "not_found",
  content_filter: "content_filter",
  content_policy_violation: "content_filter",
  image_content_policy_violation: "content_filter",
  bio_policy: "content_filter",
};
const CONTEXT_MESSAGE =
  /maximum context length|exceeds? the (?:model's )?(?:maximum )?context|context (?:window|length|size)[^.]{0,40}exceed|prompt is too long/i;
const KIND_BY_STATUS: Readonly<Record<number, ProviderErrorKind>> = {
  401: "auth",
  402: "quota",
  403: "permission",
  404: "not_found",
  408: "timeout",
  413: "context_length",
  425: "overloaded",
  429: "rate_limit",
  503: "overloaded",
  504: "timeout",
  529: "overloaded",
};

/**
 * Makes the error of a failed HTTP answer. 408, 409, 425, 429 and everything from 500 is retryable unless the
 * kind says that waiting will not help (quota, context length, ...). The body is redacted and cut to 2 KB.
 */
export function providerErrorFromHttp(failure: HttpFailure, reading: FailureReading): ProviderError {
  const { status, headers } = failure;
  const { code, message } = errorFields(failure.body);
  const byStatus = KIND_BY_STATUS[status] ?? (status >= 500 ? "overloaded" : "invalid_request");
  const kind = kindOf({ code, message, status }, reading) ?? byStatus;
  const retryAfterMs = headers === undefined ? undefined : readRetryAfterMs(headers, reading.now);
  const requestId = headers?.get("x-request-id") ?? headers?.get("request-id");
  const excerpt = toExcerpt(failure.body, reading.redactor);
  const said = reading.redactor.redactText(message === "" ? code : message).slice(0, 300);
  const options: ProviderErrorOptions = {
    provider: reading.provider,
    kind,
    status,
    retryable: (RETRYABLE_STATUSES.has(status) || status >= 500) && !isFinal(kind),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(typeof requestId === "string" ? { requestId } : {}),
    ...(excerpt === "" ? {} : { bodyExcerpt: excerpt }),
  };
  return new ProviderError(
    `${reading.provider} answered ${status}${said === "" ? "" : `: ${said}`}`,
    options,
  );
}

/**
 * Makes the error of a failure the provider states inside a stream that began well. Without a code it is taken
 * as the provider's own trouble, which asking again may cure; an unknown code is taken as final.
 */
export function providerErrorFromEvent(error: unknown, reading: FailureReading): ProviderError {
  const { code, message } = errorFields(error);
  const numeric = Number(code);
  const status = Number.isInteger(numeric) && numeric >= 400 && numeric < 600 ? numeric : 0;
  const byStatus =
    KIND_BY_STATUS[status] ?? (status >= 500 || code === "" ? "overloaded" : "invalid_request");
  const kind = kindOf({ code, message, status }, reading) ?? byStatus;
  const said = reading.redactor.redactText(message === "" ? code : message).slice(0, 300);
  const excerpt = toExcerpt(error, reading.redactor);
  return new ProviderError(
    `${reading.provider} ended the reply with an error${said === "" ? "" : `: ${said}`}`,
    {
      provider: reading.provider,
      kind,
      ...(status === 0 ? {} : { status }),
      ...(excerpt === "" ? {} : { bodyExcerpt: excerpt }),
    },
  );
}

/** The wait a server asks for, in milliseconds: `retry-after-ms`, else `retry-after` as seconds or a date. */
export function readRetryAfterMs(headers: HeaderReader, now: number): number | undefined {
  const ms = headers.get("retry-after-ms")?.trim();
  if (ms !== undefined && /^\d+(\.\d+)?$/.test(ms)) return Math.ceil(Number(ms));
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function kindOf(failure: StatedFailure, reading: FailureReading): ProviderErrorKind | undefined {
  const stated = reading.classify?.(failure) ?? KIND_BY_CODE[failure.code];
  if (stated !== undefined) return stated;
  return CONTEXT_MESSAGE.test(failure.message) ? "context_length" : undefined;
}

function isFinal(kind: ProviderErrorKind): boolean {
  return (
    kind === "quota" ||
    kind === "context_length" ||
    kind === "content_filter" ||
    kind === "auth" ||
    kind === "permission"
  );
}

/** Finds code and message in the error shapes seen: `{error:{code,type,message}}`, `{error:"..."}`, flat, text. */
function errorFields(body: unknown): { readonly code: string; readonly message: string } {
  const value = typeof body === "string" ? parse(body) : body;
  if (typeof value === "string") return { code: "", message: value };
  if (typeof value !== "object" || value === null) return { code: "", message: "" };
  if ("error" in value && value.error !== null && value.error !== undefined) return errorFields(value.error);
  const code = textField(value, "code") || textField(value, "type");
  return { code, message: textField(value, "message") };
}

function textField(value: object, name: string): string {
  const field: unknown = Reflect.get(value, name);
  return typeof field === "string" || typeof field === "number" ? String(field) : "";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // An error page in plain text or HTML.
  }
}

function toExcerpt(body: unknown, redactor: Redactor): string {
  if (body === undefined || body === null) return "";
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
  return redactor.redactText(text.slice(0, MAX_EXCERPT_CHARS * 2)).slice(0, MAX_EXCERPT_CHARS);
}
