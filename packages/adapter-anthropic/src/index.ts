/** Claude as an openFunctions adapter. */

export { createAnthropicAdapter, type AnthropicAdapterOptions, type AnthropicClient } from "./lib/adapter.ts";
