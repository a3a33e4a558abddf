/** What is particular to Anthropic's Messages API, as data with sources. Checked 2026-11-30. */

import type { FinishReason } from "@openfunctions/core";
import { type ModelPolicyRow, UNKNOWN_ABILITIES, type WireQuirks } from "@openfunctions/core/wire";

/**
 * MessageCreateParamsBase of @anthropic-ai/sdk 1.14.0 has `stop_sequences` and no seed. Sampling together with
 * thinking is refused (platform.claude.com/docs/en/build-with-claude/thinking).
 */
export const MESSAGES: WireQuirks = {
  dialect: "anthropic",
  samplingWithReasoning: false,
  seed: false,
  stop: true,
};

/**
 * What is assumed of a model outside the policy table: what every model of the SDK's list has, which begins with the
 * 4.5 generation. Forced choice together with thinking is refused (github.com/mastra-ai/mastra/issues/7507). Effort
 * levels: fixture anthropic/test_anthropic_explicit_effort_xhigh_unsupported_model_errors.
 */
export const UNLISTED: Pick<ModelPolicyRow, "can" | "reasoning" | "maxOutputTokens" | "confirmed" | "price"> =
  {
    maxOutputTokens: 32_000,
    can: {
      ...UNKNOWN_ABILITIES,
      parallelCalls: true,
      forcedChoiceWithReasoning: false,
      jsonSchema: true,
      jsonSchemaWithTools: true,
    },
    reasoning: { levels: ["none", "low", "medium", "high"], default: "none" },
    confirmed: false,
  };

/** Base64ImageSource.media_type of @anthropic-ai/sdk 1.14.0. */
export const IMAGE_TYPES: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** StopReason of @anthropic-ai/sdk 1.14.0; `pause_turn` is no end. */
export const STOP_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
};

/** Usage of @anthropic-ai/sdk 1.14.0: input without cached tokens, output with thinking (`thinking_tokens`). */
export const USAGE_FIELDS = {
  input: "input_tokens",
  cacheRead: "cache_read_input_tokens",
  cacheWrite: "cache_creation_input_tokens",
  written: "output_tokens",
  reasoning: "thinking_tokens",
} as const;

/** How often one model call goes on after a pause; a pause more is a reply that was cut. */
export const MAX_PAUSES = 8;

/** The `type` of an opaque part that is never sent: the result of a provider's call comes with the next reply. */
export const PENDING = "openfunctions.pending";
