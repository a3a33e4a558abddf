/** How good a search is, on questions with judged answers: nDCG, recall and MRR as trec_eval counts them. */

import { InputError } from "@openfunctions/core";

/** Queries by id, and which documents answer them how well (0 is not at all). */
export interface RetrievalSet {
  readonly queries: ReadonlyMap<string, string>;
  readonly judgements: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Means over the queries that have an answer; from 0 to 1. */
export interface RetrievalScores {
  readonly cutoff: number;
  /** Queries with at least one document that answers them; the others are not asked. */
  readonly queries: number;
  /** Gains as judged, discounted by log2(rank + 1), against the best order there is. */
  readonly ndcg: number;
  /** The share of the documents that answer a query among the first `cutoff`. */
  readonly recall: number;
  /** One over the rank of the first document that answers; 0 below the cutoff. */
  readonly mrr: number;
}

/** How a search is judged. */
export interface EvaluationOptions {
  /** How many documents count. Default 10. */
  readonly cutoff?: number;
  readonly signal?: AbortSignal;
  /** Called after each query. */
  readonly onProgress?: (done: number, of: number) => void;
}

/**
 * Asks every query. `search` gives the ids of documents, best first; a document that comes again counts once. Throws
 * `InputError` where no query has an answer.
 */
export async function evaluateRetrieval(
  search: (query: string) => Promise<readonly string[]>,
  { queries, judgements }: RetrievalSet,
  { cutoff = 10, signal, onProgress }: EvaluationOptions = {},
): Promise<RetrievalScores> {
  if (!Number.isInteger(cutoff) || cutoff < 1)
    throw new InputError(`"cutoff" is ${String(cutoff)}; use a whole number above 0.`);
  const asked = [...queries].flatMap(([id, query]) => {
    const gains = [...(judgements.get(id) ?? [])].filter(([, gain]) => gain > 0);
    return gains.length === 0 ? [] : [{ query, gains: new Map(gains) }];
  });
  if (asked.length === 0) throw new InputError("No query of the set has a document that answers it.");
  let [ndcg, recall, mrr] = [0, 0, 0];
  for (const [index, { query, gains }] of asked.entries()) {
    signal?.throwIfAborted();
    const ranked = [...new Set(await search(query))].slice(0, cutoff);
    const found = ranked.map((id) => gains.get(id) ?? 0);
    const best = [...gains.values()].toSorted((left, right) => right - left).slice(0, cutoff);
    const first = found.findIndex((gain) => gain > 0);
    ndcg += discounted(found) / discounted(best);
    recall += found.filter((gain) => gain > 0).length / gains.size;
    mrr += first === -1 ? 0 : 1 / (first + 1);
    onProgress?.(index + 1, asked.length);
  }
  const count = asked.length;
  return { cutoff, queries: count, ndcg: ndcg / count, recall: recall / count, mrr: mrr / count };
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, index) => sum + gain / Math.log2(index + 2), 0);
}
