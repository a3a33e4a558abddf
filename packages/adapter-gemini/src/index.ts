/** Gemini as an openFunctions adapter. */

export {
  createGeminiAdapter,
  type GeminiAdapterOptions,
  type GeminiClient,
  type GeminiConfig,
  type GeminiParams,
} from "./lib/adapter.ts";
