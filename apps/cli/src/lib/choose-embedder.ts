/** Which embedder a command was told to use; none is used unless one is named. */

import { ConfigError } from "@openfunctions/core";
import type { Embedder } from "@openfunctions/core/search";
import { isRecord, recordAt, stringAt } from "@openfunctions/core/wire";
import { createCompatibleEmbedder, createGeminiEmbedder, createOpenAIEmbedder } from "@openfunctions/rag";
import { hostedProvider, keyVariable, valueOf } from "./providers.ts";

const OLLAMA = "http://127.0.0.1:11434";
const PROBE_MS = 10_000;

/**
 * The embedder of a name. Keys are those of the providers; `OLLAMA_BASE_URL` moves the address of Ollama. Throws
 * `ConfigError` for a name that means none, a missing key, and a model that Ollama does not have.
 */
export async function chooseEmbedder(
  name: string | undefined,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Embedder | undefined> {
  if (name === undefined) return undefined;
  const [, provider = "", model] = /^([a-z]+)(?::(.+))?$/i.exec(name) ?? [];
  const named = model === undefined ? {} : { model };
  switch (provider.toLowerCase()) {
    case "openai": {
      const baseUrl = valueOf(environment, "OPENAI_BASE_URL");
      return createOpenAIEmbedder({
        apiKey: keyOf("openai", environment),
        ...named,
        ...(baseUrl ? { baseUrl } : {}),
      });
    }
    case "gemini": {
      const baseUrl = valueOf(environment, "GEMINI_BASE_URL");
      const place = baseUrl === undefined ? {} : { baseUrl: `${withoutSlash(baseUrl)}/v1beta` };
      return createGeminiEmbedder({ apiKey: keyOf("gemini", environment), ...named, ...place });
    }
    case "ollama":
      if (model !== undefined) return openOllama(model, valueOf(environment, "OLLAMA_BASE_URL") ?? OLLAMA);
  }
  throw new ConfigError(`"${name}" names no embedder.`, {
    code: "invalid_config",
    hint: "Use openai, gemini or ollama:<model>, such as openai:text-embedding-3-large.",
  });
}

function keyOf(id: string, environment: NodeJS.ProcessEnv): string {
  const provider = hostedProvider(id);
  const variable = provider && keyVariable(provider, environment);
  if (variable !== undefined) return environment[variable] ?? "";
  throw new ConfigError(`The embedder of "${id}" needs a key.`, {
    code: "missing_key",
    hint: `Set ${provider?.keys.join(" or ")}.`,
  });
}

/** Asks Ollama for the size of a model's vectors and of its context (its API: POST /api/show). */
async function openOllama(model: string, address: string): Promise<Embedder> {
  const root = withoutSlash(address).replace(/\/v1$/, "");
  const shown = await ask(`${root}/api/show`, model);
  const info = recordAt(shown, "model_info");
  const architecture = stringAt(info, "general.architecture");
  const dimensions = Number(info?.[`${architecture}.embedding_length`]);
  const context = Number(info?.[`${architecture}.context_length`]);
  const set = Number(/^num_ctx\s+(\d+)/m.exec(stringAt(shown, "parameters"))?.[1] ?? context);
  if (!Number.isInteger(dimensions) || !Number.isInteger(context))
    throw new ConfigError(`Ollama does not say what vectors "${model}" makes.`, {
      code: "invalid_config",
      hint: "Use a model that embeds, such as nomic-embed-text.",
    });
  return createCompatibleEmbedder({
    baseUrl: `${root}/v1`,
    model,
    dimensions,
    maxInputTokens: Math.min(context, set),
  });
}

async function ask(url: string, model: string) {
  const signal = AbortSignal.timeout(PROBE_MS);
  const response = await fetch(url, { method: "POST", body: JSON.stringify({ model }), signal }).catch(
    (cause: unknown) => {
      throw new ConfigError("Ollama does not answer.", {
        code: "invalid_config",
        hint: "Start it, or set OLLAMA_BASE_URL.",
        cause,
      });
    },
  );
  const shown: unknown = response.ok ? await response.json() : undefined;
  if (isRecord(shown)) return shown;
  throw new ConfigError(`Ollama has no model "${model}" (${response.status}).`, {
    code: "invalid_config",
    hint: `Get it: ollama pull ${model}`,
  });
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}
