/** The words of a chunk store: an FTS5 table of the terms that core cuts, without a second copy of the text. */

import { type ChunkScope, type KeywordHit, searchTerms } from "@openfunctions/core/search";
import { scopeSql } from "./chunk-scope-sql.ts";
import type { ChunkPlace } from "./chunk-vectors.ts";
import { fromKeyBytes } from "./key-bytes.ts";

/** More words of a query are passed over: each is looked up in every chunk that holds one of them. */
const MAX_QUERY_TERMS = 256;

/** The table of a store. */
export function wordsOf({ store }: Pick<ChunkPlace, "store">): string {
  return `openfunctions_words_${store}`;
}

/** Makes the table. Terms are letters and digits, and its tokenizer takes all but ASCII for letters. */
export function makeWordsSql(store: number): string {
  const options = "content='', contentless_delete=1, tokenize='ascii'";
  return `CREATE VIRTUAL TABLE ${wordsOf({ store })} USING fts5(terms, ${options})`;
}

/**
 * The chunks of a scope with any of these words, best first, equal ones in the order of their ids. FTS5 gives its rows by
 * rank, and one after the other is held against the scope until there are enough.
 */
export function searchWords(
  place: ChunkPlace,
  query: string,
  { scope, limit }: { readonly scope: ChunkScope; readonly limit: number },
): readonly KeywordHit[] {
  const terms = termsOf(query).map((term) => `"${term}"`);
  if (terms.length === 0) return [];
  const { sql, parameters } = scopeSql(scope);
  const rows = place.database.each(
    `SELECT chunk.id, words.rank FROM ${wordsOf(place)}(?) AS words
     CROSS JOIN openfunctions_chunks AS chunk ON chunk.n = words.rowid
     CROSS JOIN openfunctions_documents AS document ON document.n = chunk.document
     WHERE ${sql} ORDER BY words.rank`,
    [terms.join(" OR "), ...parameters],
  );
  const hits: KeywordHit[] = [];
  for (const row of rows) {
    const raw = -Number(row["rank"]);
    if (hits.length >= limit && raw < (hits.at(-1)?.raw ?? raw)) break;
    hits.push({ id: fromKeyBytes(row["id"]), raw });
  }
  hits.sort((left, right) => right.raw - left.raw || (left.id < right.id ? -1 : 1));
  return hits.slice(0, limit);
}

/** Each term once, then those that are said again, which count again. */
function termsOf(query: string): readonly string[] {
  const seen = new Set<string>();
  const again = searchTerms(query).filter((term) => seen.size === seen.add(term).size);
  return [...seen, ...again].slice(0, MAX_QUERY_TERMS);
}
