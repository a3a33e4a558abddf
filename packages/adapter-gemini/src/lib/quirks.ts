/** What is particular to the Gemini API, as data with sources. */

import type { FinishReason } from "@openfunctions/core";
import type { WireQuirks } from "@openfunctions/core/wire";

/** Where the SDK would go too, said here so that no variable of its own decides it (@google/genai 3.3.0, ApiClient). */
export const BASE_URL = "https://generativelanguage.googleapis.com";

/** The version with full JSON Schema fields and `thinkingConfig` (the SDK's own default). */
export const API_VERSION = "v1beta";

/**
 * Fields as in GenerateContentConfig of @google/genai 3.3.0. Parameters and answers go through the fields that take
 * JSON Schema (`parametersJsonSchema`, `responseJsonSchema`). Checked 2026-11-30.
 */
export const GEMINI: WireQuirks = {
  dialect: "gemini-json",
  samplingWithReasoning: true,
  seed: true,
  stop: true,
};

/**
 * Stands for the signature of a call that another model made. Models that think refuse a call of the current turn
 * without one (400); this value is the documented way to bring such a history along
 * (ai.google.dev/gemini-api/docs/thought-signatures, FAQ; looked at 2026-11-30). Sent only to models of the policy
 * table that are confirmed to think.
 */
export const FOREIGN_CALL_SIGNATURE = "skip_thought_signature_validator";

/** Keys the API resolves inside a function response, and refuses (vercel/ai#14369, python-genai#2792; 2026-07). */
export const REFERENCE_KEYS: readonly string[] = ["$ref", "$defs"];

/** Keys that make only a part of a function response its output (@google/genai 3.3.0, FunctionResponse.response). */
export const OUTPUT_KEYS: readonly string[] = ["output", "error"];

/**
 * FinishReason of @google/genai 3.3.0. What is not listed is `unknown`. CONTINUATION is a limit as well: the SDK's
 * own continuation is off, since its further requests would be nobody's in retries, timeouts and cost.
 */
export const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  LANGUAGE: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
  IMAGE_RECITATION: "content_filter",
  ESCALATION: "content_filter",
  PUP_LIMITED_DISABLED: "content_filter",
  MODEL_ARMOR: "content_filter",
};

/** Finish reasons that say the model wrote something no client can use: asked again once (case field A25). */
export const MALFORMED_REASONS: readonly string[] = [
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
];

/**
 * Failures that Google tells apart only by their text, as the code that says the same of an OpenAI-shaped body:
 * a full window (google-gemini/gemini-cli#4231, 2025-07), a bad key, answered 400 (reason API_KEY_INVALID), and a
 * quota of a day, which no wait of seconds brings back (quotaId of google.rpc.QuotaFailure). Checked 2026-11-30.
 */
export const FAILURE_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/input token count[^"]{0,40}exceeds the maximum/i, "context_length_exceeded"],
  [/API_KEY_INVALID|API key not valid/i, "invalid_api_key"],
  [/PerDay|check your plan and billing/i, "insufficient_quota"],
];
