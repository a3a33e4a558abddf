/** The real SDK's client fits the structural client, so that either can be given. */

import type { OpenAI } from "openai/client";
import { createOpenAIAdapter, type OpenAIClient } from "./adapter.ts";

declare const sdk: OpenAI;

/** The SDK itself. */
export const real: OpenAIClient = sdk;

/** A fake of a few lines. */
export const fake: OpenAIClient = {
  responses: { create: async () => events() },
  chat: { completions: { create: async () => events() } },
};

async function* events(): AsyncGenerator<object> {
  yield { type: "response.completed", response: { status: "completed", output: [] } };
}

createOpenAIAdapter({ client: fake });
