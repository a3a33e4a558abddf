/** Asks the usual loopback ports which local model servers answer. Only when called. */

import { defined, isRecord, listAt, recordAt, stringAt } from "@openfunctions/core/wire";
import { LOCAL_SERVERS, type LocalServer } from "./quirks.ts";

interface Place {
  readonly server: LocalServer;
  readonly baseUrl: string;
}

/** A server that answered, with the ids of its models. */
export interface FoundServer extends Place {
  readonly models: readonly string[];
  /** The models that take tools; left out where the server does not say. */
  readonly toolModels?: readonly string[];
  /** False where the server is known to drop tools while it streams; then ask it with `stream: "without_tools"`. */
  readonly streamsTools: boolean;
}

/** Options of `probeLocal`. */
export interface ProbeOptions {
  /** For each question to a server, of which there are at most two in turn, in milliseconds. Default 300. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  /** Other addresses, for tests and unusual ports. */
  readonly servers?: readonly Place[];
}

const USUAL = (["ollama", "lmstudio", "llamacpp", "vllm"] as const).map((server) => ({
  server,
  baseUrl: LOCAL_SERVERS[server].baseUrl,
}));
const MAX_BYTES = 1024 * 1024;
const MAX_SHOWN = 100;

/** The servers that answer with a model list, in a fixed order. Never rejects. */
export async function probeLocal(options: ProbeOptions = {}): Promise<readonly FoundServer[]> {
  const found = await Promise.all((options.servers ?? USUAL).map((place) => probe(place, options)));
  return found.filter((server) => server !== undefined);
}

async function probe(place: Place, options: ProbeOptions): Promise<FoundServer | undefined> {
  const ask = askWithin(options);
  const models = listOf(await ask(`${place.baseUrl}/models`), "data").flatMap(idOf);
  if (models.length === 0) return undefined;
  const root = place.baseUrl.replace(/\/v1\/?$/, "");
  const [toolModels, version] = await Promise.all([
    TOOL_MODELS[place.server](root, { models, ask }),
    place.server === "ollama" ? ask(`${root}/api/version`) : Promise.resolve(undefined),
  ]);
  return { ...place, models, ...defined({ toolModels }), streamsTools: doesStreamTools(version) };
}

/** The body of an answer, or undefined where none came in time or it is no JSON. */
type Ask = (url: string, body?: object) => Promise<unknown>;

function askWithin({ fetch: transport = globalThis.fetch, timeoutMs = 300 }: ProbeOptions): Ask {
  return async (url, body) => {
    try {
      const post = body && { method: "POST", body: JSON.stringify(body) };
      const signal = AbortSignal.timeout(timeoutMs);
      const response = await transport(url, { ...post, signal, redirect: "error" });
      return response.ok ? JSON.parse(await textWithin(response)) : undefined;
    } catch {
      // Nothing listens there, or something that is no model server.
      return undefined;
    }
  };
}

/** The body as text; the empty one where it is too long, of which no more is read then. */
async function textWithin({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) return "";
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

interface Asked {
  readonly models: readonly string[];
  readonly ask: Ask;
}

type ToolModels = (root: string, asked: Asked) => Promise<readonly string[] | undefined>;

/**
 * Who says which models take tools: Ollama per model (docs.ollama.com, "Show model details": `capabilities`), LM Studio
 * in its own list (`capabilities.trained_for_tool_use`, lmstudio-bug-tracker #1659), llama.cpp of its template
 * (`chat_template_caps` of `/props`; it drops tools where the template knows none). vLLM does not say. 2026-12-01.
 */
const TOOL_MODELS: Readonly<Record<LocalServer, ToolModels>> = {
  ollama: async (root, { models, ask }) => {
    if (models.length > MAX_SHOWN) return undefined;
    const shown = await Promise.all(models.map((model) => ask(`${root}/api/show`, { model })));
    const says = shown.map((one) => listOf(one, "capabilities"));
    if (says.some((list) => list.length === 0)) return undefined;
    return models.filter((_, index) => says[index]?.includes("tools") === true);
  },
  lmstudio: async (root, { models, ask }) => {
    const able = listOf(await ask(`${root}/api/v1/models`), "models").map((model) =>
      isRecord(model) && recordAt(model, "capabilities")?.["trained_for_tool_use"] === true
        ? model["key"]
        : "",
    );
    return able.length === 0 ? undefined : models.filter((model) => able.includes(model));
  },
  llamacpp: async (root, { models, ask }) => {
    const props = await ask(`${root}/props`);
    const able = isRecord(props) ? recordAt(props, "chat_template_caps")?.["supports_tools"] : undefined;
    return typeof able === "boolean" ? models.filter(() => able) : undefined;
  },
  vllm: () => Promise.resolve(undefined),
  local: () => Promise.resolve(undefined),
};

/** Ollama streams calls since 0.8 (ollama.com/blog/streaming-tool, 2025-05-28). A version that is not said is a new one. */
function doesStreamTools(answer: unknown): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(isRecord(answer) ? stringAt(answer, "version") : "") ?? [];
  return major !== "0" || Number(minor) >= 8;
}

function listOf(answer: unknown, key: string): readonly unknown[] {
  return isRecord(answer) ? listAt(answer, key) : [];
}

/** What a terminal would act on is in the name of no model. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

function idOf(model: unknown): readonly string[] {
  const id = isRecord(model) ? model["id"] : undefined;
  return typeof id === "string" && id !== "" && !UNSEEN.test(id) ? [id] : [];
}
