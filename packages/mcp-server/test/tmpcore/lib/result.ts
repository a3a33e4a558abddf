/** Tool results: a success with data, or a failure that says what would work. */

import type { Json } from "./json.ts";
import type { ContentPart } from "./message.ts";

/** What is known of a call: it never ran, it worked, it failed, or nobody can tell. */
export type Outcome = "not_started" | "succeeded" | "failed" | "unknown";

/** A success. */
export interface SuccessResult<T> {
  readonly success: true;
  readonly data: T;
  readonly message?: string;
}

/** A failure. `code` is lower snake case; `details` is JSON. */
export interface FailureResult {
  readonly success: false;
  readonly error: string;
  readonly message?: string;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly outcome?: "not_started" | "failed" | "unknown";
  readonly details?: Json;
}

/** What a handler returns. */
export type ToolResult<T = unknown> = SuccessResult<T> | FailureResult;

interface CallFacts {
  readonly callId: string;
  readonly code?: string;
  readonly retryable: boolean;
  readonly replayed?: true;
}

/** What `registry.execute` returns: the result, and what is known of the call. */
export type CallResult<T = Json> =
  | (SuccessResult<T> & CallFacts & { readonly outcome: "succeeded" })
  | (FailureResult & CallFacts & { readonly outcome: "not_started" | "failed" | "unknown" });

/** How a call that did not succeed may stand. */
export type FailureOutcome = Exclude<Outcome, "succeeded">;

/** What `toModel` may return: the text or parts the model reads instead of the result. */
export type ModelContent = string | readonly ContentPart[];

/** A success: `ok(data)` is exactly `{ success: true, data }`. */
export function ok<T>(data: T, message?: string): SuccessResult<T> {
  return message === undefined ? { success: true, data } : { success: true, data, message };
}

/** A failure: `err("x")` is exactly `{ success: false, error: "x" }`. */
export function err(error: string, options: Omit<FailureResult, "success" | "error"> = {}): FailureResult {
  return { success: false, error, ...options };
}
