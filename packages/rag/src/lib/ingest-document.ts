/** One document on its way into the store: loaded, cut, embedded, then put in place of the version before it. */

import { createHash } from "node:crypto";
import {
  canonicalJson,
  InputError,
  type JsonObject,
  OpenFunctionsError,
  StoreError,
} from "@openfunctions/core";
import { type DocumentRecord, EmbedderError, type NewChunk } from "@openfunctions/core/search";
import { chunkText, type TextChunk } from "./chunk-text.ts";
import { embedTexts } from "./embed-texts.ts";
import { loadDocument } from "./load-document.ts";
import { checkMetadata, checkSourceId, type RagParts } from "./rag-parts.ts";

/** A document to ingest. */
export interface IngestInput {
  /** What it is a version of: an address, a path, a name. 1 to 512 characters. */
  readonly sourceId: string;
  readonly content: string | Uint8Array;
  /** Default: by the ending of source, address or title, else by the content. */
  readonly mediaType?: string;
  /** Default: the one the document itself names. */
  readonly title?: string;
  readonly uri?: string;
  /** JSON of at most 64 Ki characters; what `filter` looks at. */
  readonly metadata?: JsonObject;
  /** What tells versions apart. Default: a digest of everything here and of how texts are cut. */
  readonly contentHash?: string;
}

/** What became of a document. */
export interface IngestResult {
  readonly sourceId: string;
  readonly documentId: string;
  readonly status: "created" | "unchanged" | "replaced" | "emptied";
  readonly chunks: number;
  /** Chunks of the version before that are gone. */
  readonly removed: number;
  /** Texts that were embedded; the others had a vector already. */
  readonly embedded: number;
  /** How it is found. */
  readonly mode: "hybrid" | "keyword";
  readonly warnings: readonly string[];
}

/** How far a long ingest is. */
export interface IngestProgress {
  readonly sourceId: string;
  readonly embedded: number;
  readonly toEmbed: number;
}

/** How documents are ingested. */
export interface IngestOptions {
  readonly signal?: AbortSignal;
  /** Called after each batch of embeddings. */
  readonly onProgress?: (progress: IngestProgress) => void;
}

/** A document that is cut and not yet embedded. */
export interface CutDocument {
  readonly document: DocumentRecord;
  readonly chunks: readonly NewChunk[];
  readonly known: DocumentRecord | undefined;
  readonly warnings: readonly string[];
}

/** Chunks as they are written, how many of their texts were embedded, and with what. */
export interface EmbeddedDocument {
  readonly chunks: readonly NewChunk[];
  readonly embedded: number;
  readonly model?: string;
}

/** What is to be written, or the result where nothing is. */
export type Prepared = CutDocument | { readonly done: IngestResult };

/** Loads and cuts a document. Throws what `loadDocument` throws, and `InputError` `empty_document`. */
export async function prepareDocument(
  parts: RagParts,
  input: IngestInput,
  signal: AbortSignal | undefined,
): Promise<Prepared> {
  const { owner, store, chunker } = parts;
  signal?.throwIfAborted();
  const facts = readFacts(input);
  const contentHash =
    facts.contentHash ?? hashOf(input.content, canonicalJson({ ...facts, chunker: { ...chunker } }));
  const known = await store.findSource(owner, facts.sourceId);
  if (known?.contentHash === contentHash) return { done: unchanged(parts, known) };
  const names = [facts.sourceId, facts.uri ?? "", facts.title ?? ""];
  const loaded = await loadDocument(
    { content: input.content, mediaType: facts.mediaType, names },
    parts.loaders,
    signal,
  );
  signal?.throwIfAborted();
  const isBlank = loaded.text.trim() === "";
  if (isBlank && known === undefined)
    throw new InputError(`The document "${facts.sourceId}" has no text.`, { code: "empty_document" });
  const id = `doc_${hashOf(contentHash, canonicalJson({ owner, source: facts.sourceId })).slice(0, 32)}`;
  const pieces = isBlank ? [] : chunkText(loaded.text, chunker, loaded);
  const title =
    facts.title ?? (loaded.title && checkMetadata(loaded.title.slice(0, 300).toWellFormed(), "A title"));
  const document: DocumentRecord = {
    id,
    owner,
    sourceId: facts.sourceId,
    contentHash,
    mediaType: loaded.mediaType,
    ...(title === undefined ? {} : { title }),
    ...(facts.uri === undefined ? {} : { uri: facts.uri }),
    metadata: facts.metadata,
    createdAt: new Date(parts.clock.now()).toISOString(),
    length: pieces.at(-1)?.end ?? 0,
    chunkCount: pieces.length,
  };
  const chunks = pieces.map((piece) => toChunk(id, piece));
  return { document, chunks, known, warnings: loaded.warnings ?? [] };
}

/**
 * Embeds what has no vector yet, of several documents together, and gives each its chunks as they are written and the
 * number of its texts that were embedded. Throws `EmbedderError` naming the source and the place.
 */
