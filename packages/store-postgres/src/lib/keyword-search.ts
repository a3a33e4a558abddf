/** Search by word: an index of terms finds candidates, and BM25 ranks them. */

import type { ChunkScope, KeywordHit } from "@openfunctions/core/search";
import { type SQL, sql } from "drizzle-orm/sql/sql";
import type { Session } from "./database.ts";
import { scopeSql } from "./scope-sql.ts";
import type { Tables } from "./tables.ts";
import { queryTerms } from "./term-vector.ts";

/** Where and how many. */
export interface KeywordSearch {
  readonly tables: Tables;
  readonly store: string;
  readonly scope: ChunkScope;
  readonly limit: number;
}

// Those of the index in memory.
const K1 = 0.9;
const B = 0.4;
const MIN_CANDIDATES = 200;
const MAX_CANDIDATES = 500;

/**
 * The chunks in the scope that hold a word of the query, best first and at most 500. Candidates are those whose words
 * are rarest together; rarity and average length are those of the scope, so that no other owner's texts show in a score.
 */
export async function searchKeyword(
  session: Session,
  query: string,
  { tables, store, scope, limit }: KeywordSearch,
): Promise<readonly KeywordHit[]> {
  const terms = queryTerms(query);
  if (terms.length === 0 || scope.owners.length === 0) return [];
  const within = scopeSql(store, scope);
  const candidates = Math.min(MAX_CANDIDATES, Math.max(MIN_CANDIDATES, 4 * limit));
  const any = terms.map(({ lexeme }) => lexeme).join(" | ");
  const rows = await session.all(sql`
    WITH query AS MATERIALIZED (
      SELECT term, times, lexeme::tsquery AS lexeme
      FROM json_to_recordset(${JSON.stringify(terms)}::json) AS q(term text, times integer, lexeme text)
    ), collection AS MATERIALIZED (
      SELECT coalesce(sum(d.chunk_count), 0)::float8 AS size,
        (sum(d.term_count) / greatest(sum(d.chunk_count), 1))::float8 AS average
      FROM ${tables.documents} d WHERE ${within}
    ), matched AS MATERIALIZED (
      SELECT number, id, ARRAY(SELECT q.term FROM query q WHERE terms @@ q.lexeme) AS found
      FROM (
        -- Unpacked once for each chunk instead of once for each term; OFFSET keeps it so.
        SELECT c.number, c.id, strip(c.terms) AS terms
        FROM ${tables.chunks} c JOIN ${tables.documents} d ON d.number = c.document
        WHERE ${within} AND c.terms @@ ${any}::tsquery OFFSET 0
      ) AS unpacked
    ), rarity AS MATERIALIZED (
      SELECT q.term, q.times * ln(1 + (size - count(*) + 0.5) / (count(*) + 0.5)) AS weight
      FROM matched CROSS JOIN unnest(found) AS f(term) JOIN query q ON q.term = f.term CROSS JOIN collection
      GROUP BY q.term, q.times, size
    ), candidates AS MATERIALIZED (
      SELECT m.number FROM matched m CROSS JOIN unnest(m.found) AS f(term) JOIN rarity r ON r.term = f.term
      GROUP BY m.number, m.id ORDER BY sum(r.weight ORDER BY r.term) DESC, m.id LIMIT ${candidates}::bigint
    )
    SELECT c.id, sum(r.weight * ${frequencyWeight(sql`t.times`, sql`c.term_count`)} ORDER BY r.term) AS raw
    FROM candidates JOIN ${tables.chunks} c ON c.number = candidates.number CROSS JOIN collection
      CROSS JOIN LATERAL (SELECT lexeme, cardinality(positions)::float8 AS times FROM unnest(c.terms)) AS t
      JOIN rarity r ON r.term = t.lexeme
    GROUP BY c.id ORDER BY raw DESC, c.id LIMIT ${limit}::bigint`);
  return rows.map((row) => ({ id: String(row["id"]), raw: Number(row["raw"]) }));
}

function frequencyWeight(times: SQL, length: SQL): SQL {
  const [k1, b] = [sql.raw(`${K1}::float8`), sql.raw(`${B}::float8`)];
  return sql`(${times} * (${k1} + 1) / (${times} + ${k1} * (1 - ${b} + ${b} * ${length} / average)))`;
}
