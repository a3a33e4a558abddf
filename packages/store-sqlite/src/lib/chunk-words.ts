/** The words of one chunk store: an FTS5 table of the terms that core cuts, held in no second place. */

import { type ChunkScope, type KeywordHit, searchTerms } from "@openfunctions/core/search";
import { scopeSql } from "./chunk-scope-sql.ts";
import type { Database } from "./database.ts";
import { fromKeyBytes } from "./key-bytes.ts";

/** More words of a query than this are passed over; each is looked up in every chunk that holds one of them. */
const MAX_QUERY_TERMS = 256;

/**
 * Makes the table of a store. Its tokenizer parts terms at spaces and at nothing else: core's terms are letters and
 * digits, and `ascii` takes every other character for a letter.
 */
export function makeWords(database: Database, store: number): void {
  database.execute(
    `CREATE VIRTUAL TABLE ${tableOf(store)} USING fts5(terms, content='', contentless_delete=1, tokenize='ascii')`,
  );
}

/** Within a transaction: what a chunk is found by. */
export function addWords(
  database: Database,
  store: number,
  { chunk, content }: { readonly chunk: number; readonly content: string },
): void {
  const sql = `INSERT INTO ${tableOf(store)} (rowid, terms) VALUES (?, ?)`;
  database.run(sql, [chunk, searchTerms(content).join(" ")]);
}

/** Within a transaction, while the chunks are there: those of a document are found no more. */
export function removeWords(database: Database, store: number, document: number): void {
  const chunks = "SELECT n FROM openfunctions_chunks WHERE document = ?";
  database.run(`DELETE FROM ${tableOf(store)} WHERE rowid IN (${chunks})`, [document]);
}

/**
 * The chunks of a scope with any of the query's words, best first, equal ones in the order of their ids. FTS5 gives its
 * rows in the order of their rank, so the scope is looked at for one after the other until there are enough.
 */
export function searchWords(
  database: Database,
  store: number,
  { scope, query, limit }: { readonly scope: ChunkScope; readonly query: string; readonly limit: number },
): readonly KeywordHit[] {
  const terms = termsOf(query);
  if (terms.length === 0) return [];
  const { sql, parameters } = scopeSql(scope);
  const hits: KeywordHit[] = [];
  database.each(
    `SELECT chunk.id, words.rank FROM ${tableOf(store)}(?) AS words
     CROSS JOIN openfunctions_chunks AS chunk ON chunk.n = words.rowid
     CROSS JOIN openfunctions_documents AS document ON document.n = chunk.document
     WHERE ${sql} ORDER BY words.rank`,
    [terms.map((term) => `"${term}"`).join(" OR "), ...parameters],
    (row) => {
      const raw = -Number(row["rank"]);
      if (hits.length >= limit && raw < (hits.at(-1)?.raw ?? raw)) return false;
      hits.push({ id: fromKeyBytes(row["id"]), raw });
      return true;
    },
  );
  return hits.sort((left, right) => right.raw - left.raw || (left.id < right.id ? -1 : 1)).slice(0, limit);
}

/** Each term once, and those that come again after them: they count as often as they are said. */
function termsOf(query: string): readonly string[] {
  const seen = new Set<string>();
  const again = searchTerms(query).filter((term) => seen.size === seen.add(term).size);
  return [...seen, ...again].slice(0, MAX_QUERY_TERMS);
}

function tableOf(store: number): string {
  return `openfunctions_words_${store}`;
}
