/** Which model a name, a role or nothing at all means, and what is known about it. The only file that names models. */

import type { ModelCapabilities, ReasoningEffort, Usage } from "./adapter.ts";
import { defined } from "./defined.ts";
import { ConfigError } from "./errors.ts";

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
}

/** Reasoning levels in the provider's words, weakest first, and the one it uses when none is asked for. */
export type ReasoningLevels = "none" | { readonly levels: readonly string[]; readonly default: string };

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

/** The role where none is asked for, and of the providers that have another one. */
const DEFAULT_ROLE: ModelRole = "expert";
const DEFAULT_ROLES: Readonly<Record<string, ModelRole>> = {
  gemini: "instant",
};

/** What to resolve. `env` is where `<PROVIDER>_MODEL` is looked up; without it, nowhere. */
export interface ModelQuery {
  readonly provider: string;
  readonly model?: string | undefined;
  readonly role?: ModelRole | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The model a run uses and how it was chosen. `row` is absent for a model outside the table. */
export interface ResolvedModel {
  readonly provider: string;
  readonly role?: ModelRole;
  readonly model: string;
  /** The provider's default level, or "none". */
  readonly reasoning: string;
  readonly policyVersion: string;
  readonly resolvedBy: "explicit" | "environment" | "role" | "default";
  readonly row?: ModelPolicyRow;
}

/**
 * Chooses a model: an explicit `model` wins, then `<PROVIDER>_MODEL` from `env`, then the role, then the
 * provider's default role. Provider ids are case-insensitive; a role never changes the provider. Throws `ConfigError` (`no_model`) where nothing names one.
 */
export function resolveModel({ provider: named, model, role, env }: ModelQuery): ResolvedModel {
  const provider = named.toLowerCase();
  const variable = `${provider.toUpperCase()}_MODEL`;
  const fromEnv = env?.[variable];
  if (model) return resolved({ provider, role, model, resolvedBy: "explicit" });
  if (fromEnv) return resolved({ provider, role, model: fromEnv, resolvedBy: "environment" });
  const wanted = role ?? DEFAULT_ROLES[provider] ?? DEFAULT_ROLE;
  const row = MODEL_POLICY.find((known) => known.provider === provider && known.roles.includes(wanted));
  if (row === undefined) {
    throw new ConfigError(`No model is known for provider "${provider}" in the role "${wanted}".`, {
      code: "no_model",
      hint: `Pass \`model\`, or set ${variable}.`,
    });
  }
  const resolvedBy = role === undefined ? "default" : "role";
  return resolved({ provider, role: wanted, model: row.model, resolvedBy });
}

type Choice = Pick<ResolvedModel, "provider" | "model" | "resolvedBy"> & {
  readonly role: ModelRole | undefined;
};

function resolved(choice: Choice): ResolvedModel {
  const row = MODEL_POLICY.find(
    ({ provider, model }) => provider === choice.provider && model === choice.model,
  );
  const levels = row?.reasoning ?? "none";
  const reasoning = levels === "none" ? levels : levels.default;
  return defined({ ...choice, reasoning, policyVersion: POLICY_VERSION, row });
}

/** The capabilities an adapter shows, from the row or from what is assumed without one. */
export function capabilitiesOf(row: ModelPolicyRow | undefined): ModelCapabilities {
  const { forcedChoiceWithReasoning: _, ...can } = row?.can ?? UNKNOWN_ABILITIES;
  return { ...can, priced: row?.price !== undefined };
}

/** The cost of a usage in US dollars, or undefined where the price (or a part of it) is not known. */
export function costOf(usage: Usage, price: ModelPrice | undefined): number | undefined {
  if (price === undefined) return undefined;
  if (usage.cacheRead > 0 && price.cacheRead === undefined) return undefined;
  if (usage.cacheWrite > 0 && price.cacheWrite === undefined) return undefined;
  const long = price.longContext;
  const isLong = long !== undefined && usage.input + usage.cacheRead + usage.cacheWrite > long.overTokens;
  const inputs =
    usage.input * price.input +
    usage.cacheRead * (price.cacheRead ?? 0) +
    usage.cacheWrite * (price.cacheWrite ?? 0);
  const outputs = (usage.output + usage.reasoning) * price.output;
  return (
    (inputs * (isLong ? long.inputFactor : 1) + outputs * (isLong ? long.outputFactor : 1)) / price.perTokens
  );
}

// `xhigh` lies between high and max (openai 7.59.0, ReasoningEffort).
const EFFORTS: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** The level of a row that is nearest to what was asked; the weaker of two equally near ones. */
export function nearestLevel(asked: ReasoningEffort, levels: readonly string[]): string | undefined {
  const away = (level: string): number => Math.abs(EFFORTS.indexOf(level) - EFFORTS.indexOf(asked));
  return levels.toSorted((left, right) => away(left) - away(right))[0];
}
