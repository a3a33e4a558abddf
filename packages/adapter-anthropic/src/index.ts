/** Claude as an openFunctions adapter. */

export {
  createAnthropicAdapter,
  type AnthropicAdapterOptions,
  type AnthropicCall,
  type AnthropicCallOptions,
  type AnthropicClient,
} from "./lib/adapter.ts";
