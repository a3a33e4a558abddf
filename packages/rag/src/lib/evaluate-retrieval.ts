/** How well a search finds what people judged relevant: the measures that public collections are told in. */

import { InputError } from "@openfunctions/core";

/** A search and what it should find. */
export interface RetrievalCase {
  readonly queries: Iterable<{ readonly id: string; readonly text: string }>;
  /** The grades of documents by query id: above 0 is relevant, and more is better. */
  readonly relevant: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** The ids of documents, best first, at most `limit`. */
  readonly search: (text: string, limit: number) => Promise<readonly string[]>;
  /** How far down recall looks. Default 10 and 100. The first relevant document counts down to the last of them. */
  readonly k?: readonly number[];
}

/** Means over all queries that have a relevant document, each from 0 to 1. */
export interface RetrievalQuality {
  /** Normalised discounted cumulative gain of the first ten: the gain is the grade, the discount log2(rank + 1). */
  readonly ndcg10: number;
  /** The share of the relevant documents among the first k, by k. */
  readonly recall: { readonly [k: number]: number };
  /** One over the rank of the first relevant document; 0 where none was found. */
  readonly mrr: number;
  /** How many queries were counted. */
  readonly queries: number;
}

const NDCG_DEPTH = 10;

/**
 * Asks every query that has a relevant document, one after the other. A document that a search gives twice counts
 * where it came first. Throws `InputError` for a k that is no whole number above 0, for an endless grade, and where no query counts.
 */
export async function evaluateRetrieval({
  queries,
  relevant,
  search,
  k = [10, 100],
}: RetrievalCase): Promise<RetrievalQuality> {
  for (const one of k)
    if (!Number.isInteger(one) || one < 1)
      throw new InputError(`"k" holds ${String(one)}; use whole numbers above 0.`);
  const depth = Math.max(NDCG_DEPTH, ...k);
  const each: RetrievalQuality[] = [];
  for (const { id, text } of queries) {
    const grades = new Map([...(relevant.get(id) ?? [])].filter(([, grade]) => grade > 0));
    if (grades.size === 0) continue;
    if ([...grades.values()].some((grade) => !Number.isFinite(grade)))
      throw new InputError(`The query "${id}" has a grade that is no finite number.`);
    const found = [...new Set(await search(text, depth))].slice(0, depth);
    each.push(qualityOf(found, { grades, k }));
  }
  if (each.length === 0)
    throw new InputError("No query has a relevant document, so there is nothing to measure.");
  const mean = (valueOf: (one: RetrievalQuality) => number): number =>
    each.reduce((sum, one) => sum + valueOf(one), 0) / each.length;
  return {
    ndcg10: mean(({ ndcg10 }) => ndcg10),
    recall: Object.fromEntries(k.map((one) => [one, mean(({ recall }) => recall[one] ?? 0)])),
    mrr: mean(({ mrr }) => mrr),
    queries: each.length,
  };
}

function qualityOf(
  found: readonly string[],
  { grades, k }: { readonly grades: ReadonlyMap<string, number>; readonly k: readonly number[] },
): RetrievalQuality {
  const gains = found.map((id) => grades.get(id) ?? 0);
  const best = [...grades.values()].sort((left, right) => right - left);
  const first = gains.findIndex((gain) => gain > 0);
  const share = (depth: number): number =>
    gains.slice(0, depth).filter((gain) => gain > 0).length / grades.size;
  return {
    ndcg10: discounted(gains) / discounted(best),
    recall: Object.fromEntries(k.map((one) => [one, share(one)])),
    mrr: first === -1 ? 0 : 1 / (first + 1),
    queries: 1,
  };
}

function discounted(gains: readonly number[]): number {
  return gains.slice(0, NDCG_DEPTH).reduce((sum, gain, index) => sum + gain / Math.log2(index + 2), 0);
}
