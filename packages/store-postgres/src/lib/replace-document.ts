/** A document with its chunks in the place of what its source held. */

import { StoreError } from "@openfunctions/core";
import type { DocumentRecord, NewChunk } from "@openfunctions/core/search";
import { sql } from "drizzle-orm/sql/sql";
import { type ChunkPlace, writeVectors } from "./chunk-vectors.ts";
import type { Session } from "./database.ts";
import { scopeSql } from "./scope-sql.ts";
import { termVector } from "./term-vector.ts";

/** What is written. */
export interface NewDocument {
  readonly document: DocumentRecord;
  readonly chunks: readonly NewChunk[];
  /** What their vectors were made with. */
  readonly model: string | undefined;
}

interface ChunkRow {
  readonly id: string;
  readonly start_at: number;
  readonly end_at: number;
  readonly hash: string;
  readonly place: string;
  readonly content: string;
  readonly term_count: number;
  readonly terms: string;
}

// A statement of this many chunks stays a few megabytes long.
const WRITTEN_AT_ONCE = 500;

/** How many chunks left. Runs in a transaction. Throws `StoreError` `store_conflict` where the document is there already. */
export async function replaceDocument(
  session: Session,
  { document, chunks, model }: NewDocument,
  place: ChunkPlace,
): Promise<number> {
  const { tables, store } = place;
  const { id, owner, sourceId } = document;
  const rows = chunks.map(toRow);
  // Two writers of one source come one after the other.
  const source = JSON.stringify([tables.prefix, store, owner, sourceId]);
  await session.run(sql`SELECT pg_advisory_xact_lock(hashtextextended(${source}::text, 0))`);
  const same = await session.get(sql`SELECT 1 AS found FROM ${tables.documents} d
    WHERE d.store = ${store} AND d.id = ${id}`);
  if (same !== undefined)
    throw new StoreError(`The document "${id}" is there already.`, { code: "store_conflict" });
  const left = await session.all(sql`DELETE FROM ${tables.documents} d
    WHERE ${scopeSql(store, { owners: [owner] })} AND d.source_id = ${sourceId} RETURNING d.chunk_count`);
  const made = await session.get(sql`INSERT INTO ${tables.documents}
      (store, id, owner, source_id, record, metadata, chunk_count, term_count)
    VALUES (${store}, ${id}, ${owner}, ${sourceId}, ${JSON.stringify(document)},
      ${JSON.stringify(document.metadata)}::jsonb, ${rows.length}::int,
      ${rows.reduce((sum, row) => sum + row.term_count, 0)}::bigint)
    RETURNING number`);
  for (let from = 0; from < rows.length; from += WRITTEN_AT_ONCE)
    await writeChunks(session, rows.slice(from, from + WRITTEN_AT_ONCE), {
      ...place,
      document: Number(made?.["number"]),
    });
  await writeVectors(session, { vectors: vectorsOf(chunks), model }, place);
  return left.reduce((sum, row) => sum + Number(row["chunk_count"]), 0);
}

async function writeChunks(
  session: Session,
  rows: readonly ChunkRow[],
  { tables, store, document }: ChunkPlace & { readonly document: number },
): Promise<void> {
  await session.run(sql`INSERT INTO ${tables.chunks}
      (document, store, id, start_at, end_at, hash, place, content, term_count, terms)
    SELECT ${document}::bigint, ${store}, id, start_at, end_at, hash, place, content, term_count, terms::tsvector
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS r(id text, start_at integer, end_at integer, hash text,
      place text, content text, term_count integer, terms text)`);
}

function toRow({ id, start, end, hash, content, headings, page }: NewChunk): ChunkRow {
  const { vector, count } = termVector(content);
  const place = JSON.stringify({ headings, page });
  return { id, start_at: start, end_at: end, hash, place, content, term_count: count, terms: vector };
}

function vectorsOf(chunks: readonly NewChunk[]): ReadonlyMap<string, readonly number[]> {
  return new Map(chunks.flatMap(({ id, vector }) => (vector === undefined ? [] : [[id, vector] as const])));
}
