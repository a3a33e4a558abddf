/** Grok as an adapter: one request to xAI's Responses API per model call. */

import type { AIAdapter } from "@openfunctions/core";
import {
  createSdkAdapter,
  responsesCodec,
  type SdkAdapterOptions,
  type SdkEndpoint,
} from "@openfunctions/core/wire";
import { XAI_BASE_URL, XAI_RESPONSES } from "./quirks.ts";
import { toXaiError } from "./to-error.ts";

/** The part of the `openai` SDK's client that is called. */
export interface XaiClient {
  readonly responses: SdkEndpoint;
}

/** Options of `createXaiAdapter`. The role is `expert` where none is given. */
export interface XaiAdapterOptions extends SdkAdapterOptions {
  /** Used in place of the SDK; then no key is needed. */
  readonly client?: XaiClient;
}

/**
 * Makes an adapter for Grok. The SDK is imported on the first request. Stateless: `store` is off, every request
 * carries the whole history and brings the encrypted reasoning back. Throws `ConfigError` (`missing_key`,
 * `no_model`); its streams throw `ProviderError`.
 */
export function createXaiAdapter(options: XaiAdapterOptions = {}): AIAdapter {
  return createSdkAdapter<XaiClient>(
    {
      provider: "xai",
      env: process.env,
      name: "xAI",
      keyPage: "https://console.x.ai",
      baseUrl: XAI_BASE_URL,
      codec: responsesCodec(XAI_RESPONSES),
      loadClient: async (client) => new (await import("openai/client")).OpenAI(client),
      endpointOf: ({ responses }) => responses,
      toError: toXaiError,
    },
    options,
  );
}
