/** OpenAI as an adapter: one request to the Responses API (or chat completions) per model call. */

import type { AIAdapter } from "@openfunctions/core";
import {
  chatCodec,
  createSdkAdapter,
  responsesCodec,
  type SdkAdapterOptions,
  type SdkEndpoint,
} from "@openfunctions/core/wire";
import { OPENAI_CHAT, OPENAI_RESPONSES } from "./quirks.ts";
import { toOpenAIError } from "./to-error.ts";

/** The part of the `openai` SDK's client that is called: `responses`, or `chat.completions` by option. */
export interface OpenAIClient {
  readonly responses: SdkEndpoint;
  readonly chat: { readonly completions: SdkEndpoint };
}

/** Options of `createOpenAIAdapter`. The role is `expert` where none is given. */
export interface OpenAIAdapterOptions extends SdkAdapterOptions {
  /** Which API is spoken. Default `responses`. */
  readonly api?: "responses" | "chat";
  /** Used in place of the SDK; then no key is needed. */
  readonly client?: OpenAIClient;
}

/**
 * Makes an adapter for OpenAI. The SDK is imported on the first request. Stateless: `store` is off and every
 * request carries the whole history. Throws `ConfigError` (`missing_key`, `no_model`); its streams throw
 * `ProviderError`.
 */
export function createOpenAIAdapter(options: OpenAIAdapterOptions = {}): AIAdapter {
  const isChat = options.api === "chat";
  return createSdkAdapter<OpenAIClient>(
    {
      provider: "openai",
      env: process.env,
      name: "OpenAI",
      keyPage: "https://platform.openai.com/api-keys",
      codec: isChat ? chatCodec(OPENAI_CHAT) : responsesCodec(OPENAI_RESPONSES),
      loadClient: async (client) => new (await import("openai/client")).OpenAI(client),
      endpointOf: ({ responses, chat }) => (isChat ? chat.completions : responses),
      toError: toOpenAIError,
    },
    options,
  );
}
