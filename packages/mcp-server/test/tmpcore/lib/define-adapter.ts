/** Turns a stream-only definition into an adapter. */

import type { AIAdapter, ModelRequest } from "./adapter.ts";
import { collect } from "./collect.ts";

/** What an adapter author writes. */
export type AdapterDefinition = Omit<AIAdapter, "chat">;

/** Adds `chat` to a definition. */
export function defineAdapter(definition: AdapterDefinition): AIAdapter {
  return Object.freeze({
    provider: definition.provider,
    model: definition.model,
    capabilities: Object.freeze({ ...definition.capabilities }),
    stream: (request: ModelRequest) => definition.stream(request),
    chat: (request: ModelRequest) => collect(definition.stream(request)),
  });
}
