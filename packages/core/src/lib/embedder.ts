/** What turns texts into vectors. */

import { OpenFunctionsError } from "./errors.ts";
import { searchTerms } from "./search-terms.ts";

/** Makes vectors. A text over `maxInputTokens` is an error that names it, never cut. */
export interface Embedder {
  readonly model: string;
  readonly dimensions: number;
  readonly maxInputTokens: number;
  /** False for one that knows words but no meaning; searches then say that they went by keyword. */
  readonly semantic: boolean;
  /** One vector per text, in order. Throws `EmbedderError`. */
  embed(
    texts: readonly string[],
    options: { readonly kind: "document" | "query"; readonly signal?: AbortSignal },
  ): Promise<readonly (readonly number[])[]>;
}

/** An embedder failed, or gave something that is no vector. `index` is the text at fault, from 0. */
export class EmbedderError extends OpenFunctionsError {
  readonly model: string;
  readonly index: number;
  constructor(
    message: string,
    options: {
      readonly model: string;
      readonly index: number;
      readonly retryable?: boolean;
      readonly cause?: unknown;
    },
  ) {
    const { model, index, retryable = false, cause } = options;
    super(message, { code: "embedding_failed", retryable, cause, details: { model, index } });
    this.model = model;
    this.index = index;
  }
}

/**
 * Embeds and checks what came: as many vectors as texts, each of the declared length and of numbers that
 * are finite in 32 bits. Throws
 * `EmbedderError`.
 */
export async function embedChecked(
  embedder: Embedder,
  texts: readonly string[],
  options: { readonly kind: "document" | "query"; readonly signal?: AbortSignal },
): Promise<readonly (readonly number[])[]> {
  const { model, dimensions } = embedder;
  const vectors = await embedder.embed(texts, options);
  if (vectors.length !== texts.length) {
    const message = `"${model}" gave ${vectors.length} vectors for ${texts.length} texts.`;
    throw new EmbedderError(message, {
      model,
      index: Math.max(0, Math.min(vectors.length, texts.length - 1)),
    });
  }
  for (const [index, vector] of vectors.entries()) {
    if (vector.length === dimensions && Array.from(vector).every(isStorable)) continue;
    const what = vector.length === dimensions ? "a number that is not finite" : `${vector.length} numbers`;
    const message = `"${model}" gave ${what} for text ${index}, not ${dimensions} finite numbers.`;
    throw new EmbedderError(message, { model, index });
  }
  return vectors;
}

/** Finite as stores keep it, in 32 bits. */
function isStorable(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(Math.fround(value));
}

/** The cosine of the angle between two vectors; 0 where one has no length. */
export function cosine(left: readonly number[], right: readonly number[]): number {
  let dot = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (let index = 0; index < left.length; index += 1) {
    const [one, two] = [left[index] ?? 0, right[index] ?? 0];
    dot += one * two;
    leftSquares += one * one;
    rightSquares += two * two;
  }
  const lengths = Math.sqrt(leftSquares) * Math.sqrt(rightSquares);
  return lengths === 0 ? 0 : dot / lengths;
}

/**
 * A deterministic embedder of demo quality, for tests: each term counts at a place given by its hash. It knows no
 * meaning and says so (`semantic: false`).
 */
export function hashEmbedder({ dimensions = 256 }: { readonly dimensions?: number } = {}): Embedder {
  return {
    model: `hash-${dimensions}`,
    dimensions,
    maxInputTokens: Number.MAX_SAFE_INTEGER,
    semantic: false,
    embed: async (texts, { signal }) => {
      signal?.throwIfAborted();
      return texts.map((text) => {
        const vector = Array.from({ length: dimensions }, () => 0);
        for (const term of searchTerms(text)) {
          const place = hashOf(term) % dimensions;
          vector[place] = (vector[place] ?? 0) + 1;
        }
        return vector;
      });
    },
  };
}

/** FNV-1a, 32 bits (draft-eastlake-fnv). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
