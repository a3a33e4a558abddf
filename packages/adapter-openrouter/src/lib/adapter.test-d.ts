/** The real SDK's client fits the structural client, so that either can be given. */

import type { OpenAI } from "openai/client";
import { createOpenRouterAdapter, type OpenRouterClient } from "./adapter.ts";

declare const sdk: OpenAI;

/** The SDK itself. */
export const real: OpenRouterClient = sdk;

/** A fake of a few lines. */
export const fake: OpenRouterClient = { chat: { completions: { create: async () => events() } } };

async function* events(): AsyncGenerator<object> {
  yield { choices: [{ index: 0, delta: { content: "hey" }, finish_reason: "stop" }] };
}

createOpenRouterAdapter({ client: fake, routing: { order: ["anthropic"], maxPrice: { prompt: 1 } } });
// @ts-expect-error A sort that OpenRouter does not have.
createOpenRouterAdapter({ client: fake, routing: { sort: "color" } });
