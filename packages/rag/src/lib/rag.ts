/** Documents of owners: ingested whole, searched by word and meaning, read in part, deleted. */

import { createHash } from "node:crypto";
import {
  type Clock,
  ConfigError,
  createPorts,
  InputError,
  type JsonObject,
  StoreError,
  type Tool,
} from "@openfunctions/core";
import type {
  ChunkStore,
  DocumentPage,
  DocumentRecord,
  Embedder,
  MetadataFilter,
} from "@openfunctions/core/search";
import { type ChunkOptions, readChunking } from "./chunk-text.ts";
import { embedTexts } from "./embed-texts.ts";
import {
  commitDocument,
  embedDocuments,
  type IngestInput,
  type IngestOptions,
  type IngestResult,
  type Prepared,
  prepareDocument,
} from "./ingest-document.ts";
import type { Loader } from "./loaded-document.ts";
import { checkMetadata, checkOwner, checkSourceId, type RagParts, scopeOf } from "./rag-parts.ts";
import { createRagTools } from "./rag-tools.ts";
import { searchDocuments, type SearchOptions, type SearchResult } from "./search-documents.ts";

/** What a `Rag` is made of. */
export interface RagOptions {
  readonly store: ChunkStore;
  /** Without one, documents are found by their words. None is chosen for you. */
  readonly embedder?: Embedder;
  readonly chunker?: ChunkOptions;
  /** By media type; they come before those built in. */
  readonly loaders?: Readonly<Record<string, Loader>>;
  /** Whose documents direct calls write and read. Default `local`. */
  readonly owner?: string;
  /** Owners whose documents everyone reads as well, such as `shared`. */
  readonly readOwners?: readonly string[];
  readonly clock?: Clock;
}

/** A document with its text, or a part of it. */
export interface StoredDocument extends DocumentRecord {
  readonly text: string;
  /** Where the text stands in the whole. */
  readonly start: number;
  readonly end: number;
}

/** A page of a list of documents. */
export interface ListOptions {
  /** Default 100. */
  readonly limit?: number;
  readonly cursor?: string;
  readonly filter?: MetadataFilter;
}

/** How an index is embedded anew. */
export interface ReindexOptions {
  readonly signal?: AbortSignal;
  /** Called after each batch that was written, with the chunks embedded by this call so far. */
  readonly onProgress?: (embedded: number) => void;
}

/** Texts that are embedded together by `ingestMany`. */
const GROUP_CHUNKS = 256;
const GROUP_DOCUMENTS = 64;
const REINDEX_BATCH = 256;

/** Opened by `createRAG`. A document of another owner is as good as missing. */
export class Rag {
  readonly #parts: RagParts;

  /** @internal `createRAG` checks what it is given. */
  constructor(parts: RagParts) {
    this.#parts = parts;
  }

