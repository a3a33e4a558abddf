/** The providers an app can ask: their names, the variables of their keys, and how each package is loaded, alone. */

import type * as local from "@openfunctions/adapter-local";
import { type AIAdapter, ConfigError } from "@openfunctions/core";
import { resolveModel } from "@openfunctions/core/wire";

/** What an app gives every hosted provider's adapter; what is left out is the adapter's own choice. */
export interface HostedOptions {
  readonly apiKey: string;
  readonly model?: string;
  readonly baseUrl?: string;
}

/** What makes a hosted provider's adapter. */
export type CreateHosted = (options: HostedOptions) => AIAdapter;

/** A provider with a key. In capitals, its id is the prefix of `<ID>_MODEL` and `<ID>_BASE_URL`. */
export interface HostedProvider {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  /** The variables of its key; the first that is set counts. */
  readonly keys: readonly string[];
  readonly packageName: string;
  /** Imports its package and no other; `loadHosted` says what to do where it is missing. */
  load(): Promise<CreateHosted>;
}

/** The hosted providers, in the order in which their keys are looked for. */
export const HOSTED_PROVIDERS: readonly HostedProvider[] = [
  {
    id: "gemini",
    name: "Gemini",
    aliases: ["google"],
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    packageName: "@openfunctions/adapter-gemini",
    load: async () => (await import("@openfunctions/adapter-gemini")).createGeminiAdapter,
  },
  {
    id: "openai",
    name: "OpenAI",
    aliases: [],
    keys: ["OPENAI_API_KEY"],
    packageName: "@openfunctions/adapter-openai",
    load: async () => (await import("@openfunctions/adapter-openai")).createOpenAIAdapter,
  },
  {
    id: "anthropic",
    name: "Claude",
    aliases: ["claude"],
    keys: ["ANTHROPIC_API_KEY"],
    packageName: "@openfunctions/adapter-anthropic",
    load: async () => (await import("@openfunctions/adapter-anthropic")).createAnthropicAdapter,
  },
  {
    id: "openrouter",
    name: "OpenRouter",
    aliases: [],
    keys: ["OPENROUTER_API_KEY"],
    packageName: "@openfunctions/adapter-openrouter",
    load: async () => (await import("@openfunctions/adapter-openrouter")).createOpenRouterAdapter,
  },
  {
    id: "xai",
    name: "Grok",
    aliases: ["grok"],
    keys: ["XAI_API_KEY"],
    packageName: "@openfunctions/adapter-xai",
    load: async () => (await import("@openfunctions/adapter-xai")).createXaiAdapter,
  },
];

/** The ids of local servers; `local` is whichever answers, or the one that `LOCAL_BASE_URL` names. */
export const LOCAL_IDS: readonly local.LocalServer[] = ["ollama", "lmstudio", "llamacpp", "vllm", "local"];

/** The hosted provider of an id or alias in lower case. */
export function hostedProvider(id: string): HostedProvider | undefined {
  return HOSTED_PROVIDERS.find((provider) => provider.id === id || provider.aliases.includes(id));
}

/** Loads the provider's package. Throws `ConfigError` (`package_missing`). */
export function loadHosted({ packageName, load }: HostedProvider): Promise<CreateHosted> {
  return found(packageName, load);
}

/** Loads the package of local servers and the offline adapter. Throws `ConfigError` (`package_missing`). */
export function loadLocal(): Promise<typeof local> {
  return found("@openfunctions/adapter-local", () => import("@openfunctions/adapter-local"));
}

/** The variable that holds the provider's key; undefined where none is set. */
export function keyVariable({ keys }: HostedProvider, environment: NodeJS.ProcessEnv): string | undefined {
  return keys.find((name) => valueOf(environment, name) !== undefined);
}

/** The provider's adapter, with key, model and address as the environment says. Throws `ConfigError`. */
export async function makeHosted(
  provider: HostedProvider,
  { model, environment }: { readonly model: string | undefined; readonly environment: NodeJS.ProcessEnv },
): Promise<AIAdapter> {
  const create = await loadHosted(provider);
  const prefix = provider.id.toUpperCase();
  const named = model ?? valueOf(environment, `${prefix}_MODEL`);
  const baseUrl = valueOf(environment, `${prefix}_BASE_URL`);
  const variable = keyVariable(provider, environment);
  return create({
    apiKey: variable === undefined ? "" : (environment[variable] ?? ""),
    ...(named === undefined ? {} : { model: named }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
  });
}

/** The model the provider would be asked for, where none is named. */
export function modelOf({ id }: HostedProvider, environment: NodeJS.ProcessEnv): string {
  return resolveModel({ provider: id, env: environment }).model;
}

/** A variable's value; one that is set to nothing is not set. */
export function valueOf(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  return environment[name] || undefined;
}

async function found<Loaded>(name: string, importing: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await importing();
  } catch (cause) {
    // Something that is missing inside the package is another failure, and says so itself.
    const isMissing = cause instanceof Error && cause.message.startsWith(`Cannot find package '${name}'`);
    if (!isMissing) throw cause;
    throw new ConfigError(`The package "${name}" is not installed.`, {
      code: "package_missing",
      hint: `Install it: npm install ${name}`,
      cause,
    });
  }
}
