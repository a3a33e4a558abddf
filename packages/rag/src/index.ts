/** Documents: cut into chunks, embedded, searched and cited. */

export { createMemoryChunkStore } from "./lib/memory-chunk-store.ts";
