/** What is particular to OpenRouter, as data with sources. */

import type { ChatQuirks, ReasoningLevels } from "@openfunctions/core/wire";

/** openrouter.ai/docs/quickstart. Checked 2026-11-30. */
export const OPENROUTER_BASE_URL = "https://openrouter.ai/api/v1";

/**
 * Chat completions. Checked 2026-11-30.
 *
 * - `dialect`, `strictField`: one request may go to many vendors, so schemas travel as they are and without `strict`
 *   (fixture openrouter/test_openrouter_tool_calling: optional properties and a default, answered 200).
 * - `samplingWithReasoning`, `seed`, `stop`, `parallelField`: a provider is sent only the parameters it supports, the
 *   rest is ignored (openrouter.ai/docs, provider routing, `require_parameters`).
 * - `maxTokensField`: fixture openrouter/test_openrouter_stream_error, where `max_completion_tokens` cuts the reply.
 * - `streamUsage`: the counts come with every reply; `stream_options` has no effect (openrouter.ai/docs, usage accounting).
 * - `reasoningContent`: thinking goes back as `reasoning_details` (openrouter.ai/docs, reasoning tokens), see
 *   reasoning-details.ts.
 *
 * Usage has OpenAI's names, inclusive of cached and reasoning tokens, `cache_write_tokens`, and `cost`
 * (fixture openrouter/cache-test_openrouter_cache_instructions_e2e).
 */
export const OPENROUTER_CHAT: ChatQuirks = {
  dialect: "openai",
  samplingWithReasoning: true,
  seed: true,
  stop: true,
  maxTokensField: "max_completion_tokens",
  streamUsage: false,
  reasoningContent: false,
  strictField: false,
  parallelField: true,
};

/**
 * Efforts that OpenRouter takes for every model and translates (openrouter.ai/docs, ChatRequestReasoningEffort;
 * "none" in fixture openrouter/test_openrouter_thinking_false_supports_thinking_model). Checked 2026-11-30.
 */
export const OPENROUTER_EFFORTS: ReasoningLevels = {
  levels: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  default: "medium",
};
