/** Claude as an adapter: one request to the Messages API per model call, more where Claude pauses its turn. */

import {
  type AIAdapter,
  ConfigError,
  defineAdapter,
  type JsonObject,
  type ModelRequest,
  type Ports,
  type ReasoningEffort,
} from "@openfunctions/core";
import * as wire from "@openfunctions/core/wire";
import { MessagesDecoder } from "./from-stream.ts";
import { resumingSource } from "./paused-turn.ts";
import { MESSAGES, UNLISTED } from "./quirks.ts";
import { isStaleThinking, toAnthropicError } from "./to-error.ts";
import { type BodyOptions, toMessagesBody } from "./to-messages.ts";

/** The part of the `@anthropic-ai/sdk` client that is called. */
export interface AnthropicClient {
  readonly messages: wire.SdkEndpoint;
}

/** Options of `createAnthropicAdapter`. Every one may be left out where the environment has a key. */
export interface AnthropicAdapterOptions {
  /** Default: `ANTHROPIC_MODEL`, then the policy table's model for `role`. */
  readonly model?: string;
  /** Default `expert`. */
  readonly role?: wire.ModelRole;
  /** Default: `ANTHROPIC_API_KEY`. */
  readonly apiKey?: string;
  /** Without `/v1`. Default: `ANTHROPIC_BASE_URL`, then the SDK's own. */
  readonly baseUrl?: string;
  /** Used in place of the SDK; then no key is needed. */
  readonly client?: AnthropicClient;
  /** Handed to the SDK. Default: the SDK's own. */
  readonly fetch?: typeof fetch;
  /** Sent with every request, besides the SDK's. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly limits?: Partial<wire.RequestLimits>;
  /** Effort where a request names none. Default: the model's own. */
  readonly reasoning?: ReasoningEffort;
  /** Clock and random source of the waits between attempts, and `fetch` where none is given above. */
  readonly ports?: Partial<Ports>;
}

const PROVIDER = "anthropic";
const STALE = "Claude refused its own thinking, because the history before it has changed; all was left out.";

/**
 * Makes an adapter for Claude. The SDK is imported on the first request, with its retries off: retries, timeouts and
 * aborts are the shared helper's. Stateless: every request carries the whole history. Throws `ConfigError`
 * (`missing_key`, `no_model`); its streams throw `ProviderError`.
 */
export function createAnthropicAdapter(options: AnthropicAdapterOptions = {}): AIAdapter {
  const { limits, ports } = options;
  const apiKey = options.apiKey ?? process.env["ANTHROPIC_API_KEY"] ?? "";
  if (apiKey === "" && options.client === undefined) {
    throw new ConfigError(
      "There is no Anthropic key: ANTHROPIC_API_KEY is not set and no `apiKey` was given.",
      {
        code: "missing_key",
        hint: "Set ANTHROPIC_API_KEY, or pass `apiKey`. Keys are made at https://platform.claude.com/settings/keys.",
      },
    );
  }
  const { model, role } = options;
  const resolved = wire.resolveModel({ provider: PROVIDER, model, role, env: process.env });
  const row = resolved.row ?? UNLISTED;
  const failures = wire.failureReading(PROVIDER, { ...options, apiKey });
  const context: Context = {
    options,
    resolved,
    row,
    failures,
    client: wire.lazily(() => loadClient(options, apiKey)),
  };
  return defineAdapter({
    provider: PROVIDER,
    model: resolved.model,
    capabilities: wire.capabilitiesOf(row),
    stream: (request) =>
      wire.requestWithRetry(() => prepare(request, context), { signal: request.signal, limits, ports }),
  });
}

interface Context {
  readonly options: AnthropicAdapterOptions;
  readonly resolved: wire.ResolvedModel;
  readonly row: typeof UNLISTED;
  readonly failures: wire.FailureReading;
  readonly client: () => Promise<AnthropicClient>;
}

function prepare(asked: ModelRequest, { options, resolved, row, failures, client }: Context): wire.ModelCall {
  const reasoning = asked.reasoning ?? options.reasoning;
  const request = reasoning === undefined ? asked : { ...asked, reasoning };
  const { model } = resolved;
  const { can, confirmed, reasoning: levels, maxOutputTokens, price } = row;
  const target = { provider: PROVIDER, model, can, confirmed, reasoning: levels, quirks: MESSAGES };
  const write = (more: Partial<BodyOptions> = {}): wire.EncodedRequest =>
    toMessagesBody(request, { target, maxOutputTokens, ...more });
  const { body, plan, warnings } = write();
  const decoding = { model, price, failures, restore: wire.restoreArgumentsOf(plan) };
  const timeout = wire.sdkTimeoutMs(options.limits);
  let decoder = new MessagesDecoder(decoding);
  let withoutThinking = false;
  return {
    provider: PROVIDER,
    warnings: [...wire.unconfirmedModel(resolved), ...warnings],
    open: async (signal) => {
      const send = async (sent: JsonObject): Promise<wire.WireSource> =>
        wire.sdkSource((await client()).messages.create(sent, { signal, maxRetries: 0, timeout }));
      const first = await send(withoutThinking ? write({ withoutThinking }).body : body).catch(
        (cause: unknown) => {
          if (withoutThinking || !isStaleThinking(cause)) throw cause;
          withoutThinking = true;
          return send(write({ withoutThinking }).body);
        },
      );
      if (withoutThinking) decoder.warn("thinking_left_out", STALE);
      return resumingSource(first, () => {
        const turn = decoder.takePause();
        return turn && send(write({ withoutThinking, turn }).body);
      });
    },
    decoder: () => (decoder = new MessagesDecoder(decoding)),
    toError: (cause) => toAnthropicError(cause, failures),
  };
}

/** `messages.create` itself prints a warning for old models; packages print nothing, so its request is sent by `post`. */
async function loadClient(options: AnthropicAdapterOptions, apiKey: string): Promise<AnthropicClient> {
  if (options.client !== undefined) return options.client;
  const { Anthropic } = await import("@anthropic-ai/sdk/client");
  const transport = options.fetch ?? options.ports?.fetch;
  const sdk = new Anthropic({
    apiKey,
    maxRetries: 0,
    logLevel: "off",
    fetchOptions: { redirect: "manual" }, // fetch would take the key along to wherever a redirect leads.
    openTelemetry: false, // A run is told once, by its own log.
    baseURL: options.baseUrl ?? process.env["ANTHROPIC_BASE_URL"] ?? null,
    ...(options.headers === undefined ? {} : { defaultHeaders: options.headers }),
    ...(transport === undefined ? {} : { fetch: transport }),
  });
  return { messages: { create: (body, how) => sdk.post("/v1/messages", { body, stream: true, ...how }) } };
}
