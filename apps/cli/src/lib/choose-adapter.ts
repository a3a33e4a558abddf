/** Which model answers: what was asked for, else a key, else a local server, else the offline adapter. */

import type { FoundServer, LocalServer } from "@openfunctions/adapter-local";
import { type AIAdapter, ConfigError } from "@openfunctions/core";
import {
  HOSTED_PROVIDERS,
  LOCAL_IDS,
  hostedProvider,
  keyVariable,
  loadLocal,
  makeHosted,
  valueOf,
} from "./providers.ts";

/** What the caller wants; everything may be left out. */
export interface ModelWish {
  /** An id or alias, in any case. */
  readonly provider?: string;
  readonly model?: string;
  /** Where keys, models and addresses are looked up. Default: `process.env`. */
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

const ASKED = "you asked for it";

interface Choice {
  readonly model: string | undefined;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Picks an adapter, and loads the package of the one that is picked and no other. Without a provider it is the first
 * whose key is set, in the order of `HOSTED_PROVIDERS`; then `LOCAL_BASE_URL`; then a local server that answers; then
 * the offline adapter. Throws `ConfigError` for an unknown provider, a missing key or package, a model that nobody
 * could be asked for, or a local server that does not answer.
 */
export async function chooseAdapter(wish: ModelWish = {}): Promise<ChosenModel> {
  const { provider, model, environment = process.env } = wish;
  const choice = { model, environment };
  if (provider === undefined) return chooseByWhatIsThere(choice);
  const id = provider.toLowerCase();
  if (id === "offline") return chooseOffline(choice, ASKED);
  const hosted = hostedProvider(id);
  if (hosted !== undefined) return { adapter: await makeHosted(hosted, choice), reason: ASKED };
  const local = LOCAL_IDS.find((known) => known === id);
  if (local !== undefined) return chooseLocal(local, choice);
  throw new ConfigError(`There is no provider "${provider}".`, {
    code: "invalid_config",
    hint: `Use one of ${[...HOSTED_PROVIDERS.flatMap(namesOf), ...LOCAL_IDS, "offline"].join(", ")}.`,
  });
}

function namesOf({ id, aliases }: { readonly id: string; readonly aliases: readonly string[] }): string {
  return [id, ...aliases].join(" or ");
}

async function chooseByWhatIsThere(choice: Choice): Promise<ChosenModel> {
  for (const provider of HOSTED_PROVIDERS) {
    const variable = keyVariable(provider, choice.environment);
    if (variable !== undefined)
      return { adapter: await makeHosted(provider, choice), reason: `${variable} is set` };
  }
  return (
    (await localByEnvironment("local", choice)) ??
    (await localByProbe("local", choice)) ??
    chooseOffline(choice, "there is no key and no local model server")
  );
}

async function chooseOffline({ model }: Choice, reason: string): Promise<ChosenModel> {
  if (model !== undefined)
    throw new ConfigError(`The offline adapter would answer (${reason}), and it has no model "${model}".`, {
      code: "invalid_config",
      hint: "Leave --model out, or name a provider that has the model.",
    });
  const { createOfflineAdapter } = await loadLocal();
  return { adapter: createOfflineAdapter(), reason };
}

async function chooseLocal(server: LocalServer, choice: Choice): Promise<ChosenModel> {
  const local = (await localByEnvironment(server, choice)) ?? (await localByProbe(server, choice));
  if (local !== undefined) return local;
  throw new ConfigError(`No local model server "${server}" answers with a model.`, {
    code: "no_model",
    hint: "Start it and load a model, or set LOCAL_BASE_URL and LOCAL_MODEL.",
  });
}

/** `LOCAL_BASE_URL` names a server that is nowhere else looked for; without a model named, its first one is taken. */
async function localByEnvironment(server: LocalServer, choice: Choice): Promise<ChosenModel | undefined> {
  const baseUrl = valueOf(choice.environment, "LOCAL_BASE_URL");
  if (baseUrl === undefined) return undefined;
  const { probeLocal } = await loadLocal();
  const place = { server, baseUrl: baseUrl.replace(/\/+$/, "") };
  const named = namedModel(choice);
  const reason = "LOCAL_BASE_URL is set";
  if (named !== undefined) return makeLocal({ ...place, model: named }, { choice, reason });
  const [found] = await probeLocal({ servers: [place] });
  const model = found === undefined ? undefined : bestModel(found);
  if (found !== undefined && model !== undefined)
    return makeLocal({ ...place, model, ...streamingOf(found) }, { choice, reason });
  throw new ConfigError("LOCAL_BASE_URL is set, and no server there answers with a list of models.", {
    code: "no_model",
    hint: "Start the server, set LOCAL_MODEL, or leave LOCAL_BASE_URL out.",
  });
}

async function localByProbe(id: LocalServer, choice: Choice): Promise<ChosenModel | undefined> {
  const { probeLocal } = await loadLocal();
  const found = (await probeLocal()).find(({ server }) => id === "local" || server === id);
  if (found === undefined) return undefined;
  const model = namedModel(choice) ?? bestModel(found);
  if (model === undefined) return undefined;
  const { server, baseUrl } = found;
  const place = { server, baseUrl, model, ...streamingOf(found) };
  return makeLocal(place, { choice, reason: `${server} answers at ${baseUrl}` });
}

/** The first model that says it takes tools, else the first. */
function bestModel({ models, toolModels }: FoundServer): string | undefined {
  return toolModels?.[0] ?? models[0];
}

function streamingOf({ streamsTools }: FoundServer): { readonly stream?: "without_tools" } {
  return streamsTools ? {} : { stream: "without_tools" };
}

async function makeLocal(
  place: {
    readonly server: LocalServer;
    readonly baseUrl: string;
    readonly model: string;
    readonly stream?: "without_tools";
  },
  { choice, reason }: { readonly choice: Choice; readonly reason: string },
): Promise<ChosenModel> {
  const { createLocalAdapter } = await loadLocal();
  const apiKey = valueOf(choice.environment, "LOCAL_API_KEY") ?? "";
  return { adapter: createLocalAdapter({ ...place, apiKey }), reason };
}

function namedModel({ model, environment }: Choice): string | undefined {
  return model ?? valueOf(environment, "LOCAL_MODEL");
}
