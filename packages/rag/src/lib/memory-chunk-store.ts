/** A chunk store in memory: exact, for tests and scratch. */

import { StoreError } from "@openfunctions/core";
import {
  Bm25Index,
  checkVector,
  type Chunk,
  type ChunkScope,
  type ChunkStore,
  cosine,
  type DocumentPage,
  type DocumentRecord,
  type EmbeddingState,
  type KeywordHit,
  matchesFilter,
  type NewChunk,
  type VectorHit,
} from "@openfunctions/core/search";
import { checkLimit, storeClosed } from "@openfunctions/core/stores";

interface Held {
  readonly document: DocumentRecord;
  readonly chunks: readonly NewChunk[];
}

interface HeldChunk {
  readonly chunk: NewChunk;
  readonly document: DocumentRecord;
}

const DEFAULT_PAGE = 100;

/** A chunk store that ends with its process. Searches by vector are exact. */
export function createMemoryChunkStore(): ChunkStore {
  return new MemoryChunkStore();
}

class MemoryChunkStore implements ChunkStore {
  readonly durability = "memory";
  readonly #documents = new Map<string, Held>();
  readonly #chunks = new Map<string, HeldChunk>();
  readonly #vectors = new Map<string, readonly number[]>();
  readonly #words = new Bm25Index();
  #embedding: { readonly model: string; readonly dimensions: number } | undefined;
  #closed = false;

