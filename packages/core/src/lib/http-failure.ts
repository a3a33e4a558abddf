/** What a failed HTTP answer means: its kind, whether asking again may help, and when. */

import { defined } from "./defined.ts";
import { type ProviderErrorKind, ProviderError } from "./errors.ts";
import type { Ports } from "./ports.ts";
import { createRedactor, type Redactor } from "./redactor.ts";

/** The part of `Headers` that is read here. */
export interface HeaderReader {
  get(name: string): string | null;
}

/** An answer with an error status. `body` is its text, or the JSON a client parsed from it. */
export interface HttpFailure {
  readonly status: number;
  readonly headers?: HeaderReader | undefined;
  readonly body?: unknown;
}

/** How a provider's failures are read. */
export interface FailureReading {
  /** The provider's id, as in `ProviderError.provider`. */
  readonly provider: string;
  readonly redactor: Redactor;
  /** Milliseconds since 1970 when a failure is read, for a `Retry-After` date. */
  readonly now: () => number;
}

/** What an adapter was made with that its failures depend on. */
export interface ReadingOptions {
  readonly apiKey: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly ports?: Partial<Ports> | undefined;
}

const SECRET_HEADER = /auth|key|token|secret|password|cookie|credential/i;

/** How one adapter's failures are read: their texts lose the key, and what headers with the name of a secret hold. */
export function failureReading(
  provider: string,
  { apiKey, headers = {}, ports }: ReadingOptions,
): FailureReading {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    SECRET_HEADER.test(name) ? [value, value.replace(/^\S+\s+/, "")] : [],
  );
  const redactor = createRedactor({ secrets: [apiKey, ...values] });
  return { provider, redactor, now: () => ports?.clock?.now() ?? Date.now() };
}

const MAX_EXCERPT_CHARS = 2048;
const MAX_ID_CHARS = 200;
/** A secret cut in two is none to the redactor; this far behind the excerpt no redaction brings it forward. */
const MAX_READ_CHARS = 32 * MAX_EXCERPT_CHARS;
const FINAL_KINDS: readonly ProviderErrorKind[] = [
  "quota",
  "context_length",
  "content_filter",
  "auth",
  "permission",
];
const RETRYABLE_STATUSES: readonly number[] = [408, 409, 425, 429];
/**
 * Codes and types of error objects: ResponseError.code of openai 7.59.0, the recorded bodies under fixtures/openai and
 * openai-compatible, OpenAI's error code guide (2026-11), and ErrorType of @anthropic-ai/sdk 1.14.0.
 */
const CODES: readonly (readonly [ProviderErrorKind, string])[] = [
  [
    "overloaded",
    "server_error internal_error internal_server_error service_unavailable overloaded_error slow_down api_error",
  ],
  ["timeout", "timeout timeout_error"],
  ["rate_limit", "rate_limit_exceeded rate_limit_error"],
  ["quota", "insufficient_quota billing_hard_limit_reached billing_error"],
  ["context_length", "context_length_exceeded request_too_large"],
  ["auth", "invalid_api_key authentication_error"],
  ["permission", "permission_error"],
  ["not_found", "model_not_found not_found_error"],
  ["content_filter", "content_filter content_policy_violation image_content_policy_violation bio_policy"],
];
const CONTEXT_MESSAGE =
  /maximum (?:context|prompt) length|exceeds? the (?:model's )?(?:maximum )?context|exceed context limit|context (?:window|length|size)[^.]{0,40}exceed|prompt is too long/i;
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
  return failureOf(failure, reading);
}

/**
 * Makes the error of a failure the provider states inside a stream that began well. Without a code it is taken
 * as the provider's own trouble, which asking again may cure; an unknown code is taken as final.
 */
export function providerErrorFromEvent(error: unknown, reading: FailureReading): ProviderError {
  return failureOf({ body: error }, reading);
}

/** The error of a reply that ends before its end. */
export function cutError(provider: string): ProviderError {
  return new ProviderError(`The reply of ${provider} was cut before its end.`, { provider, kind: "network" });
}

function failureOf(
  failure: Partial<HttpFailure>,
  { provider, redactor, now }: FailureReading,
): ProviderError {
  const { body, headers } = failure;
  const { code, message } = errorFields(body);
  const isAnswer = failure.status !== undefined;
  const status = failure.status ?? (/^[45]\d\d$/.test(code) ? Number(code) : 0);
  const isTheirs = status >= 500 || (!isAnswer && code === "");
  const kind =
    CODES.find(([, codes]) => code !== "" && codes.split(" ").includes(code))?.[0] ??
    (CONTEXT_MESSAGE.test(message) ? "context_length" : undefined) ??
    KIND_BY_STATUS[status] ??
    (isTheirs ? "overloaded" : "invalid_request");
  const mayPass = RETRYABLE_STATUSES.includes(status) || status >= 500;
  const requestId = headers?.get("x-request-id") ?? headers?.get("request-id") ?? "";
  const said = redactor.redactText(message || code).slice(0, 300);
  const what = isAnswer ? `answered ${status}` : "ended the reply with an error";
  const options = defined({
    provider,
    kind,
    status: status || undefined,
    retryable: isAnswer ? mayPass && !FINAL_KINDS.includes(kind) : undefined,
    retryAfterMs: headers && readRetryAfterMs(headers, now()),
    requestId: redactor.redactText(requestId).slice(0, MAX_ID_CHARS) || undefined,
    bodyExcerpt: toExcerpt(body, redactor) || undefined,
  });
  return new ProviderError(`${provider} ${what}${said === "" ? "" : `: ${said}`}`, options);
}

/** The wait a server asks for, in milliseconds: `retry-after-ms`, else `retry-after` as seconds or a date. */
export function readRetryAfterMs(headers: HeaderReader, now: number): number | undefined {
  const ms = headers.get("retry-after-ms")?.trim();
  if (ms !== undefined && /^\d+(\.\d+)?$/.test(ms)) return Math.ceil(Number(ms));
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
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
  return redactor.redactText(text.slice(0, MAX_READ_CHARS)).slice(0, MAX_EXCERPT_CHARS);
}
