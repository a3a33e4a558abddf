/** Documents in chunks in Postgres. */

import { InputError, StoreError } from "@openfunctions/core";
import type {
  Chunk,
  ChunkScope,
  ChunkStore,
  DocumentPage,
  DocumentRecord,
  EmbeddingState,
  KeywordHit,
  NewChunk,
  VectorHit,
} from "@openfunctions/core/search";
import { checkLimit, checkStoreName, storeClosed } from "@openfunctions/core/stores";
import { type SQL, sql } from "drizzle-orm/sql/sql";
import { checkDimensions, type ChunkPlace, findEmbedding, writeVectors } from "./chunk-vectors.ts";
import type { Database } from "./database.ts";
import type { Row } from "./driver.ts";
import { searchKeyword } from "./keyword-search.ts";
import { replaceDocument } from "./replace-document.ts";
import { scopeSql, textRows } from "./scope-sql.ts";
import { MAX_DIMENSIONS, resetVectorIndex, scanSettings, searchVector } from "./vector-search.ts";

const DEFAULT_PAGE = 100;
const WHOLE = { start: 0, end: 2 ** 31 - 1 } as const;

/** One name of a database's chunk stores. */
export class PostgresChunkStore implements ChunkStore {
  readonly durability: "process" | "disk";
  readonly #database: Database;
  readonly #place: ChunkPlace;
  #closed = false;

  constructor(database: Database, place: ChunkPlace, durability: "process" | "disk") {
    checkStoreName(place.store);
    this.durability = durability;
    this.#database = database;
    this.#place = place;
  }

  async embedding(): Promise<EmbeddingState | undefined> {
    const database = this.#open();
    const { tables, store, vectors } = this.#place;
    if (!vectors) return undefined;
    const row = await database.get(sql`SELECT e.model, e.dimensions,
        (SELECT count(*) FROM ${tables.vectors} v WHERE v.embedding = e.number) AS vectors,
        (SELECT coalesce(sum(d.chunk_count), 0) FROM ${tables.documents} d WHERE d.store = e.store) AS chunks
      FROM ${tables.embeddings} e WHERE e.store = ${store}`);
    if (row === undefined) return undefined;
    const { model, dimensions, vectors: done, chunks } = row;
    return {
      model: String(model),
      dimensions: Number(dimensions),
      complete: Number(done) === Number(chunks),
    };
  }

  async resetEmbedding(next: { readonly model: string; readonly dimensions: number }): Promise<void> {
    const database = this.#open();
    const { tables, store } = this.#place;
    const { model, dimensions } = next;
    if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > MAX_DIMENSIONS)
      throw new InputError(
        `"dimensions" is ${String(dimensions)}; use a whole number from 1 to ${MAX_DIMENSIONS}.`,
      );
    this.#needVectors();
    await database.transaction(async (session) => {
      const lock = JSON.stringify([tables.prefix, store]);
      await session.run(sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}::text, 0))`);
      const old = await findEmbedding(session, this.#place, { lock: "update" });
      if (old !== undefined)
        await session.run(sql`DELETE FROM ${tables.vectors} WHERE embedding = ${old.number}::int`);
      const row = await session.get(sql`INSERT INTO ${tables.embeddings} (store, model, dimensions)
        VALUES (${store}, ${model}, ${dimensions}::int)
        ON CONFLICT (store) DO UPDATE SET number = DEFAULT, model = excluded.model, dimensions = excluded.dimensions
        RETURNING number`);
      await resetVectorIndex(session, tables, {
        old,
        next: { number: Number(row?.["number"]), model, dimensions },
      });
    });
  }

  async withoutVector(limit: number): Promise<readonly { readonly id: string; readonly content: string }[]> {
    const database = this.#open();
    checkLimit(limit);
    const { tables, store, vectors } = this.#place;
    const isLeft = vectors
      ? sql`NOT EXISTS (SELECT 1 FROM ${tables.vectors} v WHERE v.chunk = c.number)`
      : sql`true`;
    const rows = await database.all(sql`SELECT c.id, c.content FROM ${tables.chunks} c
      WHERE c.store = ${store} AND ${isLeft} ORDER BY c.id LIMIT ${limit}::bigint`);
    return rows.map(({ id, content }) => ({ id: String(id), content: String(content) }));
  }

  async setVectors(vectors: ReadonlyMap<string, readonly number[]>, model?: string): Promise<void> {
    const database = this.#open();
    this.#needVectors();
    await database.transaction((session) => writeVectors(session, { vectors, model }, this.#place));
    await this.#place.statistics.count(vectors.size, this.#place);
  }

  async replace(
    document: DocumentRecord,
    chunks: readonly NewChunk[],
    model?: string,
  ): Promise<{ readonly removed: number }> {
    const database = this.#open();
    if (chunks.some(({ vector }) => vector !== undefined)) this.#needVectors();
    const removed = await database.transaction((session) =>
      replaceDocument(session, { document, chunks, model }, this.#place),
    );
    await this.#place.statistics.count(chunks.length, this.#place);
    return { removed };
  }

  async vectorsByHash(
    owner: string,
    hashes: readonly string[],
  ): Promise<ReadonlyMap<string, readonly number[]>> {
    const database = this.#open();
    const { tables, vectors } = this.#place;
    if (!vectors || hashes.length === 0) return new Map();
    const rows = await database.all(sql`SELECT DISTINCT ON (c.hash) c.hash, v.vector::text AS vector
      FROM ${tables.chunks} c JOIN ${tables.documents} d ON d.number = c.document
        JOIN ${tables.vectors} v ON v.chunk = c.number
      WHERE ${this.#within({ owners: [owner] })} AND c.hash IN ${textRows(hashes)}`);
    return new Map(rows.map((row) => [String(row["hash"]), parse<readonly number[]>(row["vector"])]));
  }

