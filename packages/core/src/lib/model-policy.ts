/** What is known about models, as data with its sources. The only file that names models. */

/** The day the table was last checked. Recorded with every run. */
export const POLICY_VERSION = "2026-11-30";

/** What a model is used for. */
export type ModelRole = "instant" | "expert" | "frontier" | "background";

/** A price per million tokens, with where it is stated. */
export interface ModelPrice {
  readonly input: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** Also the price of reasoning tokens. */
  readonly output: number;
  readonly currency: "USD";
  readonly perTokens: 1_000_000;
  /** Over so many input tokens (cached ones included) the whole request costs these multiples. */
  readonly longContext?: {
    readonly overTokens: number;
    readonly inputFactor: number;
    readonly outputFactor: number;
  };
  readonly source: string;
  readonly asOf: string;
}

/** What a model can do. False means: not asked of it, or resolved with a warning. */
export interface ModelAbilities {
  readonly parallelCalls: boolean;
  readonly forcedChoice: boolean;
  readonly forcedChoiceWithReasoning: boolean;
  readonly jsonSchema: boolean;
  readonly jsonSchemaWithTools: boolean;
  readonly images: boolean;
  /** False where temperature and top_p are refused, whether the model reasons or not. Default true. */
  readonly sampling?: boolean;
}

/**
 * Reasoning levels in the provider's words, weakest first, and the one it uses when none is asked for. `off` is the
 * provider's word for "none" where it is not the usual one.
 */
export type ReasoningLevels =
  | "none"
  | { readonly levels: readonly string[]; readonly default: string; readonly off?: string };

/** One model. A row without a source for its figures has no price and `confirmed: false`. */
export interface ModelPolicyRow {
  readonly provider: string;
  readonly model: string;
  readonly roles: readonly ModelRole[];
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly price?: ModelPrice;
  readonly can: ModelAbilities;
  readonly reasoning: ReasoningLevels;
  readonly source: string;
  readonly asOf: string;
  readonly confirmed: boolean;
}

// Stated for the API as a whole by the doc comments of ResponseCreateParams in openai 7.59.0 (tools, tool_choice,
// parallel_tool_calls, text.format, input_image), not per model.
const OPENAI_ABILITIES: ModelAbilities = {
  parallelCalls: true,
  forcedChoice: true,
  forcedChoiceWithReasoning: true,
  jsonSchema: true,
  jsonSchemaWithTools: true,
  images: true,
};

// "Not all reasoning models support every value" (openai 7.59.0, ReasoningEffort): the three every one has had.
const OPENAI_LEVELS: ReasoningLevels = { levels: ["low", "medium", "high"], default: "medium" };

const OPENAI_ROW = {
  provider: "openai",
  // Without a source for these two, the smallest window and answer that the family has had.
  contextTokens: 272_000,
  maxOutputTokens: 32_000,
  can: OPENAI_ABILITIES,
  reasoning: OPENAI_LEVELS,
  source: "openai 7.59.0 (npm), type ChatModel in resources/shared.d.ts",
  asOf: POLICY_VERSION,
  confirmed: false,
} as const;

const XAI_PRICE = {
  currency: "USD",
  perTokens: 1_000_000,
  longContext: { overTokens: 199_999, inputFactor: 2, outputFactor: 2 },
  source: "@pydantic/genai-prices 0.1.8 (npm), provider x-ai",
  asOf: POLICY_VERSION,
} as const;

const XAI_ROW = {
  provider: "xai",
  // What an answer is cut at where nothing is asked for (docs.x.ai, text best practices).
  maxOutputTokens: 128_000,
  // docs.x.ai, function calling and the model pages. A format together with tools is stated nowhere that was read.
  can: { ...OPENAI_ABILITIES, jsonSchemaWithTools: false },
  asOf: POLICY_VERSION,
  confirmed: true,
} as const;

