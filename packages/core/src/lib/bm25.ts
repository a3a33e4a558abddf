/** BM25 in memory: which texts hold the words of a query, best first. */

import { searchTerms } from "./search-terms.ts";

// The parameters that Lucene-based baselines of the public collections use (Anserini, k1 0.9, b 0.4).
const K1 = 0.9;
const B = 0.4;

/** A text that holds at least one term. `raw` is its BM25 score. */
export interface KeywordHit {
  readonly id: string;
  readonly raw: number;
}

/** An index of texts by id. Terms are ORed: a text with one of them is found, one with all of them ranks higher. */
export class Bm25Index {
  /** How often each term stands in which text. */
  readonly #postings = new Map<string, Map<string, number>>();
  readonly #terms = new Map<string, readonly string[]>();
  #length = 0;

  /** How many texts are held. */
  get size(): number {
    return this.#terms.size;
  }

  /** Adds a text, or puts it in place of the one with this id. */
  add(id: string, text: string): void {
    this.remove(id);
    const terms = searchTerms(text);
    this.#terms.set(id, terms);
    this.#length += terms.length;
    for (const [term, count] of countsOf(terms)) {
      const postings = this.#postings.get(term) ?? new Map<string, number>();
      postings.set(id, count);
      this.#postings.set(term, postings);
    }
  }

  /** False where there was nothing. */
  remove(id: string): boolean {
    const terms = this.#terms.get(id);
    if (terms === undefined) return false;
    this.#terms.delete(id);
    this.#length -= terms.length;
    for (const term of new Set(terms)) {
      const postings = this.#postings.get(term);
      postings?.delete(id);
      if (postings?.size === 0) this.#postings.delete(term);
    }
    return true;
  }

  /** The best texts for a query, those alone that `accepts` takes; equal scores in the order of their ids. */
  search(query: string, limit: number, accepts: (id: string) => boolean = () => true): readonly KeywordHit[] {
    const scores = new Map<string, number>();
    const average = this.#length / Math.max(1, this.size);
    for (const [term, times] of countsOf(searchTerms(query))) {
      const postings = this.#postings.get(term);
      if (postings === undefined) continue;
      const rarity = Math.log(1 + (this.size - postings.size + 0.5) / (postings.size + 0.5));
      for (const [id, count] of postings) {
        const length = this.#terms.get(id)?.length ?? 0;
        const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / average));
        scores.set(id, (scores.get(id) ?? 0) + times * rarity * weight);
      }
    }
    return [...scores]
      .filter(([id]) => accepts(id))
      .map(([id, raw]) => ({ id, raw }))
      .sort((left, right) => right.raw - left.raw || (left.id < right.id ? -1 : 1))
      .slice(0, limit);
  }
}

function countsOf(terms: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}
