/** Documents: cut into chunks, embedded, searched and cited. */

export { evaluateRetrieval, type RetrievalCase, type RetrievalQuality } from "./lib/evaluate-retrieval.ts";
export { createMemoryChunkStore } from "./lib/memory-chunk-store.ts";