export async function embedDocuments(
  { store, index: { embedder }, owner, clock }: RagParts,
  documents: readonly CutDocument[],
  { signal, onProgress }: IngestOptions,
): Promise<readonly EmbeddedDocument[]> {
  if (embedder === undefined) return documents.map(({ chunks }) => ({ chunks, embedded: 0 }));
  const hashes = [...new Set(documents.flatMap(({ chunks }) => chunks.map(({ hash }) => hash)))];
  const vectors = new Map(hashes.length === 0 ? [] : await store.vectorsByHash(owner, hashes));
  const missing = new Map<string, { readonly chunk: NewChunk; readonly sourceId: string }>();
  const embedded = documents.map(({ document: { sourceId }, chunks }) => {
    const before = missing.size;
    for (const chunk of chunks)
      if (!vectors.has(chunk.hash) && !missing.has(chunk.hash)) missing.set(chunk.hash, { chunk, sourceId });
    return missing.size - before;
  });
  const wanted = [...missing.values()];
  const report = (done: number): void => {
    const sourceId = wanted[done - 1]?.sourceId ?? "";
    onProgress?.({ sourceId, embedded: done, toEmbed: wanted.length });
  };
  const texts = wanted.map(({ chunk }) => chunk.content);
  const found = await embedTexts(embedder, texts, { clock, signal, onDone: report }).catch(
    (cause: unknown) => {
      throw withPlace(cause, wanted);
    },
  );
  for (const [index, { chunk }] of wanted.entries()) vectors.set(chunk.hash, found[index] ?? []);
  return documents.map(({ chunks }, index) => ({
    chunks: chunks.map((chunk) => ({ ...chunk, vector: vectors.get(chunk.hash) ?? [] })),
    embedded: embedded[index] ?? 0,
    model: embedder.model,
  }));
}

/** Puts a document in the place of what its source held, in one write. */
export async function commitDocument(
  parts: RagParts,
  { document, known, warnings }: CutDocument,
  { chunks, embedded, model }: EmbeddedDocument,
): Promise<IngestResult> {
  const { store, owner, index } = parts;
  const bare = index.embedder === undefined && chunks.length > 0 ? await store.embedding() : undefined;
  try {
    const { removed } = await store.replace(document, chunks, model);
    const status =
      chunks.length === 0 ? "emptied" : known === undefined && removed === 0 ? "created" : "replaced";
    const { sourceId, id: documentId } = document;
    return {
      sourceId,
      documentId,
      status,
      chunks: chunks.length,
      removed,
      embedded,
      mode: modeOf(parts),
      warnings: bare === undefined ? warnings : [...warnings, withoutVectors(bare.model)],
    };
  } catch (cause) {
    if (!OpenFunctionsError.is(cause)) throw cause;
    if (cause.code === "embedding_mismatch") throw embeddedAnew(model, cause);
    if (cause.code !== "store_conflict") throw cause;
    // The same version was written by another ingest meanwhile: it is there, whole.
    const current = await store.findSource(owner, document.sourceId);
    if (current?.id === document.id) return { ...unchanged(parts, current), embedded };
    throw cause;
  }
}

function withoutVectors(model: string): string {
  return `The index was embedded with "${model}" and no embedder is given: until it is reindexed, searches go by words alone.`;
}

function embeddedAnew(model: string | undefined, cause: unknown): StoreError {
  return new StoreError(
    `The index was embedded anew while "${model}" was at work; nothing of the document was written.`,
    { code: "embedding_mismatch", hint: "Open it with the embedder of the index and ingest again.", cause },
  );
}

function unchanged(parts: RagParts, { sourceId, id, chunkCount }: DocumentRecord): IngestResult {
  const counts = { chunks: chunkCount, removed: 0, embedded: 0 };
  return { sourceId, documentId: id, status: "unchanged", ...counts, mode: modeOf(parts), warnings: [] };
}

function modeOf({ index: { embedder } }: RagParts): IngestResult["mode"] {
  return embedder?.semantic === true ? "hybrid" : "keyword";
}

function readFacts(input: IngestInput): Omit<IngestInput, "content"> & { readonly metadata: JsonObject } {
  const { sourceId, content, mediaType, title, uri, contentHash, metadata = {} } = input;
  if (typeof content !== "string" && !(content instanceof Uint8Array))
    throw new InputError("The content of a document is a text or bytes.");
  return {
    sourceId: checkSourceId(sourceId),
    ...(mediaType === undefined ? {} : { mediaType }),
    ...(title === undefined ? {} : { title: checkMetadata(title, "A title") }),
    ...(uri === undefined ? {} : { uri: checkMetadata(uri, "An address") }),
    ...(contentHash === undefined ? {} : { contentHash: checkMetadata(contentHash, "A hash") }),
    metadata: checkMetadata(metadata, "Metadata"),
  };
}

/** Ids of chunks order them as the text does. */
function toChunk(documentId: string, { start, end, content, headings, page }: TextChunk): NewChunk {
  const id = `${documentId}:${String(start).padStart(9, "0")}`;
  const hash = hashOf(content);
  return { id, documentId, start, end, content, headings, ...(page === undefined ? {} : { page }), hash };
}

function hashOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  // Lengths come first, so that no two lists of parts read the same.
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest("hex");
}

function withPlace(
  cause: unknown,
  wanted: readonly { readonly chunk: NewChunk; readonly sourceId: string }[],
): unknown {
  if (!(cause instanceof EmbedderError)) return cause;
  const { model, index, retryable } = cause;
  const { chunk, sourceId } = wanted[index] ?? {};
  const place = `the text at ${chunk?.start} to ${chunk?.end} of "${sourceId}"`;
  return new EmbedderError(`Embedding ${place} failed: ${cause.message}`, { model, index, retryable, cause });
}
