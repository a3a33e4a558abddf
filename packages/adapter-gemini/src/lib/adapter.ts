/** Gemini as an adapter: one request to generateContentStream per model call. */

import {
  type AIAdapter,
  ConfigError,
  defineAdapter,
  type ModelEvent,
  type ModelRequest,
  type Ports,
  type ReasoningEffort,
} from "@openfunctions/core";
import {
  capabilitiesOf,
  type FailureReading,
  failureReading,
  iterableSource,
  lazily,
  type ModelCall,
  type ModelRole,
  type RequestLimits,
  requestWithRetry,
  type ResolvedModel,
  resolveModel,
  restoreArgumentsOf,
  unconfirmedModel,
  wireSource,
  type WireSource,
  modelTargetOf,
} from "@openfunctions/core/wire";
import { createGeminiDecoder } from "./from-stream.ts";
import { ENDPOINT, GEMINI } from "./quirks.ts";
import { toGeminiError } from "./to-error.ts";
import { type GeminiRequest, toGeminiRequest } from "./to-tools.ts";

/** The config of one request: fields of GenerateContentConfig, and how it is sent. */
export interface GeminiConfig {
  readonly abortSignal: AbortSignal;
  /** The SDK continues no reply by itself. */
  readonly automaticContinuation: false;
  /** Given to the SDK that the adapter loads itself. */
  readonly httpOptions?: { fetch: typeof fetch };
}

/** The one argument of `generateContentStream`. `model` is encoded for a URL's path. */
export interface GeminiParams {
  readonly model: string;
  readonly contents: object[];
  readonly config: GeminiConfig;
}

/** The part of the `@google/genai` SDK's client that is called. */
export interface GeminiClient {
  readonly models: { generateContentStream(params: GeminiParams): Promise<AsyncIterable<unknown>> };
}

/** Options of `createGeminiAdapter`. Every one may be left out where the environment has a key. */
export interface GeminiAdapterOptions {
  /** Default: `GEMINI_MODEL`, then the policy table's model for `role`. */
  readonly model?: string;
  /** Default `instant`. */
  readonly role?: ModelRole;
  /** Default: `GEMINI_API_KEY`, then `GOOGLE_API_KEY`. */
  readonly apiKey?: string;
  /** Without the API version. Default: `GEMINI_BASE_URL`, then `GOOGLE_GEMINI_BASE_URL`, then Google. */
  readonly baseUrl?: string;
  /** Used in place of the SDK; then no key is needed, and `baseUrl`, `fetch` and `headers` are the client's own. */
  readonly client?: GeminiClient;
  /** Sends the SDK's requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Sent with every request, besides the SDK's. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: Partial<RequestLimits>;
  /** Effort where a request names none. Default: the model's own. */
  readonly reasoning?: ReasoningEffort;
  /** Clock and random source of the waits between attempts, and `fetch` where none is given above. */
  readonly ports?: Partial<Ports>;
}

/**
 * Makes an adapter for the Gemini API. The SDK is imported on the first request, with its retries and its
 * continuations off: retries, timeouts and aborts are the shared helper's. Throws `ConfigError` (`missing_key`,
 * `no_model`, `unsupported`); its streams throw `ProviderError`.
 */
export function createGeminiAdapter(options: GeminiAdapterOptions = {}): AIAdapter {
  const { env } = process;
  const apiKey = options.apiKey ?? (env["GEMINI_API_KEY"] || env["GOOGLE_API_KEY"] || "");
  checkOptions(options, apiKey);
  const { model, role } = options;
  const resolved = resolveModel({ provider: "gemini", model, role, env });
  const failures = failureReading(resolved.provider, { ...options, apiKey });
  const path = pathOf(resolved.model);
  const context: Context = {
    options,
    resolved,
    path,
    failures,
    client: lazily(() => loadClient(options, apiKey)),
  };
  return defineAdapter({
    provider: resolved.provider,
    model: resolved.model,
    capabilities: capabilitiesOf(resolved.row),
    stream: (request) => streamCall(request, context),
  });
}

interface Context {
  readonly options: GeminiAdapterOptions;
  readonly resolved: ResolvedModel;
  /** The model's name in the URL. */
  readonly path: string;
  readonly failures: FailureReading;
  readonly client: () => Promise<GeminiClient>;
}

