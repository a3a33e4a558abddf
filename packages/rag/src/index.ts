/** Documents: cut into chunks, embedded, searched and cited. */

export { type ChunkOptions, chunkText, type TextChunk } from "./lib/chunk-text.ts";
export {
  type CheckedQuote,
  checkCitations,
  type CitationCheck,
  type Citations,
  cite,
  type CitedSource,
} from "./lib/citations.ts";
export {
  type CompatibleEmbedderOptions,
  createCompatibleEmbedder,
  createGeminiEmbedder,
  createOpenAIEmbedder,
  type GeminiEmbedderOptions,
  type OpenAIEmbedderOptions,
} from "./lib/embedders.ts";
export { evaluateRetrieval, type RetrievalCase, type RetrievalQuality } from "./lib/evaluate-retrieval.ts";
export type { HttpEmbedderOptions } from "./lib/http-embedder.ts";
export type { IngestInput, IngestOptions, IngestProgress, IngestResult } from "./lib/ingest-document.ts";
export type { LoadedDocument, Loader, LoaderContext } from "./lib/loaded-document.ts";
export { createMemoryChunkStore } from "./lib/memory-chunk-store.ts";
export { docxLoader, pdfLoader } from "./lib/office-loaders.ts";
export type { ParseLimits } from "./lib/parse-document.ts";
export {
  createRAG,
  type ListOptions,
  type Rag,
  type RagOptions,
  type ReindexOptions,
  type StoredDocument,
} from "./lib/rag.ts";
export type { Hit, SearchOptions, SearchResult } from "./lib/search-documents.ts";
export type { Heading, TextShape } from "./lib/text-shape.ts";
