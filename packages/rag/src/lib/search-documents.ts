/** Finds chunks by word and by meaning, and says how they were found. */

import { InputError, type JsonObject } from "@openfunctions/core";
import {
  type DocumentRecord,
  hybridSearch,
  type HybridOptions,
  type MetadataFilter,
  type RankedHit,
} from "@openfunctions/core/search";
import { type RagParts, scopeOf } from "./rag-parts.ts";

/** A chunk that was found. Offsets are UTF-16 units of the stored text. */
export interface Hit {
  readonly id: string;
  readonly documentId: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly parts: RankedHit["parts"];
  readonly content: string;
  readonly start: number;
  readonly end: number;
  readonly page?: number;
  readonly headings: readonly string[];
  /** Of its document. */
  readonly metadata: JsonObject;
  readonly sourceId: string;
  readonly title?: string;
  readonly uri?: string;
}

/** Hits, best first. `reason` says why the search went by words alone. */
export interface SearchResult {
  readonly mode: "hybrid" | "keyword";
  readonly reason?: string;
  readonly tookMs: number;
  readonly hits: readonly Hit[];
  /** Hits before the limit, among the candidates. */
  readonly total: number;
}

/** How documents are searched. */
export interface SearchOptions {
  /** Default 5. */
  readonly limit?: number;
  readonly filter?: MetadataFilter;
  /** Hits with a lower score are left out. */
  readonly minScore?: number;
  /** Hits of the search by vector with a lower cosine are left out. */
  readonly minCosine?: number;
  /** What words and meaning count. Default 1 and 1; given, they count for an embedder that is not semantic too. */
  readonly weights?: { readonly keyword: number; readonly vector: number };
  readonly signal?: AbortSignal;
}

const TRIES = 3;

/** Searches the documents of an owner. Throws `InputError` (`bad_filter`) and what the store throws. */
export async function searchDocuments(
  parts: RagParts,
  query: string,
  options: SearchOptions,
): Promise<SearchResult> {
  const { store, clock } = parts;
  const { limit = 5, filter, minScore, minCosine, weights, signal } = options;
  if (typeof query !== "string") throw new InputError("A query is a text.");
  const began = clock.now();
  const scope = scopeOf(parts, filter);
  const text = query.replaceAll("\0", " ").toWellFormed();
  const { embedder, reason: unready } = await embedderFor(parts, text);
  const ranking: HybridOptions = {
    limit,
    embedder,
    minScore,
    minCosine,
    signal,
    clock,
    ...(weights === undefined ? {} : { weights }),
  };
  const source = {
    keyword: (words: string, most: number) => store.searchKeyword(scope, words, most),
    vector: (vector: readonly number[], most: number) => store.searchVector(scope, vector, most),
  };
  for (let attempt = 1; ; attempt += 1) {
    const { mode, hits, total, reason = unready } = await hybridSearch(source, text, ranking);
    const found = await describeHits(parts, hits, options);
    // A document was replaced between two reads: its new version is looked for.
    if (found.length < hits.length && attempt < TRIES) continue;
    const why = unready ?? reason;
    return {
      mode,
      ...(why === undefined ? {} : { reason: why }),
      tookMs: clock.now() - began,
      hits: found,
      total,
    };
  }
}

/** The embedder where every chunk has a vector of it; else why not. */
async function embedderFor(
  { store, index: { embedder } }: RagParts,
  query: string,
): Promise<{ readonly embedder?: NonNullable<typeof embedder>; readonly reason?: string }> {
  if (embedder === undefined) return {};
  if (query.trim() === "") return { reason: "the query is empty" };
  const state = await store.embedding();
  if (state?.model !== embedder.model || state.dimensions !== embedder.dimensions)
    return { reason: "the index was embedded with another model" };
  return state.complete
    ? { embedder }
    : { reason: "some documents are not embedded yet; reindex goes on with it" };
}

async function describeHits(
  parts: RagParts,
  hits: readonly RankedHit[],
  { filter }: SearchOptions,
): Promise<readonly Hit[]> {
  const scope = scopeOf(parts, filter);
  const ids = hits.map(({ id }) => id);
  const chunks = ids.length === 0 ? new Map() : await parts.store.getChunks(scope, ids);
  const documents = new Map<string, DocumentRecord | undefined>();
  const found: Hit[] = [];
  for (const { id, score, parts: ranks } of hits) {
    const chunk = chunks.get(id);
    if (chunk === undefined) continue;
    const { documentId, content, start, end, page, headings } = chunk;
    if (!documents.has(documentId))
      documents.set(documentId, await parts.store.getDocument(scope, documentId));
    const document = documents.get(documentId);
    if (document === undefined) continue;
    const { metadata, sourceId, title, uri } = document;
    const place = { content, start, end, ...(page === undefined ? {} : { page }), headings };
    const origin = { ...(title === undefined ? {} : { title }), ...(uri === undefined ? {} : { uri }) };
    found.push({ id, documentId, score, parts: ranks, ...place, metadata, sourceId, ...origin });
  }
  return found;
}