function checkOptions({ client, baseUrl, fetch, headers }: GeminiAdapterOptions, apiKey: string): void {
  if (client !== undefined && (baseUrl ?? fetch ?? headers) !== undefined)
    refuse(
      "`client` was given together with `baseUrl`, `fetch` or `headers`, which are its own.",
      "Leave one out.",
    );
  if (client !== undefined || apiKey !== "") return;
  const message =
    "There is no Gemini key: neither GEMINI_API_KEY nor GOOGLE_API_KEY is set and no `apiKey` was given.";
  const hint = "Set one of them, or pass `apiKey`. Keys are made at https://aistudio.google.com/apikey.";
  throw new ConfigError(message, { code: "missing_key", hint });
}

function refuse(message: string, hint: string): never {
  throw new ConfigError(message, { code: "unsupported", hint });
}

/** The SDK puts the name into the path as it is (@google/genai 3.3.0, tModel and formatMap). */
function pathOf(model: string): string {
  if (model.includes("..") || model.split("/").some((segment) => /^\.?$/.test(segment)))
    refuse(`"${model}" cannot be the name of a Gemini model.`, "Pass a name such as the API lists it.");
  return model.split("/").map(encodeURIComponent).join("/");
}

/** One call. What the model wrote and no client can read is dropped and asked for once more (case field A25). */
async function* streamCall(request: ModelRequest, context: Context): AsyncGenerator<ModelEvent> {
  const { limits, ports, reasoning } = context.options;
  const asked = reasoning === undefined ? request : { reasoning, ...request };
  for (let isLast = false; ; isLast = true) {
    let malformed = false;
    const prepare = (): ModelCall => prepareCall(asked, context, () => void (malformed = true));
    try {
      yield* requestWithRetry(prepare, { signal: request.signal, limits, ports });
      return;
    } catch (cause) {
      if (!malformed || isLast || !(cause instanceof Error)) throw cause;
      yield { type: "reset", reason: cause.message };
    }
  }
}

function prepareCall(request: ModelRequest, context: Context, onMalformed: () => void): ModelCall {
  const { resolved, failures } = context;
  const { provider, model, row } = resolved;
  const encoded = toGeminiRequest(request, { ...modelTargetOf(resolved), quirks: GEMINI });
  const restore = restoreArgumentsOf(encoded.plan);
  return {
    provider,
    warnings: [...unconfirmedModel(resolved), ...encoded.warnings],
    open: (signal) => send(context, encoded, signal),
    decoder: () => createGeminiDecoder({ model, price: row?.price, failures, restore, onMalformed }),
    toError: (cause) => toGeminiError(cause, failures),
  };
}

/**
 * Sends one request. The SDK's errors have lost the headers and its reader takes a cut for an end, so the answer is
 * kept as fetch gave it: its body is read by core's own reader, and the SDK's stream is never begun.
 */
async function send(context: Context, encoded: GeminiRequest, signal: AbortSignal): Promise<WireSource> {
  const { options, path: model, failures } = context;
  const client = await context.client();
  const transport = options.fetch ?? options.ports?.fetch ?? globalThis.fetch;
  let response: Response | undefined;
  // A redirect is a failure: fetch would take the key along to wherever it leads.
  const kept: typeof fetch = async (input, init) =>
    (response = await transport(input, { ...init, redirect: "manual" }));
  const over = new AbortController();
  const config: GeminiConfig = {
    ...encoded.config,
    abortSignal: AbortSignal.any([signal, over.signal]),
    automaticContinuation: false,
    ...(options.client === undefined ? { httpOptions: { fetch: kept } } : {}),
  };
  try {
    const chunks = await client.models.generateContentStream({ model, contents: encoded.contents, config });
    if (response !== undefined) return wireSource(response);
    // A client's own stream lets go of the body without ending it (@google/genai 3.3.0, processStreamResponse).
    const source = iterableSource(chunks);
    const close = (): void => (source.close(), over.abort());
    return { read: source.read, finish: close, close };
  } catch (cause) {
    throw toGeminiError(cause, { ...failures, answer: response?.ok === false ? response : undefined });
  }
}

async function loadClient(options: GeminiAdapterOptions, apiKey: string): Promise<GeminiClient> {
  if (options.client !== undefined) return options.client;
  // The entry for browsers: it reads no environment, prints nothing about keys and loads none of Node's extras.
  const { GoogleGenAI } = await import("@google/genai/web");
  const { GEMINI_BASE_URL, GOOGLE_GEMINI_BASE_URL } = process.env;
  const baseUrl = options.baseUrl ?? (GEMINI_BASE_URL || GOOGLE_GEMINI_BASE_URL || ENDPOINT.baseUrl);
  const { apiVersion } = ENDPOINT;
  const headers = { ...options.headers };
  return new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl, apiVersion, headers } });
}
