/** OpenAI as an openFunctions adapter. */

export {
  createOpenAIAdapter,
  type OpenAIAdapterOptions,
  type OpenAICall,
  type OpenAICallOptions,
  type OpenAIClient,
  type OpenAIEndpoint,
} from "./lib/adapter.ts";