  /** The same index for another owner, such as the principal of a request. Throws `ConfigError` `owner_required`. */
  forOwner(owner: string): Rag {
    return new Rag({ ...this.#parts, owner: checkOwner(owner) });
  }

  /**
   * Puts a document in the place of its source's last version, whole or not at all. The same content again costs
   * nothing; chunks that stayed as they were keep their vectors. Throws `InputError` (`empty_document`,
   * `unsupported_media`, `too_large`, `not_json`, `bad_id`), `EmbedderError`, the signal's reason, and what the store
   * throws.
   */
  async ingest(input: IngestInput, options: IngestOptions = {}): Promise<IngestResult> {
    const prepared = await prepareDocument(this.#parts, input, options.signal);
    for await (const result of this.#write([prepared], options)) return result;
    throw new StoreError("The document was not written.", { code: "store_failed" });
  }

  /**
   * Ingests documents in their order. About 256 chunks are embedded together, so results come in groups. A document
   * that cannot be read ends it, or goes to `onError`; a failure of embedder or store always ends it.
   */
  async *ingestMany(
    inputs: AsyncIterable<IngestInput> | Iterable<IngestInput>,
    options: IngestOptions & { readonly onError?: (error: unknown, input: IngestInput) => void } = {},
  ): AsyncGenerator<IngestResult> {
    let group: Prepared[] = [];
    const sources = new Set<string>();
    let chunks = 0;
    for await (const input of inputs) {
      if (sources.has(input.sourceId) || chunks >= GROUP_CHUNKS || group.length >= GROUP_DOCUMENTS) {
        yield* this.#write(group, options);
        [group, chunks] = [[], 0];
        sources.clear();
      }
      const prepared = await prepareDocument(this.#parts, input, options.signal).catch((cause: unknown) => {
        if (options.onError === undefined || !(cause instanceof InputError)) throw cause;
        options.onError(cause, input);
      });
      if (prepared === undefined) continue;
      group.push(prepared);
      sources.add(input.sourceId);
      chunks += "done" in prepared ? 0 : prepared.chunks.length;
    }
    yield* this.#write(group, options);
  }

  /** Ingests a text of its own; the same text again is the same document. */
  async addDocument(
    content: string,
    metadata: JsonObject = {},
    { title, signal }: { readonly title?: string; readonly signal?: AbortSignal } = {},
  ): Promise<IngestResult> {
    const digest = createHash("sha256").update(String(content)).digest("hex").slice(0, 32);
    const named = title === undefined ? {} : { title };
    const input = { sourceId: `added:${digest}`, content, mediaType: "text/markdown", metadata, ...named };
    return this.ingest(input, signal === undefined ? {} : { signal });
  }

  /** The chunks that fit a query best. Says how they were found, and never passes for semantic when it is not. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    return searchDocuments(this.#parts, query, options);
  }

  /** A document with its text, or the part of `length` UTF-16 units from `start` on. Undefined for an unknown one. */
  async getDocument(
    id: string,
    {
      start = 0,
      length = Number.MAX_SAFE_INTEGER,
    }: { readonly start?: number; readonly length?: number } = {},
  ): Promise<StoredDocument | undefined> {
    if (!Number.isInteger(start) || start < 0 || !Number.isInteger(length) || length < 0)
      throw new InputError('"start" and "length" are whole numbers from 0 on.');
    const scope = scopeOf(this.#parts);
    const document = await this.#parts.store.getDocument(scope, String(id));
    if (document === undefined) return undefined;
    const from = Math.min(start, document.length);
    const end = Math.min(document.length, from + length);
    const chunks =
      end === from ? [] : await this.#parts.store.readChunks(scope, document.id, { start: from, end });
    if (end > from && chunks.length === 0) return undefined;
    let text = "";
    for (const chunk of chunks) {
      const at = from + text.length;
      text += chunk.content.slice(Math.max(0, at - chunk.start), Math.max(0, end - chunk.start));
    }
    // Half of a surrogate pair at an end is left out.
    const whole = text.replace(/^[\udc00-\udfff]/, "");
    const part = whole.replace(/[\ud800-\udbff]$/, "");
    const first = from + text.length - whole.length;
    return { ...document, text: part, start: first, end: first + part.length };
  }

  /** A page of the documents, in the order of their ids. */
  async listDocuments({ filter, ...page }: ListOptions = {}): Promise<DocumentPage> {
    return this.#parts.store.listDocuments(scopeOf(this.#parts, filter), page);
  }

  /** Removes a document with its chunks. False for an unknown one. */
  async deleteDocument(id: string): Promise<boolean> {
    return this.#parts.store.deleteDocument(this.#parts.owner, String(id));
  }

  /** Removes what a source holds; how many documents that were. */
  async deleteSource(sourceId: string): Promise<number> {
    return this.#parts.store.deleteSource(this.#parts.owner, checkSourceId(sourceId));
  }

  /** The tools by which a model reaches the documents; the owner is the run's. */
  createTools(): readonly Tool[] {
    return createRagTools((owner) => this.forOwner(owner));
  }

  /**
   * Gives every chunk of every owner a vector of this embedder, and searches with it from then on. Another model drops
   * the vectors first; the same one goes on where it was interrupted. Until it is done, searches go by keyword and say
   * so. Gives the number of chunks embedded. Throws `embedding_mismatch` where another reindex took over.
   */
  async reindex(embedder: Embedder, { signal, onProgress }: ReindexOptions = {}): Promise<number> {
    const { store, index, clock } = this.#parts;
    checkEmbedder(embedder);
    signal?.throwIfAborted();
    const state = await store.embedding();
    if (!isSame(state, embedder)) await store.resetEmbedding(announced(embedder));
    index.embedder = embedder;
    for (let embedded = 0; ;) {
      const batch = await store.withoutVector(REINDEX_BATCH);
      if (batch.length === 0) return embedded;
      const texts = batch.map(({ content }) => content);
      const vectors = await embedTexts(embedder, texts, { clock, signal });
      await store.setVectors(new Map(batch.map(({ id }, at) => [id, vectors[at] ?? []])), embedder.model);
      embedded += batch.length;
      onProgress?.(embedded);
    }
  }

  /** Closes the store. */
  async close(): Promise<void> {
    await this.#parts.store.close();
  }

  /** Each document is told of as soon as it is written. */
  async *#write(group: readonly Prepared[], options: IngestOptions): AsyncGenerator<IngestResult> {
    const left = group.flatMap((one) => ("done" in one ? [] : [one]));
    const ready = [...(await embedDocuments(this.#parts, left, options))];
    for (const one of group) {
      options.signal?.throwIfAborted();
      const next = "done" in one ? undefined : ready.shift();
      if ("done" in one) yield one.done;
      else if (next !== undefined) yield await commitDocument(this.#parts, one, next);
    }
  }
}

/**
 * Opens documents over a store. With an embedder, model and dimensions must be those of the index: throws `StoreError`
 * `embedding_mismatch` otherwise, `ConfigError` for options that cannot work (`bad_chunking`, `owner_required`).
 */
export async function createRAG(options: RagOptions): Promise<Rag> {
  const { store, embedder, chunker = {}, loaders = {}, owner = "local", readOwners = [], clock } = options;
  const parts: RagParts = {
    store,
    index: { embedder },
    chunker: readChunking(chunker),
    loaders: { ...loaders },
    owner: checkOwner(owner),
    readOwners: readOwners.map(checkOwner),
    clock: clock ?? createPorts().clock,
  };
  if (embedder !== undefined) await openEmbedding(store, embedder);
  return new Rag(parts);
}

async function openEmbedding(store: ChunkStore, embedder: Embedder): Promise<void> {
  checkEmbedder(embedder);
  const state = await store.embedding();
  if (state === undefined) return store.resetEmbedding(announced(embedder));
  if (isSame(state, embedder)) return;
  const [was, is] = [state, embedder].map(({ model, dimensions }) => `"${model}" (${dimensions} dimensions)`);
  throw new StoreError(`The index was embedded with ${was}, and the embedder is ${is}.`, {
    code: "embedding_mismatch",
    hint: "Open it without an embedder and call reindex(embedder), or run: openfunctions rag reindex --embedder <name>",
  });
}

function isSame(
  state: { readonly model: string; readonly dimensions: number } | undefined,
  { model, dimensions }: Embedder,
): boolean {
  return state?.model === model && state.dimensions === dimensions;
}

function announced({ model, dimensions }: Embedder): { readonly model: string; readonly dimensions: number } {
  return { model, dimensions };
}

function checkEmbedder({ model, dimensions }: Embedder): void {
  if (Number.isInteger(dimensions) && dimensions > 0 && checkMetadata(model, "A model") !== "") return;
  throw new ConfigError(`An embedder "${model}" of ${dimensions} dimensions makes no vectors.`, {
    code: "invalid_config",
  });
}
