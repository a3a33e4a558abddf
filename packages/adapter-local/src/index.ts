export { createOfflineAdapter } from "./lib/offline-adapter.ts";
