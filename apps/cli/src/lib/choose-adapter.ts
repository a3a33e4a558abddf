/** Which model answers: what was asked for, else a key, else a local server, else the offline adapter. */

import { createLocalAdapter, createOfflineAdapter, probeLocal } from "@openfunctions/adapter-local";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { type AIAdapter, ConfigError } from "@openfunctions/core";

/** What the caller wants; everything may be left out. */
export interface ModelWish {
  readonly provider?: string;
  readonly model?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

/** The adapter and, in words, why it. */
export interface ChosenModel {
  readonly adapter: AIAdapter;
  readonly reason: string;
}

/** The model a recorded run asked, unless another provider or model is wished for. */
export function wishLike(
  asked: { readonly provider: string; readonly requested: string } | undefined,
  { provider, model }: ModelWish,
): ModelWish {
  const same = provider === undefined && asked !== undefined && asked.provider !== "offline";
  const chosen = {
    provider: provider ?? asked?.provider,
    model: model ?? (same ? asked.requested : undefined),
  };
  return {
    ...(chosen.provider === undefined ? {} : { provider: chosen.provider }),
    ...(chosen.model === undefined ? {} : { model: chosen.model }),
  };
}

const LOCAL_IDS = ["ollama", "lmstudio", "llamacpp", "vllm", "local"];
const PROVIDERS = ["openai", ...LOCAL_IDS, "offline"];

/** Picks an adapter. Throws `ConfigError` for an unknown provider, a missing key, or a local server that does not answer. */
export async function chooseAdapter(wish: ModelWish = {}): Promise<ChosenModel> {
  const { provider, model, environment = process.env } = wish;
  const named = model === undefined ? {} : { model };
  if (provider === undefined) return chooseByWhatIsThere(named, environment);
  const id = provider.toLowerCase();
  if (id === "offline" && model !== undefined)
    throw new ConfigError("The offline adapter has no models; leave --model out.", {
      code: "invalid_config",
    });
  if (id === "offline") return { adapter: createOfflineAdapter(), reason: "you asked for it" };
  if (id === "openai") return { adapter: createOpenAIAdapter(named), reason: "you asked for it" };
  if (LOCAL_IDS.includes(id)) return chooseLocal(id, named, environment);
  throw new ConfigError(`There is no provider "${provider}".`, {
    code: "invalid_config",
    hint: `Use one of ${PROVIDERS.join(", ")}.`,
  });
}

async function chooseByWhatIsThere(
  named: { readonly model?: string },
  environment: NodeJS.ProcessEnv,
): Promise<ChosenModel> {
  if ((environment["OPENAI_API_KEY"] ?? "") !== "") {
    return { adapter: createOpenAIAdapter(named), reason: "OPENAI_API_KEY is set" };
  }
  const set = localByEnvironment(named, environment);
  if (set !== undefined) return set;
  const [server] = await probeLocal();
  const model = named.model ?? server?.models[0];
  if (server !== undefined && model !== undefined) {
    return {
      adapter: createLocalAdapter({ server: server.server, baseUrl: server.baseUrl, model }),
      reason: `${server.server} answers at ${server.baseUrl}`,
    };
  }
  return { adapter: createOfflineAdapter(), reason: "there is no key and no local model server" };
}

/** `LOCAL_BASE_URL` names a server that is nowhere else looked for; it needs a model from `LOCAL_MODEL` or the caller. */
function localByEnvironment(
  named: { readonly model?: string },
  environment: NodeJS.ProcessEnv,
): ChosenModel | undefined {
  const baseUrl = environment["LOCAL_BASE_URL"] ?? "";
  const model = named.model ?? environment["LOCAL_MODEL"] ?? "";
  if (baseUrl === "" || model === "") return undefined;
  return { adapter: createLocalAdapter({ baseUrl, model }), reason: "LOCAL_BASE_URL is set" };
}

async function chooseLocal(
  id: string,
  named: { readonly model?: string },
  environment: NodeJS.ProcessEnv,
): Promise<ChosenModel> {
  const set = localByEnvironment(named, environment);
  if (set !== undefined) return set;
  const server = (await probeLocal()).find((found) => id === "local" || found.server === id);
  const model = named.model ?? server?.models[0];
  if (server === undefined || model === undefined) {
    throw new ConfigError(`No local model server "${id}" answers with a model.`, {
      code: "no_model",
      hint: "Start it and load a model, or set LOCAL_BASE_URL and LOCAL_MODEL.",
    });
  }
  return {
    adapter: createLocalAdapter({ server: server.server, baseUrl: server.baseUrl, model }),
    reason: `${server.server} answers at ${server.baseUrl}`,
  };
}
