/** Where documents lie in pieces, found by word and by vector: one contract for every backend. */

import type { KeywordHit } from "./bm25.ts";
import { InputError, StoreError } from "./errors.ts";
import type { VectorHit } from "./hybrid-search.ts";
import type { JsonObject } from "./json.ts";
import type { FilterNode } from "./metadata-filter.ts";

/** What is known of a document besides its text. */
export interface DocumentRecord {
  readonly id: string;
  readonly owner: string;
  /** What the document is a version of: an address, a path, a name. One source has one document at a time. */
  readonly sourceId: string;
  /** Digest of what was ingested; equal digests are equal content. */
  readonly contentHash: string;
  readonly mediaType: string;
  readonly title?: string;
  readonly uri?: string;
  readonly metadata: JsonObject;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** Length of its text in UTF-16 units. */
  readonly length: number;
  readonly chunkCount: number;
}

/** A piece of a document's text. `text.slice(start, end) === content`, in UTF-16 units. */
export interface Chunk {
  /** Of the document and its start, so that ids order pieces as the text does. */
  readonly id: string;
  readonly documentId: string;
  readonly start: number;
  readonly end: number;
  readonly content: string;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  /** From 1, where the document has pages. */
  readonly page?: number;
}

/** A chunk to be written. `hash` is of its content: equal hashes may share a vector. */
export interface NewChunk extends Chunk {
  readonly hash: string;
  readonly vector?: readonly number[];
}

/** What the vectors of a store were made with. While `complete` is false, some chunks have none yet. */
export interface EmbeddingState {
  readonly model: string;
  readonly dimensions: number;
  readonly complete: boolean;
}

/** Whose documents are read, and which of them. */
export interface ChunkScope {
  /** Never empty: no owner, no answer. */
  readonly owners: readonly string[];
  readonly filter?: FilterNode | undefined;
}

/** A page of documents, in the order of their ids. */
export interface DocumentPage {
  readonly documents: readonly DocumentRecord[];
  /** Where the next page begins; stays valid under writes. */
  readonly cursor?: string;
}

/**
 * Documents in chunks. Each write is whole or not at all, and durable as the store declares; a reader sees a document
 * as it was before or after one. What another owner holds is reported exactly like what is missing. Every call after
 * `close` is `store_closed`. Spec state.md section 7; `describeChunkStore` is the contract as tests.
 */
export interface ChunkStore {
  readonly durability: "memory" | "process" | "disk";
  /** Undefined until vectors were written or announced. */
  embedding(): Promise<EmbeddingState | undefined>;
  /**
   * Drops every vector of the store, of every owner, and says what the next ones will be made with; searches by vector
   * find only what was embedded since.
   */
  resetEmbedding(embedding: { readonly model: string; readonly dimensions: number }): Promise<void>;
  /** Chunks that have no vector yet, of every owner, in the order of their ids: what an embedder has left to do. */
  withoutVector(limit: number): Promise<readonly { readonly id: string; readonly content: string }[]>;
  /**
   * Gives chunks their vectors; an id that is gone meanwhile is passed over. Throws as `replace` does where they are
   * not of the announced `model`.
   */
  setVectors(vectors: ReadonlyMap<string, readonly number[]>, model?: string): Promise<void>;
  /**
   * Puts the document in the place of what its source held for this owner, and says how many chunks left. Vectors need
   * an embedding that was announced; throws `StoreError` `embedding_mismatch` for a vector of another length, and for
   * any where another than the `model` they were made with is announced by then.
   */
  replace(
    document: DocumentRecord,
    chunks: readonly NewChunk[],
    model?: string,
  ): Promise<{ readonly removed: number }>;
  /** The vectors an owner already has for contents, by their hash. */
  vectorsByHash(owner: string, hashes: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>;
  findSource(owner: string, sourceId: string): Promise<DocumentRecord | undefined>;
  getDocument(scope: ChunkScope, id: string): Promise<DocumentRecord | undefined>;
  listDocuments(
    scope: ChunkScope,
    page?: { readonly limit?: number; readonly cursor?: string },
  ): Promise<DocumentPage>;
  /** The chunks that touch a range of a document, in order; all of them without one. */
  readChunks(
    scope: ChunkScope,
    documentId: string,
    range?: { readonly start: number; readonly end: number },
  ): Promise<readonly Chunk[]>;
  /** The chunks of these ids that are in the scope, by id. */
  getChunks(scope: ChunkScope, ids: readonly string[]): Promise<ReadonlyMap<string, Chunk>>;
  /** Removes a document with its chunks and vectors; false where there was nothing. */
  deleteDocument(owner: string, id: string): Promise<boolean>;
  /** Removes what a source holds; how many documents that were. */
  deleteSource(owner: string, sourceId: string): Promise<number>;
  /** The chunks that hold words of the query, ORed, best first; a filter never starves it. */
  searchKeyword(scope: ChunkScope, query: string, limit: number): Promise<readonly KeywordHit[]>;
  /** The chunks nearest to a vector, best first; a filter never starves it. */
  searchVector(scope: ChunkScope, vector: readonly number[], limit: number): Promise<readonly VectorHit[]>;
  close(): Promise<void>;
}

/**
 * Throws `StoreError` `embedding_mismatch` for a vector that is not of the announced embedding, by its length or by the
 * `model` it was made with, and `InputError` for one that stores, which keep 32 bits, have no number for.
 */
export function checkVector(
  vector: readonly number[],
  embedding: Pick<EmbeddingState, "model" | "dimensions"> | undefined,
  model: string | undefined = embedding?.model,
): void {
  if (embedding?.dimensions !== vector.length || embedding.model !== model) {
    const wanted =
      embedding === undefined
        ? "no embedding was announced"
        : `"${embedding.model}" has ${embedding.dimensions}`;
    const made = model === undefined ? "" : ` of "${model}"`;
    const message = `A vector${made} has ${vector.length} dimensions, and ${wanted}.`;
    throw new StoreError(message, { code: "embedding_mismatch" });
  }
  if (!vector.every((number) => Number.isFinite(Math.fround(number))))
    throw new InputError("A vector holds a number that float32 does not have, such as NaN or Infinity.");
}