  async embedding(): Promise<EmbeddingState | undefined> {
    this.#open();
    if (this.#embedding === undefined) return undefined;
    return { ...this.#embedding, complete: this.#vectors.size === this.#chunks.size };
  }

  async resetEmbedding({
    model,
    dimensions,
  }: {
    readonly model: string;
    readonly dimensions: number;
  }): Promise<void> {
    this.#open();
    this.#vectors.clear();
    this.#embedding = { model, dimensions };
  }

  async withoutVector(limit: number): Promise<readonly { readonly id: string; readonly content: string }[]> {
    this.#open();
    checkLimit(limit);
    const left = [...this.#chunks.keys()].filter((id) => !this.#vectors.has(id)).toSorted();
    return left.slice(0, limit).map((id) => ({ id, content: this.#chunks.get(id)?.chunk.content ?? "" }));
  }

  async setVectors(vectors: ReadonlyMap<string, readonly number[]>, model?: string): Promise<void> {
    this.#open();
    for (const vector of vectors.values()) checkVector(vector, this.#embedding, model);
    for (const [id, vector] of vectors) if (this.#chunks.has(id)) this.#vectors.set(id, [...vector]);
  }

  async replace(
    document: DocumentRecord,
    chunks: readonly NewChunk[],
    model?: string,
  ): Promise<{ readonly removed: number }> {
    this.#open();
    for (const { vector } of chunks) if (vector !== undefined) checkVector(vector, this.#embedding, model);
    const ids = new Set(chunks.map(({ id }) => id));
    if (
      ids.size < chunks.length ||
      this.#documents.has(document.id) ||
      chunks.some(({ id }) => this.#chunks.has(id))
    )
      throw new StoreError(`The document "${document.id}", or a chunk of it, is there already.`, {
        code: "store_conflict",
      });
    let removed = 0;
    for (const held of this.#ofSource(document.owner, document.sourceId)) removed += this.#remove(held);
    this.#documents.set(document.id, structuredClone({ document, chunks }));
    for (const { vector, ...chunk } of chunks) {
      this.#chunks.set(chunk.id, structuredClone({ chunk, document }));
      if (vector !== undefined) this.#vectors.set(chunk.id, [...vector]);
      this.#words.add(chunk.id, chunk.content);
    }
    return { removed };
  }

  async vectorsByHash(
    owner: string,
    hashes: readonly string[],
  ): Promise<ReadonlyMap<string, readonly number[]>> {
    this.#open();
    const wanted = new Set(hashes);
    const found = new Map<string, readonly number[]>();
    for (const { chunk, document } of this.#chunks.values()) {
      const vector = this.#vectors.get(chunk.id);
      if (document.owner === owner && wanted.has(chunk.hash) && vector !== undefined)
        found.set(chunk.hash, [...vector]);
    }
    return found;
  }

  async findSource(owner: string, sourceId: string): Promise<DocumentRecord | undefined> {
    this.#open();
    return structuredClone(this.#ofSource(owner, sourceId)[0]?.document);
  }

  async getDocument(scope: ChunkScope, id: string): Promise<DocumentRecord | undefined> {
    this.#open();
    const document = this.#documents.get(id)?.document;
    return document !== undefined && isInScope(document, scope) ? structuredClone(document) : undefined;
  }

  async listDocuments(
    scope: ChunkScope,
    { limit = DEFAULT_PAGE, cursor = "" }: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<DocumentPage> {
    this.#open();
    checkLimit(limit);
    const all = [...this.#documents.values()]
      .map(({ document }) => document)
      .filter((document) => document.id > cursor && isInScope(document, scope))
      .toSorted((left, right) => (left.id < right.id ? -1 : 1));
    const documents = structuredClone(all.slice(0, limit));
    const last = documents.at(-1);
    return all.length > limit && last !== undefined ? { documents, cursor: last.id } : { documents };
  }

  async readChunks(
    scope: ChunkScope,
    documentId: string,
    { start, end }: { readonly start: number; readonly end: number } = {
      start: 0,
      end: Number.MAX_SAFE_INTEGER,
    },
  ): Promise<readonly Chunk[]> {
    this.#open();
    const held = this.#documents.get(documentId);
    if (held === undefined || !isInScope(held.document, scope)) return [];
    return held.chunks.filter((chunk) => chunk.end > start && chunk.start < end).map(toChunk);
  }

  async getChunks(scope: ChunkScope, ids: readonly string[]): Promise<ReadonlyMap<string, Chunk>> {
    this.#open();
    const found = new Map<string, Chunk>();
    for (const id of ids) {
      const held = this.#chunks.get(id);
      if (held !== undefined && isInScope(held.document, scope)) found.set(id, toChunk(held.chunk));
    }
    return found;
  }

  async deleteDocument(owner: string, id: string): Promise<boolean> {
    this.#open();
    const held = this.#documents.get(id);
    if (held === undefined || held.document.owner !== owner) return false;
    this.#remove(held);
    return true;
  }

  async deleteSource(owner: string, sourceId: string): Promise<number> {
    this.#open();
    const all = this.#ofSource(owner, sourceId);
    for (const held of all) this.#remove(held);
    return all.length;
  }

  async searchKeyword(scope: ChunkScope, query: string, limit: number): Promise<readonly KeywordHit[]> {
    this.#open();
    checkLimit(limit);
    return this.#words.search(query, limit, (id) => this.#accepts(id, scope));
  }

  async searchVector(
    scope: ChunkScope,
    vector: readonly number[],
    limit: number,
  ): Promise<readonly VectorHit[]> {
    this.#open();
    checkLimit(limit);
    checkVector(vector, this.#embedding);
    return [...this.#vectors]
      .filter(([id]) => this.#accepts(id, scope))
      .map(([id, one]) => ({ id, cosine: cosine(vector, one) }))
      .toSorted((left, right) => right.cosine - left.cosine || (left.id < right.id ? -1 : 1))
      .slice(0, limit);
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #open(): void {
    if (this.#closed) throw storeClosed();
  }

  #accepts(id: string, scope: ChunkScope): boolean {
    const document = this.#chunks.get(id)?.document;
    return document !== undefined && isInScope(document, scope);
  }

  #ofSource(owner: string, sourceId: string): readonly Held[] {
    return [...this.#documents.values()].filter(
      ({ document }) => document.owner === owner && document.sourceId === sourceId,
    );
  }

  #remove({ document, chunks }: Held): number {
    this.#documents.delete(document.id);
    for (const { id } of chunks) {
      this.#chunks.delete(id);
      this.#vectors.delete(id);
      this.#words.remove(id);
    }
    return chunks.length;
  }
}

function isInScope({ owner, metadata }: DocumentRecord, { owners, filter }: ChunkScope): boolean {
  return owners.includes(owner) && (filter === undefined || matchesFilter(metadata, filter));
}

function toChunk({ hash: _hash, vector: _vector, ...chunk }: NewChunk): Chunk {
  return structuredClone(chunk);
}
