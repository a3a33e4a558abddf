/** What a handler returned, as the JSON that caller, model and record all see. */

import { isErrorCode } from "./errors.ts";
import { type Json, isPlainObject, wellFormedJson } from "./json.ts";
import type { FailureResult, SuccessResult } from "./result.ts";

/** The normalised result with its JSON text, or why the value is no tool result. */
export type NormalizedResult =
  | { readonly ok: true; readonly result: SuccessResult<Json> | FailureResult; readonly text: string }
  | { readonly ok: false; readonly problem: string };

/** The largest result, in characters of JSON text. */
const MAX_RESULT_CHARS = 8 * 1024 * 1024;
/** JSON.stringify itself gives up not far below this. */
const MAX_DEPTH = 5_000;
/** Deeper data would not fit a record. */
const MAX_RESULT_DEPTH = 400;
const OWN_CODE = /^[a-z][a-z0-9_]{2,63}$/;

/** One JSON round trip (so `toJSON` runs once), then the shape check. `undefined` data becomes `null`. */
export function normalizeResult(value: unknown): NormalizedResult {
  if (typeof value !== "object" || value === null) {
    return fail(
      `returned ${value === null ? "null" : `a value of type ${typeof value}`} instead of ok(...) or err(...)`,
    );
  }
  const text = toText(value);
  if (typeof text !== "string") return fail(text.problem);
  if (text.length > MAX_RESULT_CHARS) return fail("returned more than 8 MiB");
  // JSON.stringify writes half a surrogate pair as an escape; it has no place in a record or a request.
  const parsed: Json = JSON.parse(text);
  if (isDeeper(parsed, MAX_RESULT_DEPTH)) return fail(`returned data over ${MAX_RESULT_DEPTH} levels deep`);
  const result: unknown = /\\ud[89a-f]/i.test(text) ? wellFormedJson(parsed) : parsed;
  if (!isPlainObject(result)) return fail("returned something other than an object");
  if (result["success"] === true) return success(result, text);
  if (result["success"] === false) return failure(result, text);
  return fail('returned an object whose "success" is not true or false; use ok(...) or err(...)');
}

function toText(value: object): string | { readonly problem: string } {
  try {
    const text = JSON.stringify(value);
    if (text === undefined) return { problem: "returned something that is not JSON" };
    // JSON.stringify writes NaN and Infinity as null without a word; a silent null is a wrong result.
    return text.includes("null") && holdsNonNumber(value, 0)
      ? { problem: "returned something that is not JSON (NaN or Infinity)" }
      : text;
  } catch (cause) {
    return {
      problem: `returned something that is not JSON (${cause instanceof Error ? firstLine(cause.message) : "it threw"})`,
    };
  }
}

/** True where a NaN or Infinity stands. What writes itself with `toJSON` is not looked into, so that it runs once. */
function holdsNonNumber(value: unknown, depth: number): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH || "toJSON" in value) return false;
  return Object.values(value).some((item) => holdsNonNumber(item, depth + 1));
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

function success(result: Record<string, unknown>, text: string): NormalizedResult {
  const { message } = result;
  if (message !== undefined && typeof message !== "string")
    return fail('returned a "message" that is not a string');
  const data = (result["data"] ?? null) as Json; // Proof: it came out of JSON.parse
  return {
    ok: true,
    result: message === undefined ? { success: true, data } : { success: true, data, message },
    text,
  };
}

function failure(result: Record<string, unknown>, text: string): NormalizedResult {
  const { error, message, code, retryable, outcome, details } = result;
  if (typeof error !== "string") return fail('returned a failure whose "error" is not a string');
  return {
    ok: true,
    text,
    result: {
      success: false,
      error,
      ...(typeof message === "string" ? { message } : {}),
      ...(typeof code === "string" && isHandlerCode(code) ? { code } : {}),
      ...(typeof retryable === "boolean" ? { retryable } : {}),
      ...(outcome === "not_started" || outcome === "failed" || outcome === "unknown" ? { outcome } : {}),
      ...(details === undefined ? {} : { details: details as Json }), // Proof: it came out of JSON.parse
    },
  };
}

/** A handler may use its own codes, and `conflict`; a code that is ours would claim something we did not see. */
function isHandlerCode(code: string): boolean {
  return code === "conflict" || (OWN_CODE.test(code) && !isErrorCode(code));
}

function fail(problem: string): NormalizedResult {
  return { ok: false, problem };
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? text;
}
