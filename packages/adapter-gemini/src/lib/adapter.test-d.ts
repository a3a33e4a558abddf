/** The real SDK's client fits the structural client, so that either can be given. */

import type { GoogleGenAI } from "@google/genai";
import type { GoogleGenAI as WebGoogleGenAI } from "@google/genai/web";
import { createGeminiAdapter, type GeminiClient } from "./adapter.ts";

declare const sdk: GoogleGenAI;
declare const web: WebGoogleGenAI;

/** The SDK itself, from either of its entries. */
export const real: readonly GeminiClient[] = [sdk, web];

/** A fake of a few lines. */
export const fake: GeminiClient = { models: { generateContentStream: async () => chunks() } };

async function* chunks(): AsyncGenerator<object> {
  yield { candidates: [{ content: { parts: [{ text: "hi" }] }, finishReason: "STOP" }] };
}

createGeminiAdapter({ client: fake });
