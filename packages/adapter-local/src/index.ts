export { type LocalAdapterOptions, createLocalAdapter } from "./lib/adapter.ts";
export { createOfflineAdapter } from "./lib/offline-adapter.ts";
export { type FoundServer, type ProbeOptions, probeLocal } from "./lib/probe-local.ts";
export type { LocalServer } from "./lib/quirks.ts";