// Stated for this generation as a whole: thinking is adaptive, sampling parameters answer 400, structured outputs go
// together with tools (platform.claude.com/docs/en: models/sonnet-5-5/whats-new-sonnet-5-5 and its two siblings,
// build-with-claude/structured-outputs). Forced choice answers 400 on Sonnet and Opus (the same pages).
const ANTHROPIC_ABILITIES: ModelAbilities = {
  parallelCalls: true,
  forcedChoice: false,
  forcedChoiceWithReasoning: false,
  jsonSchema: true,
  jsonSchemaWithTools: true,
  images: true,
  sampling: false,
};

const ANTHROPIC_ROW = {
  provider: "anthropic",
  contextTokens: 1_000_000,
  maxOutputTokens: 128_000,
  can: ANTHROPIC_ABILITIES,
  source:
    "@anthropic-ai/sdk 1.14.0 (npm), type Model in resources/messages/messages.d.ts; figures: the model's overview below platform.claude.com/docs/en/models",
  asOf: POLICY_VERSION,
  confirmed: true,
} as const;

const ANTHROPIC_PRICE = {
  currency: "USD",
  perTokens: 1_000_000,
  source: "the model's overview below platform.claude.com/docs/en/models",
  asOf: POLICY_VERSION,
} as const;

// OutputConfig.effort of @anthropic-ai/sdk 1.14.0.
const ANTHROPIC_EFFORTS: readonly string[] = ["low", "medium", "high", "xhigh", "max"];

// Stated for the API as a whole by the types of @google/genai 3.3.0 (FunctionCallingConfig, responseJsonSchema,
// inlineData), not per model. No source says that an answer's schema may be asked for together with tools.
const GEMINI_ROW = {
  provider: "gemini",
  contextTokens: 1_000_000,
  // Without a source, the smallest answer that the family has had.
  maxOutputTokens: 8_192,
  can: { ...OPENAI_ABILITIES, jsonSchemaWithTools: false },
  // ThinkingConfig: what every thinking model of the family has had.
  reasoning: { levels: ["low", "high"], default: "high" },
  source: "@google/genai 3.3.0 (npm), type Model_2 in dist/web/web.d.ts",
  asOf: POLICY_VERSION,
  confirmed: false,
} as const;

