/** OpenAI as an adapter: one request to the Responses API (or chat completions) per model call. */

import {
  type AIAdapter,
  ConfigError,
  defineAdapter,
  type ModelRequest,
  type Ports,
  type ReasoningEffort,
} from "@openfunctions/core";
import {
  type BodyResponse,
  capabilitiesOf,
  createChatDecoder,
  createRedactor,
  createResponsesDecoder,
  type DecoderOptions,
  type FailureReading,
  iterableSource,
  type ModelCall,
  type ModelRole,
  type Redactor,
  REQUEST_LIMITS,
  type RequestLimits,
  requestWithRetry,
  type ResolvedModel,
  resolveModel,
  restorerOf,
  toChatBody,
  toResponsesBody,
  unconfirmedWarnings,
  type WireSource,
  wireSource,
  wireTargetOf,
} from "@openfunctions/core/wire";
import { OPENAI_CHAT, OPENAI_RESPONSES } from "./quirks.ts";
import { toOpenAIError } from "./to-error.ts";

/** A request that was sent: the parsed events, and (from the real SDK) the raw response, which is cheaper to read. */
export type OpenAICall = PromiseLike<AsyncIterable<unknown>> & { asResponse?(): Promise<BodyResponse> };

/** How one request is sent. */
export interface OpenAICallOptions {
  readonly signal: AbortSignal;
  readonly maxRetries: 0;
  /** Milliseconds; never reached, the adapter's own limits come first. */
  readonly timeout: number;
}

/** One endpoint of the SDK. */
export interface OpenAIEndpoint {
  create(body: object, options: OpenAICallOptions): OpenAICall;
}

/** The part of the `openai` SDK's client that is called: `responses`, or `chat.completions` by option. */
export interface OpenAIClient {
  readonly responses: OpenAIEndpoint;
  readonly chat: { readonly completions: OpenAIEndpoint };
}

/** Options of `createOpenAIAdapter`. Every one may be left out where the environment has a key. */
export interface OpenAIAdapterOptions {
  /** Default: `OPENAI_MODEL`, then the policy table's model for `role`. */
  readonly model?: string;
  /** Default `expert`. */
  readonly role?: ModelRole;
  /** Default: `OPENAI_API_KEY`. */
  readonly apiKey?: string;
  /** Default: `OPENAI_BASE_URL`, then the SDK's own. */
  readonly baseUrl?: string;
  /** Which API is spoken. Default `responses`. */
  readonly api?: "responses" | "chat";
  /** Used in place of the SDK; then no key is needed. */
  readonly client?: OpenAIClient;
  /** Handed to the SDK. Default: the SDK's own. */
  readonly fetch?: typeof fetch;
  /** Sent with every request, besides the SDK's. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: Partial<RequestLimits>;
  /** Effort where a request names none. Default: the model's own. "none" for a model that does not reason. */
  readonly reasoning?: ReasoningEffort;
  /** Clock and random source of the waits between attempts, and `fetch` where none is given above. */
  readonly ports?: Partial<Ports>;
}

const PROVIDER = "openai";

/**
 * Makes an adapter for OpenAI. The SDK is imported on the first request, with its retries off: retries,
 * timeouts and aborts are the shared helper's. Stateless: `store` is off and every request carries the whole
 * history. Throws `ConfigError` (`missing_key`, `no_model`); its streams throw `ProviderError`.
 */
export function createOpenAIAdapter(options: OpenAIAdapterOptions = {}): AIAdapter {
  const apiKey = options.apiKey ?? process.env["OPENAI_API_KEY"] ?? "";
  if (apiKey === "" && options.client === undefined) {
    throw new ConfigError("There is no OpenAI key: OPENAI_API_KEY is not set and no `apiKey` was given.", {
      code: "missing_key",
      hint: "Set OPENAI_API_KEY, or pass `apiKey`. Keys are made at https://platform.openai.com/api-keys.",
    });
  }
  const resolved = resolveModel({
    provider: PROVIDER,
    model: options.model,
    role: options.role,
    env: process.env,
  });
  const redactor = createRedactor({ secrets: [apiKey] });
  const context: Context = { options, resolved, redactor, client: lazyClient(options, apiKey) };
  const { limits, ports } = options;
  return defineAdapter({
    provider: PROVIDER,
    model: resolved.model,
    capabilities: capabilitiesOf(resolved.row),
    stream: (request) =>
      requestWithRetry(() => prepare(request, context), { signal: request.signal, limits, ports }),
  });
}

interface Context {
  readonly options: OpenAIAdapterOptions;
  readonly resolved: ResolvedModel;
  readonly redactor: Redactor;
  readonly client: () => Promise<OpenAIClient>;
}

function prepare(asked: ModelRequest, context: Context): ModelCall {
  const { options, resolved, redactor } = context;
  const request =
    options.reasoning === undefined || asked.reasoning !== undefined
      ? asked
      : { ...asked, reasoning: options.reasoning };
  const failures: FailureReading = {
    provider: PROVIDER,
    redactor,
    now: options.ports?.clock?.now() ?? Date.now(),
  };
  const isChat = options.api === "chat";
  const target = wireTargetOf(resolved, OPENAI_RESPONSES);
  const encoded = isChat
    ? toChatBody(request, { target: { ...target, quirks: OPENAI_CHAT } })
    : toResponsesBody(request, target);
  const decoding: DecoderOptions = {
    model: resolved.model,
    price: resolved.row?.price,
    failures,
    restore: restorerOf(encoded.plan),
  };
  const timeout = options.limits?.totalMs ?? REQUEST_LIMITS.totalMs;
  return {
    provider: PROVIDER,
    warnings: [...unconfirmedWarnings(resolved), ...encoded.warnings],
    open: async (signal) => send(await context.client(), { body: encoded.body, isChat, signal, timeout }),
    decoder: () =>
      isChat
        ? createChatDecoder({ ...decoding, inputChars: () => JSON.stringify(encoded.body).length })
        : createResponsesDecoder(decoding),
    toError: (cause) => toOpenAIError(cause, failures),
  };
}

interface Sending {
  readonly body: object;
  readonly isChat: boolean;
  readonly signal: AbortSignal;
  readonly timeout: number;
}

async function send(client: OpenAIClient, how: Sending): Promise<WireSource> {
  const endpoint = how.isChat ? client.chat.completions : client.responses;
  const call = endpoint.create(how.body, { signal: how.signal, maxRetries: 0, timeout: how.timeout });
  return call.asResponse === undefined ? iterableSource(await call) : wireSource(await call.asResponse());
}

function lazyClient(options: OpenAIAdapterOptions, apiKey: string): () => Promise<OpenAIClient> {
  let loading: Promise<OpenAIClient> | undefined;
  const load = async (): Promise<OpenAIClient> => {
    if (options.client !== undefined) return options.client;
    const { OpenAI } = await import("openai/client");
    const transport = options.fetch ?? options.ports?.fetch;
    return new OpenAI({
      apiKey,
      maxRetries: 0,
      logLevel: "off",
      baseURL: options.baseUrl ?? process.env["OPENAI_BASE_URL"] ?? null,
      ...(options.headers === undefined ? {} : { defaultHeaders: options.headers }),
      ...(transport === undefined ? {} : { fetch: transport }),
    });
  };
  return () => (loading ??= load());
}
