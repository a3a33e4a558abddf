/** What adapters of OpenAI-shaped providers have in common: each adds its names, its quirks and its SDK. */

import type { AIAdapter, ModelEvent, ModelRequest, ReasoningEffort } from "./adapter.ts";
import { toChatBody } from "./chat-request.ts";
import type { ChatBodyOptions, ChatQuirks } from "./chat-request.ts";
import { createChatDecoder } from "./chat-stream.ts";
import { defineAdapter } from "./define-adapter.ts";
import { defined } from "./defined.ts";
import { ConfigError, type ProviderError } from "./errors.ts";
import { type FailureReading, failureReading } from "./http-failure.ts";
import type { JsonObject } from "./json.ts";
import { type ModelCall, type RequestLimits, sdkTimeoutMs, type StreamDecoder } from "./model-call.ts";
import { type ModelPrice, type ModelRole, type ReasoningLevels, UNKNOWN_ABILITIES } from "./model-policy.ts";
import type { Ports } from "./ports.ts";
import { capabilitiesOf, type ResolvedModel, resolveModel, unconfirmedModel } from "./resolve-model.ts";
import { requestWithRetry } from "./request-with-retry.ts";
import { type EncodedRequest, toResponsesBody } from "./responses-request.ts";
import { createResponsesDecoder, type DecoderOptions } from "./responses-stream.ts";
import { restoreArgumentsOf, type WireQuirks, type WireTarget } from "./wire-request.ts";
import { type BodyResponse, iterableSource, type WireSource, wireSource } from "./wire-source.ts";

/** A request that was sent: the parsed events, and (from the real SDK) the raw response, which is cheaper to read. */
export type SdkCall = PromiseLike<AsyncIterable<unknown>> & { asResponse?(): Promise<BodyResponse> };

/** How one request is sent. */
export interface SdkCallOptions {
  readonly signal: AbortSignal;
  readonly maxRetries: 0;
  /** Milliseconds; never reached, the adapter's own limits come first. */
  readonly timeout: number;
}

/** One endpoint of an SDK's client. */
export interface SdkEndpoint {
  create(body: object, options: SdkCallOptions): SdkCall;
}

/** What an SDK's client is made of; the names are those of ClientOptions in openai 7.59.0. */
export interface SdkClientOptions {
  readonly apiKey: string;
  readonly maxRetries: 0;
  readonly logLevel: "off";
  /** A redirect is a failure: fetch would take headers with keys along to wherever it leads. */
  readonly fetchOptions: { readonly redirect: "manual" };
  /** Null for the SDK's own. */
  readonly baseURL: string | null;
  readonly defaultHeaders?: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
}

