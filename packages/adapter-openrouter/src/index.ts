/** OpenRouter as an openFunctions adapter. */

export {
  createOpenRouterAdapter,
  type OpenRouterAdapterOptions,
  type OpenRouterClient,
} from "./lib/adapter.ts";
export type { OpenRouterPrice, OpenRouterRouting } from "./lib/routing.ts";
