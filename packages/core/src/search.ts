/** Search: words of a text, BM25, embedders, and both as one ranking. For whoever finds facts and documents. */

export { Bm25Index, type KeywordHit } from "./lib/bm25.ts";
export {
  checkVector,
  type Chunk,
  type ChunkScope,
  type ChunkStore,
  type DocumentPage,
  type DocumentRecord,
  type EmbeddingState,
  type NewChunk,
} from "./lib/chunk-store.ts";
export { cosine, embedChecked, type Embedder, EmbedderError, hashEmbedder } from "./lib/embedder.ts";
export {
  type HybridOptions,
  hybridSearch,
  type RankedHit,
  type Ranking,
  type SearchSource,
  type VectorHit,
} from "./lib/hybrid-search.ts";
export {
  type FilterNode,
  type FilterValue,
  matchesFilter,
  type MetadataFilter,
  type OrderedValue,
  readFilter,
} from "./lib/metadata-filter.ts";
export { searchTerms } from "./lib/search-terms.ts";
