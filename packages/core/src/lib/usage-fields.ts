/** OpenAI-shaped usage bodies become our disjoint five numbers. */

import { type ModelEvent, NO_USAGE, type Usage } from "./adapter.ts";
import type { ModelPrice } from "./model-policy.ts";
import { costOf } from "./resolve-model.ts";

/** Where a dialect keeps its counts, as dotted paths; the first path that holds a number is taken. */
export interface UsageFields {
  readonly input: readonly string[];
  readonly cacheRead: readonly string[];
  readonly cacheWrite: readonly string[];
  readonly output: readonly string[];
  readonly reasoning: readonly string[];
  readonly total: readonly string[];
}

/** Counts of the Responses API (openai 7.59.0, ResponseUsage): inclusive of cached and reasoning tokens. */
export const RESPONSES_USAGE: UsageFields = {
  input: ["input_tokens"],
  cacheRead: ["input_tokens_details.cached_tokens"],
  cacheWrite: ["input_tokens_details.cache_write_tokens"],
  output: ["output_tokens"],
  reasoning: ["output_tokens_details.reasoning_tokens"],
  total: ["total_tokens"],
};

/** Counts of chat completions (openai 7.59.0, CompletionUsage; `prompt_cache_hit_tokens` is DeepSeek's). */
export const CHAT_USAGE: UsageFields = {
  input: ["prompt_tokens"],
  cacheRead: ["prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"],
  cacheWrite: ["prompt_tokens_details.cache_write_tokens"],
  output: ["completion_tokens"],
  reasoning: ["completion_tokens_details.reasoning_tokens", "reasoning_tokens"],
  total: ["total_tokens"],
};

/**
 * Makes inclusive counts exclusive. Servers differ on whether output includes reasoning (OpenAI's does, xAI's
 * does not): where the stated total equals input + output + reasoning, they are taken as separate already.
 * Returns undefined for a body without counts.
 */
export function readUsage(body: unknown, fields: UsageFields): Usage | undefined {
  const at = (field: keyof UsageFields): number => numberAt(body, fields[field]) ?? 0;
  if (numberAt(body, fields.input) === undefined && numberAt(body, fields.output) === undefined)
    return undefined;
  const [all, written, reasoning] = [at("input"), at("output"), at("reasoning")];
  const cacheRead = Math.min(at("cacheRead"), all);
  const cacheWrite = Math.min(at("cacheWrite"), all - cacheRead);
  const isSeparate = reasoning > 0 && (at("total") === all + written + reasoning || reasoning > written);
  const output = isSeparate ? written : written - reasoning;
  return {
    input: all - cacheRead - cacheWrite,
    cacheRead,
    cacheWrite,
    output,
    reasoning,
    total: all + output + reasoning,
  };
}

/** A usage guessed from text lengths, about four characters a token, for servers that state none. */
export function estimateUsage(inputChars: number, outputChars: number): Usage {
  const input = Math.ceil(inputChars / 4);
  const output = Math.ceil(outputChars / 4);
  return { ...NO_USAGE, input, output, total: input + output, estimated: true };
}

/** Where providers state what a reply cost, and how much of it is a dollar. */
const STATED_COSTS: readonly (readonly [path: string, perUsd: number])[] = [
  ["cost", 1], // OpenRouter (openrouter/test_openrouter_stream_with_reasoning); a credit is a dollar.
  ["cost_in_usd_ticks", 1e10], // xAI (docs.x.ai/developers/cost-tracking, 2026-11-30; xai/xai-text.json).
];

/**
 * The event of a usage, with its cost: the provider's own figure in `body` first, else from the price, else none.
 */
export function usageEvent(usage: Usage, price: ModelPrice | undefined, body?: unknown): ModelEvent {
  const stated = STATED_COSTS.map(([path, perUsd]) => [numberAt(body, [path]), perUsd] as const);
  const [own, perUsd] = stated.find(([value]) => value !== undefined) ?? [];
  const costUsd = own === undefined ? costOf(usage, price) : own / (perUsd ?? 1);
  return { type: "usage", usage: costUsd === undefined ? usage : { ...usage, costUsd } };
}

function numberAt(body: unknown, paths: readonly string[]): number | undefined {
  for (const path of paths) {
    let value: unknown = body;
    for (const key of path.split("."))
      value = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  }
  return undefined;
}
