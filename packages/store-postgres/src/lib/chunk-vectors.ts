/** The vectors of a chunk store: what they are made with, and how they are written. */

import { checkVector } from "@openfunctions/core/search";
import { type SQL, sql } from "drizzle-orm/sql/sql";
import type { Session } from "./database.ts";
import type { PlannerStatistics } from "./planner-statistics.ts";
import type { Tables } from "./tables.ts";
import type { StoredEmbedding } from "./vector-search.ts";

/** One name of a database's chunk stores, and whether it can hold vectors. */
export interface ChunkPlace {
  readonly tables: Tables;
  readonly store: string;
  readonly vectors: boolean;
  readonly statistics: PlannerStatistics;
}

/**
 * What vectors are made with. With a lock it stays so until the transaction ends; one to `update` waits for writers. What
 * is to happen in the same statement stands in `also`, as further columns.
 */
export async function findEmbedding(
  session: Session,
  { tables, store }: ChunkPlace,
  { lock, also = sql`` }: { readonly lock?: "share" | "update"; readonly also?: SQL } = {},
): Promise<StoredEmbedding | undefined> {
  const row = await session.get(sql`SELECT number, model, dimensions${also} FROM ${tables.embeddings}
    WHERE store = ${store} ${lock === undefined ? sql`` : LOCKS[lock]}`);
  if (row === undefined) return undefined;
  const { number, model, dimensions } = row;
  return { number: Number(number), model: String(model), dimensions: Number(dimensions) };
}

const LOCKS = { share: sql`FOR SHARE`, update: sql`FOR UPDATE` } as const;

/** Throws `StoreError` `embedding_mismatch` for a vector of another length or model, `InputError` for what is no vector. */
export function checkDimensions(
  vectors: Iterable<readonly number[]>,
  embedding: StoredEmbedding | undefined,
  model: string | undefined = embedding?.model,
): asserts embedding is StoredEmbedding {
  for (const vector of vectors) checkVector(vector, embedding, model);
  if (embedding === undefined) checkVector([], embedding, model);
}

/** Vectors by the ids of their chunks, and what they were made with. */
export interface NewVectors {
  readonly vectors: ReadonlyMap<string, readonly number[]>;
  readonly model: string | undefined;
}

/** Gives the chunks of these ids their vectors; ids that are gone are passed over. */
export async function writeVectors(
  session: Session,
  { vectors, model }: NewVectors,
  place: ChunkPlace,
): Promise<void> {
  if (vectors.size === 0) return;
  const { tables, store } = place;
  const embedding = await findEmbedding(session, place, { lock: "share" });
  checkDimensions(vectors.values(), embedding, model);
  const rows = [...vectors].map(([id, vector]) => ({ id, vector: JSON.stringify(vector) }));
  await session.run(sql`INSERT INTO ${tables.vectors} (chunk, embedding, vector)
    SELECT c.number, ${embedding.number}::int, v.vector::vector
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS v(id text, vector text)
      JOIN ${tables.chunks} c ON c.store = ${store} AND c.id = v.id
    ON CONFLICT (chunk) DO UPDATE SET embedding = excluded.embedding, vector = excluded.vector`);
}
