/** Grok (xAI) as an openFunctions adapter. */

export { createXaiAdapter, type XaiAdapterOptions, type XaiClient } from "./lib/adapter.ts";
