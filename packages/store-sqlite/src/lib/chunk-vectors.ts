/** The vectors of one chunk store: all of them in memory once they are searched, and kept as the file has them. */

import type { Database, Row } from "./database.ts";
import { fromKeyBytes } from "./key-bytes.ts";
import { VectorIndex } from "./vector-index.ts";

/** A chunk store in an open file. */
export interface ChunkPlace {
  readonly database: Database;
  /** Its number in this file. */
  readonly store: number;
  readonly embedding?: { readonly model: string; readonly dimensions: number };
  /** How often a vector came, changed or left. */
  readonly changes: number;
}

/** So many changes are told one by one; who is further behind reads everything. */
const TOLD = 4_096;
/** More than are told. */
export const EVERY_VECTOR: number = TOLD + 1;

/** Within a transaction: counts changes, and tells other readers of which chunks they are. */
export function tellVectors(
  { database, store }: ChunkPlace,
  chunks: readonly number[],
  count: number = chunks.length,
): void {
  if (count === 0) return;
  const sql = "UPDATE openfunctions_chunk_stores SET changes = changes + ? WHERE n = ? RETURNING changes";
  const changes = Number(database.get(sql, [count, store])?.["changes"]);
  const insert = "INSERT INTO openfunctions_vector_changes (store, change, chunk) VALUES (?, ?, ?)";
  for (const [index, chunk] of chunks.slice(-TOLD).entries())
    database.run(insert, [store, changes - index, chunk]);
  const forget = "DELETE FROM openfunctions_vector_changes WHERE store = ? AND change <= ?";
  database.run(forget, [store, changes - TOLD]);
}

const VECTORS = `SELECT chunk.n, chunk.id, document, owner, vector FROM openfunctions_chunks AS chunk
  JOIN openfunctions_documents AS document ON document.n = document WHERE chunk.store = ? AND vector IS NOT NULL`;

/** What a process holds of the vectors of a store. */
export class HeldVectors {
  #index: VectorIndex | undefined;
  #changes = 0;

  /** Within a snapshot: the vectors as they are in it. Reads those that changed since it was last asked. */
  read({ database, store, changes, embedding }: ChunkPlace): VectorIndex {
    const behind = changes - this.#changes;
    let index = this.#index;
    if (index === undefined || behind > TOLD) {
      const count = database.get("SELECT count(*) AS size FROM openfunctions_chunks WHERE store = ?", [
        store,
      ]);
      index = new VectorIndex(embedding?.dimensions ?? 0, Number(count?.["size"]));
      for (const row of database.each(VECTORS, [store])) putRow(index, row);
    } else if (behind > 0) {
      const sql = "SELECT DISTINCT chunk FROM openfunctions_vector_changes WHERE store = ? AND change > ?";
      for (const { chunk } of database.all(sql, [store, this.#changes])) {
        const row = database.get(`${VECTORS} AND chunk.n = ?`, [store, Number(chunk)]);
        if (row === undefined) index.remove(Number(chunk));
        else putRow(index, row);
      }
    }
    this.#index = index;
    this.#changes = changes;
    return index;
  }
}

/** A vector as it lies in a row. */
export function toVectorBytes(vector: readonly number[] | undefined): Uint8Array | undefined {
  return vector && new Uint8Array(Float32Array.from(vector).buffer);
}

/** The numbers of a vector that lies in a row. */
export function fromVectorBytes(bytes: unknown): Float32Array {
  return bytes instanceof Uint8Array ? new Float32Array(bytes.slice().buffer) : new Float32Array();
}

function putRow(index: VectorIndex, row: Row): void {
  const [chunk, document] = [Number(row["n"]), Number(row["document"])];
  const [id, owner] = [fromKeyBytes(row["id"]), fromKeyBytes(row["owner"])];
  index.put({ chunk, id, document, owner }, fromVectorBytes(row["vector"]));
}
