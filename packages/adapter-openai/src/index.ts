/** OpenAI as an openFunctions adapter. */

export { createOpenAIAdapter, type OpenAIAdapterOptions, type OpenAIClient } from "./lib/adapter.ts";
