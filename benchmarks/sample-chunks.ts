/** Made-up chunks that are the same in every run: 150 words, of which few are common, and a vector. */

import type { DocumentRecord, NewChunk } from "@openfunctions/core/search";

/** Whose documents they are. */
export const OWNER = "bench";
export const DIMENSIONS = 384;
export const PER_DOCUMENT = 20;

/** Makes documents of chunks, and queries for them. */
export class SampleChunks {
  readonly #random = randomOf(11);
  readonly #words = Array.from({ length: 8_000 }, (_, n) => wordOf(n));

  /** Words, of which few are common and most are rare, as in any language. */
  text(length: number): string {
    const place = (): number => Math.floor(this.#words.length * this.#random() ** 4);
    return Array.from({ length }, () => this.#words[place()] ?? "").join(" ");
  }

  vector(): readonly number[] {
    return Array.from({ length: DIMENSIONS }, () => this.#random() - 0.5);
  }

  /** The document whose first chunk has this number. */
  document(first: number): { readonly document: DocumentRecord; readonly chunks: readonly NewChunk[] } {
    const id = `d${String(first).padStart(6, "0")}`;
    const chunks = Array.from({ length: PER_DOCUMENT }, (_, n): NewChunk => {
      const [content, vector] = [this.text(150), this.vector()];
      const place = { documentId: id, start: n * 2_000, end: n * 2_000 + content.length };
      return { id: `${id}:${n}`, ...place, content, headings: [], hash: `${first + n}`, vector };
    });
    const what = { id, owner: OWNER, sourceId: id, contentHash: id, mediaType: "text/plain", metadata: {} };
    const createdAt = new Date(0).toISOString();
    return { document: { ...what, createdAt, length: 40_000, chunkCount: PER_DOCUMENT }, chunks };
  }
}

/** A made-up word of four to ten letters. */
function wordOf(n: number): string {
  const syllables = ["ba", "de", "fi", "go", "ku", "la", "mo", "ne", "ri", "su", "ta", "vo"];
  let word = "";
  for (let left = n + 12; left > 0; left = Math.floor(left / 12)) word += syllables[left % 12] ?? "";
  return word;
}

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
