/** The provider boundary: messages in, a stream of events out, nothing provider-shaped. */

import type { JsonObject } from "./json.ts";
import type { Message, Part, ProviderPart } from "./message.ts";
import type { JsonSchemaObject } from "./schema.ts";

/** Why a reply ended. */
export type FinishReason =
  | "stop"
  | "tool_calls"
  | "length"
  | "content_filter"
  | "refusal"
  | "error"
  | "unknown";

/**
 * Tokens of one model call, all fields disjoint: `input` excludes cached tokens, `output` excludes reasoning,
 * and the five add up to `total`. `costUsd` is absent when unknown, never zero for unknown.
 */
export interface Usage {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  readonly total: number;
  readonly costUsd?: number;
  readonly estimated?: true;
}

/** What a stream may hold, in order of arrival. Exactly one `finish`, last. */
export type ModelEvent =
  | { readonly type: "start"; readonly responseId?: string; readonly model?: string }
  | { readonly type: "text_delta"; readonly text: string }
  | { readonly type: "reasoning_delta"; readonly text: string }
  | {
      readonly type: "tool_call_delta";
      readonly index: number;
      readonly callId?: string;
      readonly name?: string;
      readonly argsText: string;
    }
  | ({ readonly type: "tool_call"; readonly index: number } & ToolCall)
  | { readonly type: "part"; readonly part: ProviderPart }
  | { readonly type: "usage"; readonly usage: Usage }
  | { readonly type: "warning"; readonly code: string; readonly detail: string }
  | { readonly type: "retry"; readonly attempt: number; readonly reason: string; readonly delayMs: number }
  | { readonly type: "fallback"; readonly from: string; readonly to: string; readonly reason: string }
  | { readonly type: "reset"; readonly reason: string }
  | { readonly type: "finish"; readonly reason: FinishReason };

/** A finished tool call of a reply. `argsError` says why `argsText` is not a JSON object; then `args` is `{}`. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  readonly args: JsonObject;
  readonly argsText: string;
  readonly argsError?: string;
}

/** A tool as an adapter sees it: name, text and original JSON Schema. The adapter compiles its own dialect. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchemaObject;
  /** What people say and what then goes in; providers are not sent these, the offline adapter matches by them. */
  readonly examples?: readonly { readonly description: string; readonly input: JsonObject }[];
}

/** Which tools the model may or must call. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** How the answer's text is shaped. */
export type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_schema"; readonly name: string; readonly schema: JsonSchemaObject };

/** Reasoning effort, mapped by each adapter to the nearest level its model has. */
export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "max";

/** Sampling settings; what a model does not take is reported as a warning. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
}

/** One model call: the whole history, every time. */
export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly system?: string;
  readonly tools?: readonly ModelTool[];
  /** Default `auto`. */
  readonly toolChoice?: ToolChoice;
  /** Default true where the model can. */
  readonly parallelToolCalls?: boolean;
  readonly sampling?: Sampling;
  readonly reasoning?: ReasoningEffort;
  readonly maxOutputTokens?: number;
  readonly responseFormat?: ResponseFormat;
  readonly signal?: AbortSignal;
}

/** A whole reply, assembled from a stream by `collect()`. */
export interface ModelReply {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  /** The first call, or undefined. */
  readonly toolCall: ToolCall | undefined;
  /** Everything in arrival order, as it goes back into the history. */
  readonly parts: readonly Part[];
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  readonly reportedModel?: string;
  readonly responseId?: string;
  readonly warnings: readonly { readonly code: string; readonly detail: string }[];
}

/** What a model can do; the loop and structured output choose by it. */
export interface ModelCapabilities {
  readonly parallelCalls: boolean;
  readonly forcedChoice: boolean;
  readonly jsonSchema: boolean;
  readonly jsonSchemaWithTools: boolean;
  readonly images: boolean;
  /** True where the policy table states a price, so that a cost limit can be kept. */
  readonly priced: boolean;
}

/** One provider's model. Stateless: two runs may share one adapter. */
export interface AIAdapter {
  readonly provider: string;
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  /** The one method to implement. Throws `ProviderError`; an abort rejects with the signal's reason. */
  stream(request: ModelRequest): AsyncIterable<ModelEvent>;
  /** `collect(stream(request))`, so that streamed and whole replies cannot differ. */
  chat(request: ModelRequest): Promise<ModelReply>;
}

/** Usage of nothing. */
export const NO_USAGE: Usage = Object.freeze({
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
  total: 0,
});

/** The sum of two usages; the cost stays known only while every call with tokens has one. */
export function addUsage(left: Usage, right: Usage): Usage {
  const cost = sumCost(left, right);
  return {
    input: left.input + right.input,
    cacheRead: left.cacheRead + right.cacheRead,
    cacheWrite: left.cacheWrite + right.cacheWrite,
    output: left.output + right.output,
    reasoning: left.reasoning + right.reasoning,
    total: left.total + right.total,
    ...(cost === undefined ? {} : { costUsd: cost }),
    ...(left.estimated === true || right.estimated === true ? { estimated: true as const } : {}),
  };
}

function sumCost(left: Usage, right: Usage): number | undefined {
  const known = [left, right].filter((usage) => usage.total > 0 || usage.costUsd !== undefined);
  if (known.length === 0 || known.some((usage) => usage.costUsd === undefined)) return undefined;
  return known.reduce((sum, usage) => sum + (usage.costUsd ?? 0), 0);
}
