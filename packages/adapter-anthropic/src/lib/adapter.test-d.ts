/** The real SDK's client fits the structural client, so that either can be given. */

import type { Anthropic } from "@anthropic-ai/sdk/client";
import { type AnthropicClient, createAnthropicAdapter } from "./adapter.ts";

declare const sdk: Anthropic;

/** The SDK itself. */
export const real: AnthropicClient = sdk;

/** A fake of a few lines. */
export const fake: AnthropicClient = { messages: { create: async () => events() } };

async function* events(): AsyncGenerator<object> {
  yield { type: "message_stop" };
}

createAnthropicAdapter({ client: fake });
