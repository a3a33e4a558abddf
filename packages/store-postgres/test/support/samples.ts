/** Values and documents that tell by themselves whether they are whole. */

import type { JsonObject } from "@openfunctions/core";
import type { DocumentRecord, NewChunk } from "@openfunctions/core/search";

/** A value of some kilobytes. */
export function valueNumber(n: number): { readonly n: number; readonly text: string } {
  return { n, text: `${n} `.repeat(1_000) };
}

/** What a sample document differs in. */
export interface SampleOptions {
  readonly id?: string;
  readonly owner?: string;
  readonly sourceId?: string;
  readonly metadata?: JsonObject;
  readonly texts?: readonly string[];
  readonly vectors?: readonly (readonly number[])[];
}

/** Version `n` of one source, in four chunks where no texts are given. */
export function documentNumber(
  n: number,
  { id = `d${n}`, owner = "ada", sourceId = "source", metadata = { n }, texts, vectors }: SampleOptions = {},
): { readonly document: DocumentRecord; readonly pieces: readonly NewChunk[] } {
  const contents = texts ?? Array.from({ length: 4 }, (_, index) => `version${n} part ${index}. `);
  let start = 0;
  const pieces = contents.map((content, index): NewChunk => {
    const at = start;
    start += content.length;
    return {
      id: `${id}:${String(at).padStart(9, "0")}`,
      documentId: id,
      start: at,
      end: start,
      content,
      headings: [],
      hash: `hash of ${content}`,
      ...(vectors?.[index] === undefined ? {} : { vector: vectors[index] }),
    };
  });
  const document: DocumentRecord = {
    id,
    owner,
    sourceId,
    contentHash: `hash ${n}`,
    mediaType: "text/plain",
    metadata,
    createdAt: "2026-11-30T12:00:00.000Z",
    length: start,
    chunkCount: pieces.length,
  };
  return { document, pieces };
}
