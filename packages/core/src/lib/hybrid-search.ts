/** Keyword and vector search as one ranking, which says how it was made. */

import type { KeywordHit } from "./bm25.ts";
import { type Embedder, embedChecked } from "./embedder.ts";
import { checkLimit } from "./store.ts";
import { InputError } from "./errors.ts";
import { type Clock, systemClock } from "./ports.ts";

/** A text near the query's vector. */
export interface VectorHit {
  readonly id: string;
  readonly cosine: number;
}

/** What is searched. Both give at most `limit` hits, best first. */
export interface SearchSource {
  keyword(query: string, limit: number): Promise<readonly KeywordHit[]>;
  /** Left out where there are no vectors. */
  vector?(vector: readonly number[], limit: number): Promise<readonly VectorHit[]>;
}

/** How a search is made. */
export interface HybridOptions {
  /** Default 10. */
  readonly limit?: number;
  readonly embedder?: Embedder | undefined;
  /** Default 1 and 1. Given, they count for an embedder that is not semantic too. */
  readonly weights?: { readonly keyword: number; readonly vector: number };
  /** Hits below are left out; scores are from 0 to 1. */
  readonly minScore?: number | undefined;
  /** Vector hits below are left out. */
  readonly minCosine?: number | undefined;
  /** How long embedding the query may take, in milliseconds. Default 3,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock;
}

/** One hit: the best possible score is 1. Ranks count from 1. */
export interface RankedHit {
  readonly id: string;
  readonly score: number;
  readonly parts: {
    readonly keyword?: { readonly rank: number; readonly raw: number };
    readonly vector?: { readonly rank: number; readonly cosine: number };
  };
}

/** Hits and how they were found; `reason` says why it was by keyword alone. */
export interface Ranking {
  readonly mode: "hybrid" | "keyword";
  readonly reason?: string;
  readonly hits: readonly RankedHit[];
  /** How many hits there were before the limit, among the candidates. */
  readonly total: number;
}

const RANK_OFFSET = 60;
const MIN_CANDIDATES = 50;
const QUERY_TIMEOUT_MS = 3_000;

/**
 * Asks both for `max(50, 5 * limit)` candidates and fuses their ranks: `sum(w / (60 + rank)) / sum(w / 61)`. Without
 * an embedder, with one that knows no meaning, or where embedding the query fails, the ranking is by keyword and says
 * why: it never passes for a semantic one, and weights do not count. Throws `InputError` for numbers that are none. Equal scores stand in the order of their ids. Spec state.md section 6.
 */
export async function hybridSearch(
  source: SearchSource,
  query: string,
  options: HybridOptions = {},
): Promise<Ranking> {
  const { limit = 10, weights = { keyword: 1, vector: 1 }, minScore = 0, minCosine = -1 } = options;
  checkLimit(limit);
  checkNumbers({ weights, minScore, minCosine });
  const candidates = Math.max(MIN_CANDIDATES, 5 * limit);
  const [keyword, embedded] = await Promise.all([
    source.keyword(query, candidates),
    embedQuery(source, query, options),
  ]);
  const near = "vector" in embedded ? await source.vector?.(embedded.vector, candidates) : undefined;
  const vector = near?.filter((hit) => hit.cosine >= minCosine);
  const parts = new Map<string, RankedHit["parts"]>();
  for (const [index, { id, raw }] of keyword.entries()) parts.set(id, { keyword: { rank: index + 1, raw } });
  for (const [index, { id, cosine }] of (vector ?? []).entries())
    parts.set(id, { ...parts.get(id), vector: { rank: index + 1, cosine } });
  const counted = vector === undefined ? { keyword: 1, vector: 0 } : weights;
  const most = (counted.keyword + counted.vector) / (RANK_OFFSET + 1);
  const scoreOf = (part: RankedHit["parts"]): number =>
    (shareOf(counted.keyword, part.keyword) + shareOf(counted.vector, part.vector)) / most;
  const found = [...parts]
    .map(([id, part]) => ({ id, score: scoreOf(part), parts: part }))
    .filter(({ score }) => score >= minScore)
    .sort((left, right) => right.score - left.score || (left.id < right.id ? -1 : 1));
  const [hits, total] = [found.slice(0, limit), found.length];
  return "reason" in embedded
    ? { mode: "keyword", reason: embedded.reason, hits, total }
    : { mode: "hybrid", hits, total };
}

function checkNumbers({
  weights: { keyword, vector },
  minScore,
  minCosine,
}: Required<Pick<HybridOptions, "weights">> & {
  readonly minScore: number;
  readonly minCosine: number;
}): void {
  const sum = keyword + vector;
  if (!(keyword >= 0 && vector >= 0 && sum > 0 && Number.isFinite(sum)))
    throw new InputError('"weights" are numbers from 0 on, and not both 0.');
  if (Number.isNaN(minScore) || Number.isNaN(minCosine))
    throw new InputError('"minScore" and "minCosine" are numbers.');
}

function shareOf(weight: number, part: { readonly rank: number } | undefined): number {
  return part === undefined ? 0 : weight / (RANK_OFFSET + part.rank);
}

async function embedQuery(
  source: SearchSource,
  query: string,
  { embedder, weights, timeoutMs = QUERY_TIMEOUT_MS, signal, clock = systemClock }: HybridOptions,
): Promise<{ readonly vector: readonly number[] } | { readonly reason: string }> {
  signal?.throwIfAborted();
  if (embedder === undefined || source.vector === undefined) return { reason: "no embedder configured" };
  if (!embedder.semantic && weights === undefined) return { reason: "embedder is not semantic" };
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  try {
    const both = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
    const stopped = new Promise<never>((_, reject) => {
      both.addEventListener("abort", () => reject(both.reason), { once: true });
    });
    const embedding = embedChecked(embedder, [query], { kind: "query", signal: both });
    const [vector] = await Promise.race([embedding, stopped]);
    return vector === undefined ? { reason: "embedder gave nothing" } : { vector };
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    return { reason: late.signal.aborted ? "embedder timed out" : "embedder failed" };
  } finally {
    cancel();
  }
}
