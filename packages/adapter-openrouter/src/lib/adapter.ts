/** OpenRouter as an adapter: one chat completions request per model call. */

import type { AIAdapter } from "@openfunctions/core";
import {
  chatCodec,
  createSdkAdapter,
  type SdkAdapterOptions,
  type SdkEndpoint,
  type WireCodec,
} from "@openfunctions/core/wire";
import { OPENROUTER_BASE_URL, OPENROUTER_CHAT, OPENROUTER_EFFORTS } from "./quirks.ts";
import { toReasoningFields } from "./reasoning-details.ts";
import { RoutedDecoder } from "./routed-decoder.ts";
import { type OpenRouterRouting, toRoutedBody } from "./routing.ts";
import { toOpenRouterError } from "./to-error.ts";

/** The part of the `openai` SDK's client that is called. */
export interface OpenRouterClient {
  readonly chat: { readonly completions: SdkEndpoint };
}

/** Options of `createOpenRouterAdapter`. The role is `instant` where none is given. */
export interface OpenRouterAdapterOptions extends SdkAdapterOptions {
  /** Which providers may answer, and which models when the first one cannot. */
  readonly routing?: OpenRouterRouting;
  /** Used in place of the SDK; then no key is needed. */
  readonly client?: OpenRouterClient;
}

/**
 * Makes an adapter for OpenRouter. The SDK is imported on the first request. Every request carries the whole
 * history, and the reasoning details of a turn go back untouched with that turn. Throws `ConfigError`
 * (`missing_key`, `no_model`); its streams throw `ProviderError`.
 */
export function createOpenRouterAdapter(options: OpenRouterAdapterOptions = {}): AIAdapter {
  return createSdkAdapter<OpenRouterClient>(
    {
      provider: "openrouter",
      env: process.env,
      name: "OpenRouter",
      keyPage: "https://openrouter.ai/settings/keys",
      baseUrl: OPENROUTER_BASE_URL,
      reasoning: OPENROUTER_EFFORTS,
      codec: routedCodec(options.routing),
      loadClient: async (client) => new (await import("openai/client")).OpenAI(client),
      endpointOf: ({ chat }) => chat.completions,
      toError: toOpenRouterError,
    },
    options,
  );
}

function routedCodec(routing: OpenRouterRouting | undefined): WireCodec {
  const chat = chatCodec(OPENROUTER_CHAT, { toOpaqueFields: toReasoningFields });
  return {
    encode: (request, target) => {
      const { body, plan, warnings } = chat.encode(request, target);
      return { body: toRoutedBody(body, routing), plan, warnings };
    },
    decoder: (decoding, encoded) => new RoutedDecoder(chat.decoder(decoding, encoded), decoding),
  };
}
