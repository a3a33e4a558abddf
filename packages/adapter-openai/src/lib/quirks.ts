/** What is particular to OpenAI's own servers, as data with sources. */

import type { ChatQuirks, WireQuirks } from "@openfunctions/core/wire";

/**
 * The Responses API. No limit on descriptions: the one of 1 024 characters was lifted (run-llama/llama_index
 * #18784, 2025-05). Sampling is refused while a model reasons (fixture
 * openai/reasoning-model-temperature-error.json) and taken with effort "none" (fixture
 * openai/test_openai_responses_gpt_5_6_reasoning_off_keeps_sampling_params). ResponseCreateParams of openai
 * 7.59.0 has neither `seed` nor `stop`. Ids of calls over 64 characters are refused (openclaw/openclaw #875,
 * archestra-ai/archestra #401). Checked 2026-11-30.
 */
export const OPENAI_RESPONSES: WireQuirks = {
  dialect: "openai-strict",
  samplingWithReasoning: false,
  seed: false,
  stop: false,
  maxIdChars: 64,
};

/**
 * Chat completions at api.openai.com. `max_tokens` is refused by reasoning models (fixture
 * openai/reasoning-model-legacy-parameter-error.json), ids of calls over 40 characters by some (microsoft/autogen #6377). Fields as in ChatCompletionCreateParams of openai 7.59.0.
 * Checked 2026-11-30.
 */
export const OPENAI_CHAT: ChatQuirks = {
  ...OPENAI_RESPONSES,
  seed: true,
  stop: true,
  maxIdChars: 40,
  maxTokensField: "max_completion_tokens",
  streamUsage: true,
  reasoningContent: false,
  strictField: true,
  parallelField: true,
};
