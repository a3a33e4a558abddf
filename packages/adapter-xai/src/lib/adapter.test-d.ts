/** The real SDK's client fits the structural client, so that either can be given. */

import type { OpenAI } from "openai/client";
import { createXaiAdapter, type XaiClient } from "./adapter.ts";

declare const sdk: OpenAI;

/** The SDK itself. */
export const real: XaiClient = sdk;

/** A fake of a few lines. */
export const fake: XaiClient = { responses: { create: async () => events() } };

async function* events(): AsyncGenerator<object> {
  yield { type: "response.completed", response: { status: "completed", output: [] } };
}

createXaiAdapter({ client: fake });