/** Options that every such adapter takes. Each may be left out where the environment has a key. */
export interface SdkAdapterOptions {
  /** Default: `<PROVIDER>_MODEL`, then the policy table's model for `role`. */
  readonly model?: string;
  /** Default: the provider's, see its README. */
  readonly role?: ModelRole;
  /** Default: `<PROVIDER>_API_KEY`. */
  readonly apiKey?: string;
  /** Default: `<PROVIDER>_BASE_URL`, then the provider's own. */
  readonly baseUrl?: string;
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

/** The model a request is written for; its quirks are the codec's. */
export type ModelTarget = Omit<WireTarget, "quirks">;

/** How requests are written and replies are read. */
export interface WireCodec {
  /** Throws `ConfigError` (`unsupported`). */
  encode(request: ModelRequest, target: ModelTarget): EncodedRequest;
  /** A fresh decoder of one attempt's reply. */
  decoder(options: DecoderOptions, encoded: EncodedRequest): StreamDecoder;
}

/** The Responses API. */
export function responsesCodec(quirks: WireQuirks): WireCodec {
  return {
    encode: (request, target) => toResponsesBody(request, { ...target, quirks }),
    decoder: (options) => createResponsesDecoder(options),
  };
}

/** Chat completions. */
export function chatCodec(quirks: ChatQuirks, options: Omit<ChatBodyOptions, "target"> = {}): WireCodec {
  return {
    encode: (request, target) => toChatBody(request, { ...options, target: { ...target, quirks } }),
    decoder: (decoding, { body }) =>
      createChatDecoder({ ...decoding, inputChars: () => JSON.stringify(body).length }),
  };
}

/** What one call is made of, whatever sends it. */
export interface CodedCall {
  readonly target: ModelTarget;
  readonly price?: ModelPrice | undefined;
  readonly codec: WireCodec;
  readonly failures: FailureReading;
  /** Given before those of the request. */
  readonly warnings?: readonly ModelEvent[];
  /** Resolves at the response headers. */
  send(body: JsonObject, signal: AbortSignal): Promise<WireSource>;
  toError(cause: unknown, reading: FailureReading): ProviderError;
}

/** Writes a request and names how its reply is read. Throws `ConfigError` (`unsupported`). */
export function codedCall(request: ModelRequest, how: CodedCall): ModelCall {
  const { target, codec, failures } = how;
  const encoded = codec.encode(request, target);
  const decoding: DecoderOptions = {
    model: target.model,
    price: how.price,
    failures,
    restore: restoreArgumentsOf(encoded.plan),
  };
  return {
    provider: target.provider,
    warnings: [...(how.warnings ?? []), ...encoded.warnings],
    open: (signal) => how.send(encoded.body, signal),
    decoder: () => codec.decoder(decoding, encoded),
    toError: (cause) => how.toError(cause, failures),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A provider whose API the `openai` SDK speaks. */
export interface SdkProvider<Client> {
  /** Its id, in capitals the prefix of its variables. */
  readonly provider: string;
  /** Where `<PROVIDER>_API_KEY`, `_MODEL` and `_BASE_URL` are looked up: `process.env`. */
  readonly env: Environment;
  /** Its name, in messages. */
  readonly name: string;
  /** Where keys are made. */
  readonly keyPage: string;
  /** Default: the SDK's own. */
  readonly baseUrl?: string;
  /** The role where none is asked for. Default: the policy table's. */
  readonly role?: ModelRole;
  /** Efforts of models outside the policy table. Default "none": what is asked for is sent as it is. */
  readonly reasoning?: ReasoningLevels;
  readonly codec: WireCodec;
  /** Imports the SDK and makes its client, once, for the first request. */
  loadClient(options: SdkClientOptions): Promise<Client>;
  endpointOf(client: Client): SdkEndpoint;
  toError(cause: unknown, reading: FailureReading): ProviderError;
}

/**
 * Makes the adapter. The SDK's retries are off: retries, timeouts and aborts are the shared helper's. Stateless:
 * every request carries the whole history. Throws `ConfigError` (`missing_key`, `no_model`); its streams throw
 * `ProviderError`.
 */
export function createSdkAdapter<Client>(
  its: SdkProvider<Client>,
  options: SdkAdapterOptions & { readonly client?: Client },
): AIAdapter {
  const { provider, env } = its;
  const { limits, ports } = options;
  const prefix = provider.toUpperCase();
  const name = `${prefix}_API_KEY`;
  const apiKey = options.apiKey ?? env[name] ?? "";
  if (apiKey === "" && options.client === undefined) {
    throw new ConfigError(`There is no ${its.name} key: ${name} is not set and no \`apiKey\` was given.`, {
      code: "missing_key",
      hint: `Set ${name}, or pass \`apiKey\`. Keys are made at ${its.keyPage}.`,
    });
  }
  const role = options.role ?? its.role;
  const resolved = resolveModel({ provider, model: options.model, role, env });
  const target = modelTargetOf(resolved, its.reasoning);
  const failures = failureReading(provider, { apiKey, headers: options.headers, ports });
  // A variable that is set to nothing is not set: the SDK would take it for its own address, and send it this key.
  const baseURL = options.baseUrl ?? (env[`${prefix}_BASE_URL`] || its.baseUrl || null);
  const client = lazily(
    async () => options.client ?? its.loadClient(clientOptions(options, apiKey, baseURL)),
  );
  const timeout = sdkTimeoutMs(limits);
  const prepare = (asked: ModelRequest): ModelCall =>
    codedCall(asked.reasoning === undefined ? defined({ ...asked, reasoning: options.reasoning }) : asked, {
      target,
      price: resolved.row?.price,
      codec: its.codec,
      failures,
      warnings: unconfirmedModel(resolved),
      send: async (body, signal) =>
        sdkSource(its.endpointOf(await client()).create(body, { signal, maxRetries: 0, timeout })),
      toError: its.toError,
    });
  return defineAdapter({
    provider,
    model: resolved.model,
    capabilities: capabilitiesOf(resolved.row),
    stream: (request) => requestWithRetry(() => prepare(request), { signal: request.signal, limits, ports }),
  });
}

/** What a resolved model can do; `reasoning` for one outside the policy table. */
export function modelTargetOf(
  { provider, model, row }: ResolvedModel,
  reasoning: ReasoningLevels = "none",
): ModelTarget {
  return {
    provider,
    model,
    can: row?.can ?? UNKNOWN_ABILITIES,
    confirmed: row?.confirmed ?? false,
    reasoning: row?.reasoning ?? reasoning,
  };
}

/** What an SDK answered: the raw response where there is one, else the events it parsed. */
export async function sdkSource(call: SdkCall): Promise<WireSource> {
  return call.asResponse === undefined ? iterableSource(await call) : wireSource(await call.asResponse());
}

const NO_REDIRECT = { redirect: "manual" } as const;

/** Loads once, at the first call. */
export function lazily<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => (loading ??= load());
}

function clientOptions(options: SdkAdapterOptions, apiKey: string, baseURL: string | null): SdkClientOptions {
  return defined({
    apiKey,
    maxRetries: 0 as const,
    logLevel: "off" as const,
    fetchOptions: NO_REDIRECT,
    baseURL,
    defaultHeaders: options.headers,
    fetch: options.fetch ?? options.ports?.fetch,
  });
}
