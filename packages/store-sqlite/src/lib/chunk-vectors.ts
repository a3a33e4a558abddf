/** The vectors of one chunk store: rows in the file, and all of them in memory once they are searched. */

import type { ChunkScope, VectorHit } from "@openfunctions/core/search";
import { scopeSql } from "./chunk-scope-sql.ts";
import type { Database, Row } from "./database.ts";
import { fromKeyBytes } from "./key-bytes.ts";
import { VectorIndex } from "./vector-index.ts";

/** The row of a chunk store. */
export interface ChunkStoreRow {
  /** Its number in this file. */
  readonly n: number;
  readonly embedding?: { readonly model: string; readonly dimensions: number };
  /** How many changes of vectors there were. */
  readonly changes: number;
}

/** The vectors of a store as they were after so many changes; shared by whoever opens the store in this process. */
export interface HeldVectors {
  index?: VectorIndex;
  changes: number;
}

/** So many changes are told one by one; who is further behind reads everything. */
const TOLD = 4_096;

/** The chunks whose vectors were written or removed; within the transaction that does it. */
export function tellVectorChanges(database: Database, store: number, chunks: readonly number[]): void {
  if (chunks.length === 0) return;
  const sql = "UPDATE openfunctions_chunk_stores SET changes = changes + ? WHERE n = ? RETURNING changes";
  const changes = Number(database.get(sql, [chunks.length, store])?.["changes"]);
  if (chunks.length <= TOLD) {
    const insert = "INSERT INTO openfunctions_vector_changes (store, change, chunk) VALUES (?, ?, ?)";
    for (const [index, chunk] of chunks.entries()) database.run(insert, [store, changes - index, chunk]);
  }
  const forget = "DELETE FROM openfunctions_vector_changes WHERE store = ? AND change <= ?";
  database.run(forget, [store, changes - TOLD]);
}

/** Within a transaction: every vector of a store leaves. */
export function dropVectors(database: Database, store: number): void {
  database.run(
    "DELETE FROM openfunctions_chunk_vectors WHERE chunk IN (SELECT n FROM openfunctions_chunks WHERE store = ?)",
    [store],
  );
  database.run("UPDATE openfunctions_chunks SET embedded = 0 WHERE store = ? AND embedded = 1", [store]);
  database.run("UPDATE openfunctions_chunk_stores SET changes = changes + ? WHERE n = ?", [TOLD + 1, store]);
}

/** Within a transaction: gives a chunk its vector. */
export function writeVector(database: Database, chunk: number, vector: readonly number[]): void {
  const { buffer } = Float32Array.from(vector);
  const sql = `INSERT INTO openfunctions_chunk_vectors (chunk, vector) VALUES (?, ?)
    ON CONFLICT (chunk) DO UPDATE SET vector = excluded.vector`;
  database.run(sql, [chunk, new Uint8Array(buffer)]);
}

/** The numbers of a vector as it lies in a row. */
export function readVector(row: Row): Float32Array {
  const bytes = row["vector"];
  return bytes instanceof Uint8Array ? new Float32Array(bytes.slice().buffer) : new Float32Array();
}

/** Within a snapshot: the nearest vectors of a scope. Reads what was changed since the last search. */
export function searchVectors(
  database: Database,
  store: ChunkStoreRow & { readonly held: HeldVectors },
  {
    scope,
    vector,
    limit,
  }: {
    readonly scope: ChunkScope;
    readonly vector: readonly number[];
    readonly limit: number;
  },
): readonly VectorHit[] {
  const index = refresh(database, store);
  const documents = scope.filter === undefined ? undefined : documentsOf(database, store.n, scope);
  return index.nearest(vector, limit, { owners: new Set(scope.owners), documents });
}

function refresh(
  database: Database,
  { n, embedding, changes, held }: ChunkStoreRow & { readonly held: HeldVectors },
): VectorIndex {
  const behind = changes - held.changes;
  if (held.index === undefined || behind > TOLD || behind < 0) {
    held.index = readAll(database, n, embedding?.dimensions ?? 0);
  } else if (behind > 0) readChanges(database, { n, since: held.changes, index: held.index });
  held.changes = changes;
  return held.index;
}

const VECTORS = `SELECT chunk.n, chunk.id, chunk.document, document.owner, vector.vector
  FROM openfunctions_chunk_vectors AS vector
  JOIN openfunctions_chunks AS chunk ON chunk.n = vector.chunk
  JOIN openfunctions_documents AS document ON document.n = chunk.document`;

function readAll(database: Database, store: number, dimensions: number): VectorIndex {
  const count = database.get("SELECT count(*) AS size FROM openfunctions_chunks WHERE store = ?", [store]);
  const index = new VectorIndex(dimensions, Number(count?.["size"]));
  database.each(`${VECTORS} WHERE chunk.store = ?`, [store], (row) => {
    putRow(index, row);
    return true;
  });
  return index;
}

function readChanges(
  database: Database,
  { n, since, index }: { readonly n: number; readonly since: number; readonly index: VectorIndex },
): void {
  const sql = "SELECT DISTINCT chunk FROM openfunctions_vector_changes WHERE store = ? AND change > ?";
  for (const { chunk } of database.all(sql, [n, since])) {
    const row = database.get(`${VECTORS} WHERE vector.chunk = ? AND chunk.store = ?`, [Number(chunk), n]);
    if (row === undefined) index.remove(Number(chunk));
    else putRow(index, row);
  }
}

function putRow(index: VectorIndex, row: Row): void {
  const place = {
    chunk: Number(row["n"]),
    id: fromKeyBytes(row["id"]),
    document: Number(row["document"]),
    owner: fromKeyBytes(row["owner"]),
  };
  index.put(place, readVector(row));
}

function documentsOf(database: Database, store: number, scope: ChunkScope): ReadonlySet<number> {
  const { sql, parameters } = scopeSql(scope);
  const rows = database.all(
    `SELECT document.n FROM openfunctions_documents AS document WHERE document.store = ? AND ${sql}`,
    [store, ...parameters],
  );
  return new Set(rows.map((row) => Number(row["n"])));
}