  async findSource(owner: string, sourceId: string): Promise<DocumentRecord | undefined> {
    const row = await this.#open().get(sql`SELECT d.record FROM ${this.#place.tables.documents} d
      WHERE ${this.#within({ owners: [owner] })} AND d.source_id = ${sourceId}`);
    return row && parse<DocumentRecord>(row["record"]);
  }

  async getDocument(scope: ChunkScope, id: string): Promise<DocumentRecord | undefined> {
    const row = await this.#open().get(sql`SELECT d.record FROM ${this.#place.tables.documents} d
      WHERE ${this.#within(scope)} AND d.id = ${id}`);
    return row && parse<DocumentRecord>(row["record"]);
  }

  async listDocuments(
    scope: ChunkScope,
    { limit = DEFAULT_PAGE, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<DocumentPage> {
    const database = this.#open();
    checkLimit(limit);
    const after = cursor === undefined ? sql`` : sql`AND d.id > ${cursor}`;
    const rows = await database.all(sql`SELECT d.record FROM ${this.#place.tables.documents} d
      WHERE ${this.#within(scope)} ${after} ORDER BY d.id LIMIT ${limit + 1}::bigint`);
    const documents = rows.slice(0, limit).map((row) => parse<DocumentRecord>(row["record"]));
    const last = documents.at(-1);
    return rows.length > limit && last !== undefined ? { documents, cursor: last.id } : { documents };
  }

  async readChunks(
    scope: ChunkScope,
    documentId: string,
    { start, end }: { readonly start: number; readonly end: number } = WHOLE,
  ): Promise<readonly Chunk[]> {
    const condition = sql`d.id = ${documentId} AND c.end_at > ${start}::float8 AND c.start_at < ${end}::float8`;
    return (await this.#chunks(scope, condition)).map(toChunk);
  }

  async getChunks(scope: ChunkScope, ids: readonly string[]): Promise<ReadonlyMap<string, Chunk>> {
    if (ids.length === 0) return this.#open() && new Map();
    const rows = await this.#chunks(scope, sql`c.store = ${this.#place.store} AND c.id IN ${textRows(ids)}`);
    return new Map(rows.map((row) => [String(row["id"]), toChunk(row)]));
  }

  async deleteDocument(owner: string, id: string): Promise<boolean> {
    return (await this.#delete(owner, sql`d.id = ${id}`)) > 0;
  }

  async deleteSource(owner: string, sourceId: string): Promise<number> {
    return this.#delete(owner, sql`d.source_id = ${sourceId}`);
  }

  async searchKeyword(scope: ChunkScope, query: string, limit: number): Promise<readonly KeywordHit[]> {
    const database = this.#open();
    checkLimit(limit);
    const { tables, store } = this.#place;
    return searchKeyword(database, query, { tables, store, scope, limit });
  }

  async searchVector(
    scope: ChunkScope,
    vector: readonly number[],
    limit: number,
  ): Promise<readonly VectorHit[]> {
    const database = this.#open();
    checkLimit(limit);
    this.#needVectors();
    const { tables, store } = this.#place;
    return database.transaction(async (session) => {
      const embedding = await findEmbedding(session, this.#place, { also: scanSettings(limit) });
      checkDimensions([vector], embedding);
      return searchVector(session, vector, { tables, store, scope, limit, embedding });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#database.idle();
  }

  #open(): Database {
    if (this.#closed) throw storeClosed();
    return this.#database;
  }

  #within(scope: ChunkScope): SQL {
    return scopeSql(this.#place.store, scope);
  }

  #needVectors(): void {
    if (this.#place.vectors) return;
    throw new StoreError("This store searches by word alone: its database has no pgvector.", {
      code: "no_pgvector",
      hint: 'Install pgvector 0.8 or later, run "CREATE EXTENSION vector;" and open the store again.',
    });
  }

  #chunks(scope: ChunkScope, condition: SQL): Promise<readonly Row[]> {
    const { tables } = this.#place;
    return this.#open().all(sql`SELECT c.id, d.id AS document, c.start_at, c.end_at, c.place, c.content
      FROM ${tables.chunks} c JOIN ${tables.documents} d ON d.number = c.document
      WHERE ${this.#within(scope)} AND ${condition} ORDER BY c.start_at, c.id`);
  }

  #delete(owner: string, condition: SQL): Promise<number> {
    return this.#open().run(
      sql`DELETE FROM ${this.#place.tables.documents} d WHERE ${this.#within({ owners: [owner] })} AND ${condition}`,
    );
  }
}

function toChunk(row: Row): Chunk {
  const { headings, page } = parse<Pick<Chunk, "headings" | "page">>(row["place"]);
  return {
    id: String(row["id"]),
    documentId: String(row["document"]),
    start: Number(row["start_at"]),
    end: Number(row["end_at"]),
    content: String(row["content"]),
    headings,
    ...(page === undefined ? {} : { page }),
  };
}

function parse<T>(text: unknown): T {
  return JSON.parse(String(text)) as T; // Proof: these columns hold what this package wrote into them
}
