/** Asks the usual loopback ports which local model servers answer. Only when called. */

import { isPlainObject } from "@openfunctions/core";
import { LOCAL_SERVERS, type LocalServer } from "./quirks.ts";

/** A server that answered, with the ids of its models. */
export interface FoundServer {
  readonly server: LocalServer;
  readonly baseUrl: string;
  readonly models: readonly string[];
}

/** Options of `probeLocal`. */
export interface ProbeOptions {
  /** For each server, in milliseconds. Default 300. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  /** Other addresses, for tests and unusual ports. */
  readonly servers?: readonly { readonly server: LocalServer; readonly baseUrl: string }[];
}

const USUAL = (["ollama", "lmstudio", "llamacpp", "vllm"] as const).map((server) => ({
  server,
  baseUrl: LOCAL_SERVERS[server].baseUrl,
}));
const MAX_BYTES = 1024 * 1024;

/** The servers that answer with a model list, in a fixed order. Never rejects. */
export async function probeLocal(options: ProbeOptions = {}): Promise<readonly FoundServer[]> {
  const found = await Promise.all((options.servers ?? USUAL).map((place) => probe(place, options)));
  return found.filter((server) => server !== undefined);
}

async function probe(
  place: { readonly server: LocalServer; readonly baseUrl: string },
  options: ProbeOptions,
): Promise<FoundServer | undefined> {
  const { timeoutMs = 300, fetch: transport = globalThis.fetch } = options;
  try {
    const response = await transport(`${place.baseUrl}/models`, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: "error",
    });
    if (!response.ok) return undefined;
    const text = await response.text();
    const models = text.length > MAX_BYTES ? [] : readModels(JSON.parse(text));
    return models.length === 0 ? undefined : { ...place, models };
  } catch {
    // Nothing listens there, or something that is no model server.
    return undefined;
  }
}

function readModels(list: unknown): readonly string[] {
  if (!isPlainObject(list) || !Array.isArray(list["data"])) return [];
  return list["data"].flatMap((model: unknown) =>
    isPlainObject(model) && typeof model["id"] === "string" ? [model["id"]] : [],
  );
}
