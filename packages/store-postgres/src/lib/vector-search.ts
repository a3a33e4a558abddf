/** Search by vector: an index finds what is near, and where it finds too little every vector is looked at. */

import type { ChunkScope, VectorHit } from "@openfunctions/core/search";
import { type SQL, sql } from "drizzle-orm/sql/sql";
import type { Row } from "./driver.ts";
import type { Session } from "./database.ts";
import { scopeSql } from "./scope-sql.ts";
import type { Tables } from "./tables.ts";

/** What the vectors of a store were made with, and the number they are kept under. */
export interface StoredEmbedding {
  readonly number: number;
  readonly model: string;
  readonly dimensions: number;
}

/** Where and how many. */
export interface VectorSearch {
  readonly tables: Tables;
  readonly store: string;
  readonly scope: ChunkScope;
  readonly limit: number;
  readonly embedding: StoredEmbedding;
}

// The largest vector that pgvector can index, and what it can hold: https://github.com/pgvector/pgvector#hnsw
const MAX_INDEXED = 2_000;
/** The longest vector that a store takes. */
export const MAX_DIMENSIONS = 16_000;
// What pgvector looks at by default and at most.
const MIN_LOOKED_AT = 40;
const MAX_LOOKED_AT = 1_000;

/** Makes the index of an embedding that has no vectors yet, and removes that of an earlier one. */
export async function resetVectorIndex(
  session: Session,
  { prefix }: Tables,
  { old, next }: { readonly old?: StoredEmbedding | undefined; readonly next: StoredEmbedding },
): Promise<void> {
  if (old !== undefined) await session.execute(`DROP INDEX IF EXISTS ${prefix}_vectors_near_${old.number}`);
  if (next.dimensions > MAX_INDEXED) return;
  await session.execute(`CREATE INDEX ${prefix}_vectors_near_${next.number} ON ${prefix}_vectors
    USING hnsw ((vector::vector(${next.dimensions})) vector_cosine_ops) WITH (m = 16, ef_construction = 64)
    WHERE embedding = ${next.number}`);
}

/** The settings of a search through the index, until the transaction ends, as columns of a statement before it. */
export function scanSettings(limit: number): SQL {
  const lookAt = Math.min(MAX_LOOKED_AT, Math.max(MIN_LOOKED_AT, limit));
  return sql`, set_config('hnsw.iterative_scan', 'strict_order', true),
    set_config('hnsw.ef_search', ${String(lookAt)}::text, true)`;
}

/** The chunks in the scope nearest to a vector, best first. Runs in a transaction with `scanSettings`. */
export async function searchVector(
  session: Session,
  vector: readonly number[],
  search: VectorSearch,
): Promise<readonly VectorHit[]> {
  const { embedding, limit, scope } = search;
  if (scope.owners.length === 0) return [];
  const text = JSON.stringify(vector);
  // What has no direction is in no index of directions.
  if (embedding.dimensions <= MAX_INDEXED && vector.some((value) => value !== 0)) {
    const size = sql.raw(String(embedding.dimensions));
    const distance = sql`v.vector::vector(${size}) <=> ${text}::vector(${size})`;
    const near = await session.all(nearSql(distance, sql``, search));
    if (near.length >= limit) return toHits(near);
  }
  const distance = sql`coalesce(nullif(v.vector <=> ${text}::vector, 'NaN'), 1)`;
  return toHits(await session.all(nearSql(distance, sql`, c.id`, search)));
}

/** Ordered by the expression of the index, or by another one, which no index serves, and then by `ties`. */
function nearSql(distance: SQL, ties: SQL, { tables, store, scope, limit, embedding }: VectorSearch): SQL {
  // Named once: the vector is the longest part of the statement by far.
  return sql`SELECT id, 1 - distance AS cosine FROM (SELECT c.id, ${distance} AS distance
    FROM ${tables.vectors} v
      JOIN ${tables.chunks} c ON c.number = v.chunk
      JOIN ${tables.documents} d ON d.number = c.document
    WHERE v.embedding = ${sql.raw(String(embedding.number))} AND ${scopeSql(store, scope)}
    ORDER BY distance${ties} LIMIT ${limit}::bigint) AS near`;
}

function toHits(rows: readonly Row[]): readonly VectorHit[] {
  return rows
    .map((row) => ({ id: String(row["id"]), cosine: Number(row["cosine"]) }))
    .toSorted((left, right) => right.cosine - left.cosine || (left.id < right.id ? -1 : 1));
}
