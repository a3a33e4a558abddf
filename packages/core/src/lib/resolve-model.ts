/** Which model a name, a role or nothing at all means, and what follows from its row in the policy table. */

import type { ModelCapabilities, ModelEvent, ReasoningEffort, Usage } from "./adapter.ts";
import { defined } from "./defined.ts";
import { ConfigError } from "./errors.ts";
import {
  MODEL_POLICY,
  type ModelPolicyRow,
  type ModelPrice,
  type ModelRole,
  POLICY_VERSION,
  UNKNOWN_ABILITIES,
} from "./model-policy.ts";

/** The role where none is asked for, and of the providers that have another one. */
const DEFAULT_ROLE: ModelRole = "expert";
const DEFAULT_ROLES: Readonly<Record<string, ModelRole>> = { gemini: "instant", openrouter: "instant" };

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

/** The warning of a model whose figures nobody confirmed; nothing for any other. */
export function unconfirmedModel({ row, model, policyVersion }: ResolvedModel): readonly ModelEvent[] {
  if (row?.confirmed === true) return [];
  const why =
    row === undefined ? "is not in the policy table" : "has unconfirmed figures in the policy table";
  const detail = `"${model}" ${why} (${policyVersion}): no price, careful assumptions.`;
  return [{ type: "warning", code: "model_unconfirmed", detail }];
}

/** The capabilities an adapter shows, from the row or from what is assumed without one. */
export function capabilitiesOf(row: Pick<ModelPolicyRow, "can" | "price"> | undefined): ModelCapabilities {
  const { forcedChoiceWithReasoning: _, sampling: _sampling, ...can } = row?.can ?? UNKNOWN_ABILITIES;
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
