/** What is particular to the Gemini API, as data with sources. Looked at 2026-11-30; the SDK is @google/genai 3.3.0. */

import type { FinishReason } from "@openfunctions/core";
import type { WireQuirks } from "@openfunctions/core/wire";

/** Where the SDK would go too (ApiClient), said here so that no variable of its own decides it. */
export const ENDPOINT = {
  baseUrl: "https://generativelanguage.googleapis.com",
  apiVersion: "v1beta",
} as const;

/** Fields as in GenerateContentConfig; schemas go through `parametersJsonSchema` and `responseJsonSchema`. */
export const GEMINI: WireQuirks = {
  dialect: "gemini-json",
  samplingWithReasoning: true,
  seed: true,
  stop: true,
};

/**
 * In place of the signature of a call that another model made. Models that think refuse a call without one (400); this
 * value is the documented way to bring such a history along (ai.google.dev/gemini-api/docs/thought-signatures, FAQ).
 * Sent only to models of the policy table that are confirmed to think.
 */
export const FOREIGN_CALL_SIGNATURE = "skip_thought_signature_validator";

/** Keys the API resolves inside a function response, and refuses (vercel/ai#14369, googleapis/python-genai#2792). */
export const REFERENCE_KEY: RegExp = /"\$(?:ref|defs)":/;

/** Keys that alone would be read as the output of a function response (FunctionResponse.response). */
export const OUTPUT_KEYS: readonly string[] = ["output", "error"];

const FILTERED =
  "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION ESCALATION PUP_LIMITED_DISABLED MODEL_ARMOR";

/**
 * FinishReason of the SDK. What is not listed is `unknown`. CONTINUATION is a limit as well: the SDK's own
 * continuation is off, since its further requests would be nobody's in retries, timeouts and cost.
 */
export const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  ...Object.fromEntries(FILTERED.split(" ").map((reason) => [reason, "content_filter" as const])),
};

/** Finish reasons that are failures: the model wrote what no client can use (case field A25), or we sent too little. */
export const FAILED_REASONS: Readonly<Record<string, "protocol" | "invalid_request">> = {
  MALFORMED_FUNCTION_CALL: "protocol",
  MALFORMED_RESPONSE: "protocol",
  UNEXPECTED_TOOL_CALL: "protocol",
  MISSING_THOUGHT_SIGNATURE: "invalid_request",
};

/**
 * Failures that Google tells apart by their text, as the code that says the same of an OpenAI-shaped body: a full
 * window (google-gemini/gemini-cli#4231), a bad key, answered 400 (google.rpc.ErrorInfo), and a quota of a day, which
 * no wait of seconds brings back (google.rpc.QuotaFailure).
 */
export const FAILURE_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/input token count[^"]{0,40}exceeds the maximum/i, "context_length_exceeded"],
  [/API_KEY_INVALID|API key not valid/i, "invalid_api_key"],
  [/PerDay|check your plan and billing/i, "insufficient_quota"],
];

/** Parts of tools that Google runs itself (Part), and the account of its search, which has no place in a request. */
export const PROVIDER_RUN: readonly string[] =
  "executableCode codeExecutionResult toolCall toolResponse groundingMetadata".split(" ");
