/** Local servers as an adapter: one request per model call, through fetch. */

import {
  type AIAdapter,
  ConfigError,
  type ModelEvent,
  type ModelRequest,
  type Ports,
  defineAdapter,
} from "@openfunctions/core";
import {
  type ModelCall,
  type RequestLimits,
  type WireSource,
  UNKNOWN_ABILITIES,
  chatCodec,
  codedCall,
  defined,
  failureReading,
  requestWithRetry,
  wireSource,
} from "@openfunctions/core/wire";
import { LineReader } from "./line-reader.ts";
import { OLLAMA_ABILITIES, OLLAMA_EFFORTS, ollamaCodec, ollamaUrl } from "./ollama-wire.ts";
import { LOCAL_SERVERS, type LocalServer } from "./quirks.ts";
import { watchForTextCalls } from "./text-calls.ts";
import { HttpStatusFailure, toLocalError } from "./to-error.ts";

/** Options of `createLocalAdapter`. */
export interface LocalAdapterOptions {
  /** The model's id at the server. Default: `LOCAL_MODEL`. */
  readonly model?: string;
  /** Which server, for its address and quirks. Default `local`. */
  readonly server?: LocalServer;
  /** Up to and without `/chat/completions` or `/api/chat`. Default: `LOCAL_BASE_URL`, then the server's own address. */
  readonly baseUrl?: string;
  /** Default: `LOCAL_API_KEY`, then none. */
  readonly apiKey?: string;
  /**
   * False asks for one JSON body; "without_tools" does so where tools are offered and says so with the warning
   * `not_streamed`, for servers that drop tools while streaming (`probeLocal` tells which). Default true.
   */
  readonly stream?: boolean | "without_tools";
  /**
   * True makes a call of a reply that is nothing but the JSON of one, as small models write it; text that may be one is
   * then held back until it ends. Default false: it stays text, with the warning `call_as_text`.
   */
  readonly parseTextCalls?: boolean;
  /** Ollama: the context window to load the model with, in tokens. Default: the server's, often below the model's. */
  readonly contextTokens?: number;
  /** Ollama: how long the model stays loaded; seconds, or text as in "10m". Default: the server's. */
  readonly keepAlive?: number | string;
  readonly fetch?: typeof fetch;
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: Partial<RequestLimits>;
  readonly ports?: Partial<Ports>;
}

/**
 * Makes an adapter for Ollama (its native chat endpoint), LM Studio, llama.cpp, vLLM or any server that speaks chat
 * completions. Stateless; it never looks for servers by itself (`probeLocal` does, when called). Throws `ConfigError` (`no_model`,
 * `invalid_config`); its streams throw `ProviderError`.
 */
export function createLocalAdapter(options: LocalAdapterOptions = {}): AIAdapter {
  const { server = "local" } = options;
  if (!Object.hasOwn(LOCAL_SERVERS, server)) {
    throw new ConfigError(`There is no local server "${server}".`, {
      code: "invalid_config",
      hint: `Use one of ${Object.keys(LOCAL_SERVERS).join(", ")}; "local" is any other.`,
    });
  }
  const model = options.model ?? process.env["LOCAL_MODEL"] ?? "";
  const baseUrl = options.baseUrl ?? process.env["LOCAL_BASE_URL"] ?? LOCAL_SERVERS[server].baseUrl;
  if (model === "") {
    throw new ConfigError("No model was named for the local server.", {
      code: "no_model",
      hint: "Pass `model`, or set LOCAL_MODEL.",
    });
  }
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)) {
    throw new ConfigError(`The local server's address "${baseUrl}" is no http(s) URL.`, {
      code: "invalid_config",
      hint: `Pass \`baseUrl\` or set LOCAL_BASE_URL, as in ${LOCAL_SERVERS.ollama.baseUrl}.`,
    });
  }
  const isNative = server === "ollama";
  if (!isNative && (options.contextTokens ?? options.keepAlive) !== undefined) {
    throw new ConfigError(`\`contextTokens\` and \`keepAlive\` are Ollama's; the server is "${server}".`, {
      code: "invalid_config",
      hint: 'Leave them out, or pass `server: "ollama"`.',
    });
  }
  const apiKey = options.apiKey ?? process.env["LOCAL_API_KEY"] ?? "";
  const context: Context = {
    options,
    server,
    model,
    apiKey,
    isNative,
    url: isNative ? ollamaUrl(baseUrl) : `${baseUrl.replace(/\/+$/, "")}/chat/completions`,
  };
  const { limits, ports } = options;
  return defineAdapter({
    provider: server,
    model,
    capabilities: { ...(isNative ? OLLAMA_ABILITIES : UNKNOWN_ABILITIES), priced: false },
    stream: (request) =>
      requestWithRetry(() => prepare(request, context), { signal: request.signal, limits, ports }),
  });
}

const NOT_STREAMED: ModelEvent = {
  type: "warning",
  code: "not_streamed",
  detail: "The server drops tools while it streams, so the reply came in one piece.",
};

interface Context {
  readonly options: LocalAdapterOptions;
  readonly server: LocalServer;
  readonly model: string;
  readonly apiKey: string;
  /** Whether Ollama's own endpoint is spoken. */
  readonly isNative: boolean;
  readonly url: string;
}

function prepare(request: ModelRequest, context: Context): ModelCall {
  const { options, server: provider, model, apiKey, isNative } = context;
  const { quirks } = LOCAL_SERVERS[provider];
  const hasTools = request.tools !== undefined && request.tools.length > 0;
  const stream = options.stream === "without_tools" ? !hasTools : (options.stream ?? true);
  const { contextTokens, keepAlive } = options;
  const codec = isNative
    ? ollamaCodec(defined({ contextTokens, keepAlive, stream }))
    : chatCodec(quirks, { stream });
  const can = isNative ? OLLAMA_ABILITIES : UNKNOWN_ABILITIES;
  const reasoning = isNative ? OLLAMA_EFFORTS : "none";
  return codedCall(request, {
    target: { provider, model, can, confirmed: false, reasoning },
    codec: {
      encode: codec.encode,
      decoder: (decoding, encoded) =>
        watchForTextCalls(codec.decoder(decoding, encoded), {
          tools: encoded.plan.tools.map((tool) => tool.name),
          parse: options.parseTextCalls === true,
          restore: decoding.restore,
        }),
    },
    failures: failureReading(provider, { ...options, apiKey }),
    warnings: stream || options.stream === false ? [] : [NOT_STREAMED],
    send: (body, signal) => send(context, JSON.stringify(body), signal),
    toError: toLocalError,
  });
}

async function send(
  { options, apiKey, isNative, url }: Context,
  body: string,
  signal: AbortSignal,
): Promise<WireSource> {
  const transport = options.fetch ?? options.ports?.fetch ?? globalThis.fetch;
  const response = await transport(url, {
    method: "POST",
    headers: {
      ...options.headers,
      "content-type": "application/json",
      accept: "text/event-stream, application/json",
      ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body,
    signal,
    redirect: "manual", // fetch would take headers along to wherever a redirect leads.
  });
  if (!response.ok) throw new HttpStatusFailure(response.status, response.headers, await response.text());
  return wireSource(response, isNative ? new LineReader() : undefined);
}