/** The table. First candidates per role; tiers of unconfirmed rows are a guess that a release must confirm. */
export const MODEL_POLICY: readonly ModelPolicyRow[] = [
  {
    ...OPENAI_ROW,
    model: "gpt-6-luna",
    roles: ["instant", "background"],
    contextTokens: 1_050_000,
    price: {
      input: 0.1,
      cacheRead: 0.01,
      cacheWrite: 0.125,
      output: 0.5,
      currency: "USD",
      perTokens: 1_000_000,
      longContext: { overTokens: 272_000, inputFactor: 2, outputFactor: 1.5 },
      source: "@pydantic/genai-prices 0.1.8 (npm), model gpt-6-luna",
      asOf: POLICY_VERSION,
    },
    source: `${OPENAI_ROW.source}; context and price: @pydantic/genai-prices 0.1.8 (npm)`,
    confirmed: true,
  },
  { ...OPENAI_ROW, model: "gpt-6.1-terra", roles: ["expert"] },
  { ...OPENAI_ROW, model: "gpt-6.2-astra", roles: ["frontier"] },
  {
    ...XAI_ROW,
    model: "grok-4.6",
    roles: ["expert", "frontier"],
    contextTokens: 500_000,
    price: { ...XAI_PRICE, input: 2, cacheRead: 0.5, output: 6 },
    reasoning: { levels: ["low", "medium", "high", "xhigh"], default: "high" },
    source: `docs.x.ai/developers/grok-4-6; ${XAI_PRICE.source}`,
  },
  {
    ...XAI_ROW,
    model: "grok-4.3",
    roles: ["instant", "background"],
    contextTokens: 1_000_000,
    price: { ...XAI_PRICE, input: 1.25, cacheRead: 0.2, output: 2.5 },
    reasoning: { levels: ["none", "low", "medium", "high", "xhigh"], default: "low" },
    source: `docs.x.ai/developers/models/grok-4.3-latest; ${XAI_PRICE.source}`,
  },
  {
    provider: "openrouter",
    model: "openai/gpt-6-luna",
    roles: ["instant", "background"],
    contextTokens: 1_050_000,
    maxOutputTokens: OPENAI_ROW.maxOutputTokens,
    price: {
      input: 0.1,
      cacheRead: 0.01,
      cacheWrite: 0.125,
      output: 0.5,
      currency: "USD",
      perTokens: 1_000_000,
      longContext: { overTokens: 272_000, inputFactor: 2, outputFactor: 1.5 },
      source: "@pydantic/genai-prices 0.1.8 (npm), provider openrouter",
      asOf: POLICY_VERSION,
    },
    can: OPENAI_ABILITIES,
    reasoning: {
      levels: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
      default: "medium",
    },
    source: "abilities as OpenAI's; efforts: openrouter.ai/docs, ChatRequestReasoningEffort; figures: price",
    asOf: POLICY_VERSION,
    confirmed: true,
  },
  {
    ...ANTHROPIC_ROW,
    model: "claude-haiku-5-5",
    roles: ["instant", "background"],
    price: {
      ...ANTHROPIC_PRICE,
      input: 0.1,
      cacheRead: 0.01,
      cacheWrite: 0.125,
      output: 0.5,
      longContext: { overTokens: 100_000, inputFactor: 5, outputFactor: 5 },
    },
    can: { ...ANTHROPIC_ABILITIES, forcedChoice: true },
    reasoning: { levels: ["none", ...ANTHROPIC_EFFORTS], default: "medium" },
  },
  {
    ...ANTHROPIC_ROW,
    model: "claude-sonnet-5-5",
    roles: ["expert"],
    price: { ...ANTHROPIC_PRICE, input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 },
    reasoning: { levels: ["none", ...ANTHROPIC_EFFORTS], default: "high", off: "between_tools" },
  },
  {
    ...ANTHROPIC_ROW,
    model: "claude-opus-5-5",
    roles: ["frontier"],
    // Thinking cannot be turned off. The same price stands in @pydantic/genai-prices 0.1.8 (npm).
    price: { ...ANTHROPIC_PRICE, input: 4, cacheRead: 0.2, cacheWrite: 5, output: 20 },
    reasoning: { levels: ANTHROPIC_EFFORTS, default: "medium" },
  },
  {
    ...GEMINI_ROW,
    model: "gemini-3.8-flash",
    roles: ["instant", "background"],
    price: {
      input: 0.75,
      cacheRead: 0.075,
      output: 3.75,
      currency: "USD",
      perTokens: 1_000_000,
      // The rates of an introduction until 2026-12-31; twice as much from 2027-01-01 (same source).
      source: "@pydantic/genai-prices 0.1.8 (npm), provider google, model gemini-3.8-flash",
      asOf: POLICY_VERSION,
    },
    reasoning: { levels: ["low", "medium", "high"], default: "medium" },
    source: `${GEMINI_ROW.source}; context and price: @pydantic/genai-prices 0.1.8 (npm); levels: docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-8-flash`,
    confirmed: true,
  },
  { ...GEMINI_ROW, model: "gemini-4-carbon", roles: ["expert"] },
  { ...GEMINI_ROW, model: "gemini-4-argon", roles: ["frontier"] },
];

/** What is assumed of a model that is not in the table: only what every model of such an API has. */
export const UNKNOWN_ABILITIES: ModelAbilities = Object.freeze({
  parallelCalls: false,
  forcedChoice: true,
  forcedChoiceWithReasoning: true,
  jsonSchema: false,
  jsonSchemaWithTools: false,
  images: true,
});
