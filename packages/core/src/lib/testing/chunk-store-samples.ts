/** Documents and chunks that the contract suite of chunk stores writes. */

import type { DocumentRecord, NewChunk } from "../chunk-store.ts";
import type { JsonObject } from "../json.ts";

/** The embedding that sample vectors are made with. */
export const SAMPLE_EMBEDDING = { model: "sample-3", dimensions: 3 } as const;

/** What a sample document differs in. */
export interface SampleDocument {
  readonly owner?: string;
  readonly sourceId?: string;
  readonly metadata?: JsonObject;
  /** One vector for each text; left out, the chunks have none. */
  readonly vectors?: readonly (readonly number[])[];
}

/** A document whose text is `texts` joined, one chunk for each. */
export function sampleDocument(
  id: string,
  texts: readonly string[],
  { owner = "ada", sourceId = `source-${id}`, metadata = {}, vectors }: SampleDocument = {},
): { readonly document: DocumentRecord; readonly chunks: readonly NewChunk[] } {
  let start = 0;
  const chunks = texts.map((content, index): NewChunk => {
    const chunk: NewChunk = {
      id: `${id}:${String(start).padStart(9, "0")}`,
      documentId: id,
      start,
      end: start + content.length,
      content,
      headings: ["Top", `Part ${index}`],
      page: index + 1,
      hash: `hash of ${content}`,
      ...(vectors?.[index] === undefined ? {} : { vector: vectors[index] }),
    };
    start += content.length;
    return chunk;
  });
  const document: DocumentRecord = {
    id,
    owner,
    sourceId,
    contentHash: `hash of ${texts.join("")}`,
    mediaType: "text/plain",
    title: `Title "${id}"`,
    uri: `https://example.com/${id}`,
    metadata,
    createdAt: "2026-11-30T12:00:00.000Z",
    length: start,
    chunkCount: chunks.length,
  };
  return { document, chunks };
}
