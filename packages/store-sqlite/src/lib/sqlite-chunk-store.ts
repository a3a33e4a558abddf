/** Documents in chunks in a SQLite file: words by FTS5, vectors compared one by one. */

import { InputError, StoreError } from "@openfunctions/core";
import {
  checkVector,
  type Chunk,
  type ChunkScope,
  type ChunkStore,
  type DocumentPage,
  type DocumentRecord,
  type EmbeddingState,
  type KeywordHit,
  type NewChunk,
  searchTerms,
  type VectorHit,
} from "@openfunctions/core/search";
import { checkLimit, checkStoreName, storeClosed } from "@openfunctions/core/stores";
import { scopeSql, type SqlCondition } from "./chunk-scope-sql.ts";
import {
  type ChunkPlace,
  EVERY_VECTOR,
  fromVectorBytes,
  HeldVectors,
  tellVectors,
  toVectorBytes,
} from "./chunk-vectors.ts";
import { makeWordsSql, searchWords, wordsOf } from "./chunk-words.ts";
import type { Database, Parameter, Row } from "./database.ts";
import { toKeyBytes } from "./key-bytes.ts";
import type { VectorPlace } from "./vector-index.ts";

const DEFAULT_PAGE = 100;
const ALL = { start: 0, end: Number.MAX_SAFE_INTEGER };

/** One name of a file's chunk stores. */
export class SqliteChunkStore implements ChunkStore {
  readonly durability = "disk";
  readonly #database: Database;
  readonly #name: string;
  readonly #vectors = new HeldVectors();
  #closed = false;

  constructor(database: Database, name: string) {
    checkStoreName(name);
    this.#database = database;
    this.#name = name;
  }

  async embedding(): Promise<EmbeddingState | undefined> {
    return this.#read((place) => {
      if (place.embedding === undefined) return undefined;
      return { ...place.embedding, complete: withoutVector(place, 1).length === 0 };
    });
  }

  async resetEmbedding({ model, dimensions }: Omit<EmbeddingState, "complete">): Promise<void> {
    if (!Number.isInteger(dimensions) || dimensions < 1)
      throw new InputError(`"dimensions" is ${String(dimensions)}; use a whole number above 0.`);
    this.#write((place) => {
      const { database, store } = place;
      const drop = "UPDATE openfunctions_chunks SET vector = NULL WHERE store = ? AND vector IS NOT NULL";
      database.run(drop, [store]);
      const sql = "UPDATE openfunctions_chunk_stores SET model = ?, dimensions = ? WHERE n = ?";
      database.run(sql, [model, dimensions, store]);
      tellVectors(place, [], EVERY_VECTOR);
    });
  }

  async withoutVector(limit: number): Promise<readonly { readonly id: string; readonly content: string }[]> {
    const chunks = this.#read((place) => withoutVector(place, checkLimit(limit)));
    return (chunks ?? []).map(({ id, content }) => ({ id, content }));
  }

  async setVectors(vectors: ReadonlyMap<string, readonly number[]>, model?: string): Promise<void> {
    this.#write((place) => {
      const sql = "UPDATE openfunctions_chunks SET vector = ? WHERE store = ? AND id = ? RETURNING n";
      for (const vector of vectors.values()) checkVector(vector, place?.embedding, model);
      const rows = Array.from(vectors, ([id, vector]) =>
        place.database.get(sql, [toVectorBytes(vector), place.store, toKeyBytes(id)]),
      );
      tellVectors(
        place,
        rows.flatMap((row) => (row === undefined ? [] : [Number(row["n"])])),
      );
    });
  }

  async replace(
    document: DocumentRecord,
    chunks: readonly NewChunk[],
    model?: string,
  ): Promise<{ readonly removed: number }> {
    return this.#write((place) => {
      for (const { vector } of chunks) if (vector !== undefined) checkVector(vector, place?.embedding, model);
      const { database, store } = place;
      const key = [toKeyBytes(document.owner), toKeyBytes(document.sourceId)];
      const insert = `INSERT INTO openfunctions_documents (store, id, owner, source, record)
        VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
        RETURNING n, json_valid(record) AS valid`;
      const values = [store, toKeyBytes(document.id), ...key, JSON.stringify(document)];
      const row = database.get(insert, values);
      const n = numberOf(row, document.id);
      // SQLite reads 1,000 levels: one document beyond them would fail every filtered search of its owner.
      if (Number(row?.["valid"]) !== 1) throw new InputError("The metadata is nested more than 1,000 deep.");
      const numbers = chunks.map((chunk) => insertChunk(place, n, chunk));
      tellVectors(
        place,
        numbers.filter((_, index) => chunks[index]?.vector !== undefined),
      );
      return { removed: removeDocuments(place, "owner = ? AND source = ? AND n <> ?", [...key, n]).chunks };
    });
  }

  async vectorsByHash(
    owner: string,
    hashes: readonly string[],
  ): Promise<ReadonlyMap<string, readonly number[]>> {
    const found = new Map<string, readonly number[]>();
    this.#read(({ database, store }) => {
      const sql = `SELECT vector FROM openfunctions_chunks AS chunk
        JOIN openfunctions_documents AS document ON document.n = document AND owner = ?
        WHERE chunk.store = ? AND hash = ? AND vector IS NOT NULL LIMIT 1`;
      for (const hash of new Set(hashes)) {
        const row = database.get(sql, [toKeyBytes(owner), store, hash]);
        if (row !== undefined) found.set(hash, Array.from(fromVectorBytes(row["vector"])));
      }
    });
    return found;
  }

  async findSource(owner: string, sourceId: string): Promise<DocumentRecord | undefined> {
    const parameters = [toKeyBytes(owner), toKeyBytes(sourceId)];
    return this.#documents({ sql: "owner = ? AND source = ?", parameters }, 1)[0];
  }

  async getDocument(scope: ChunkScope, id: string): Promise<DocumentRecord | undefined> {
    return this.#documents(scoped(scope, "id = ?", toKeyBytes(id)), 1)[0];
  }

  async listDocuments(
    scope: ChunkScope,
    { limit = DEFAULT_PAGE, cursor = "" }: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<DocumentPage> {
    const found = this.#documents(scoped(scope, "id > ?", toKeyBytes(cursor)), checkLimit(limit) + 1);
    const documents = found.slice(0, limit);
    const last = documents.at(-1);
    return found.length > limit && last !== undefined ? { documents, cursor: last.id } : { documents };
  }

  async readChunks(
    scope: ChunkScope,
    documentId: string,
    range: { readonly start: number; readonly end: number } = ALL,
  ): Promise<readonly Chunk[]> {
    const { sql, parameters } = scoped(scope, "document.id = ?", toKeyBytes(documentId));
    const query = `SELECT chunk.record FROM openfunctions_documents AS document
      CROSS JOIN openfunctions_chunks AS chunk ON chunk.document = document.n
      WHERE document.store = ? AND ${sql} AND start_at < ? AND end_at > ? ORDER BY start_at, chunk.n`;
    const rows = this.#read(({ database, store }) =>
      database.all(query, [store, ...parameters, range.end, range.start]),
    );
    return (rows ?? []).map((row) => parse<Chunk>(row["record"]));
  }

  async getChunks(scope: ChunkScope, ids: readonly string[]): Promise<ReadonlyMap<string, Chunk>> {
    const found = new Map<string, Chunk>();
    this.#read(({ database, store }) => {
      for (const id of ids) {
        const { sql, parameters } = scoped(scope, "chunk.id = ?", toKeyBytes(id));
        const query = `SELECT chunk.record FROM openfunctions_chunks AS chunk
          CROSS JOIN openfunctions_documents AS document ON document.n = chunk.document
          WHERE chunk.store = ? AND ${sql}`;
        const row = database.get(query, [store, ...parameters]);
        if (row !== undefined) found.set(id, parse<Chunk>(row["record"]));
      }
    });
    return found;
  }

  async deleteDocument(owner: string, id: string): Promise<boolean> {
    return this.#delete("id = ? AND owner = ?", [toKeyBytes(id), toKeyBytes(owner)]) > 0;
  }

  async deleteSource(owner: string, sourceId: string): Promise<number> {
    return this.#delete("owner = ? AND source = ?", [toKeyBytes(owner), toKeyBytes(sourceId)]);
  }

  async searchKeyword(scope: ChunkScope, query: string, limit: number): Promise<readonly KeywordHit[]> {
    checkLimit(limit);
    return this.#read((place) => searchWords(place, query, { scope, limit })) ?? [];
  }

  async searchVector(
    scope: ChunkScope,
    vector: readonly number[],
    limit: number,
  ): Promise<readonly VectorHit[]> {
    checkLimit(limit);
    const owners = new Set(scope.owners);
    const hits = this.#read((place) => {
      checkVector(vector, place.embedding);
      const documents = scope.filter === undefined ? undefined : numbersOf(place, scope);
      const isFound = ({ owner, document }: VectorPlace): boolean =>
        owners.has(owner) && documents?.has(document) !== false;
      return this.#vectors.read(place).nearest(vector, limit, isFound);
    });
    if (hits === undefined) checkVector(vector, undefined);
    return hits ?? [];
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #open(): Database {
    if (this.#closed) throw storeClosed();
    return this.#database;
  }

  /** Undefined where nothing was ever written. */
  #read<T>(work: (place: ChunkPlace) => T): T | undefined {
    const database = this.#open();
    return database.snapshot(() => {
      const place = findStore(database, this.#name);
      return place && work(place);
    });
  }

  #write<T>(work: (place: ChunkPlace) => T): T {
    const database = this.#open();
    return database.transaction(() =>
      work(findStore(database, this.#name) ?? makeStore(database, this.#name)),
    );
  }

  #documents({ sql, parameters }: SqlCondition, limit: number): readonly DocumentRecord[] {
    const query = `SELECT record FROM openfunctions_documents AS document WHERE store = ? AND ${sql} ORDER BY id LIMIT ?`;
    const rows = this.#read(({ database, store }) => database.all(query, [store, ...parameters, limit]));
    return (rows ?? []).map((row) => parse<DocumentRecord>(row["record"]));
  }

  #delete(where: string, parameters: readonly Parameter[]): number {
    const count = this.#write((place) => removeDocuments(place, where, parameters).documents);
    if (count > 0) this.#database.checkpoint();
    return count;
  }
}

function findStore(database: Database, name: string): ChunkPlace | undefined {
  const sql = "SELECT n, model, dimensions, changes FROM openfunctions_chunk_stores WHERE name = ?";
  const row = database.get(sql, [name]);
  if (row === undefined) return undefined;
  const { model } = row;
  const place = { database, store: Number(row["n"]), changes: Number(row["changes"]) };
  if (typeof model !== "string") return place;
  return { ...place, embedding: { model, dimensions: Number(row["dimensions"]) } };
}

/** Within a transaction. */
function makeStore(database: Database, name: string): ChunkPlace {
  const row = database.get("INSERT INTO openfunctions_chunk_stores (name) VALUES (?) RETURNING n", [name]);
  const store = Number(row?.["n"]);
  database.execute(makeWordsSql(store));
  return { database, store, changes: 0 };
}

/** Within a transaction: the number the chunk got. */
function insertChunk(place: ChunkPlace, document: number, chunk: NewChunk): number {
  const { database, store } = place;
  const { hash, vector, ...record } = chunk;
  const insert = `INSERT INTO openfunctions_chunks (store, document, id, start_at, end_at, hash, record, vector)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING n`;
  const key = [store, document, toKeyBytes(chunk.id), chunk.start, chunk.end, hash];
  const row = database.get(insert, [...key, JSON.stringify(record), toVectorBytes(vector)]);
  const n = numberOf(row, chunk.documentId);
  const words = searchTerms(chunk.content).join(" ");
  database.run(`INSERT INTO ${wordsOf(place)} (rowid, terms) VALUES (?, ?)`, [n, words]);
  return n;
}

/** Within a transaction: how many documents and chunks left. */
function removeDocuments(
  place: ChunkPlace,
  where: string,
  values: readonly Parameter[],
): { readonly documents: number; readonly chunks: number } {
  const { database, store } = place;
  const parameters = [store, ...values];
  const documents = `openfunctions_documents WHERE store = ? AND ${where}`;
  const chunks = `openfunctions_chunks WHERE document IN (SELECT n FROM ${documents})`;
  const embedded = database.all(`SELECT n FROM ${chunks} AND vector IS NOT NULL`, parameters);
  tellVectors(
    place,
    embedded.map((row) => Number(row["n"])),
  );
  database.run(`DELETE FROM ${wordsOf(place)} WHERE rowid IN (SELECT n FROM ${chunks})`, parameters);
  const removed = database.run(`DELETE FROM ${chunks}`, parameters);
  return { chunks: removed, documents: database.run(`DELETE FROM ${documents}`, parameters) };
}

function withoutVector({ database, store }: ChunkPlace, limit: number): readonly Chunk[] {
  const sql =
    "SELECT record FROM openfunctions_chunks WHERE store = ? AND vector IS NULL ORDER BY id LIMIT ?";
  return database.all(sql, [store, limit]).map((row) => parse<Chunk>(row["record"]));
}

/** The documents of a scope by their numbers. */
function numbersOf({ database, store }: ChunkPlace, scope: ChunkScope): ReadonlySet<number> {
  const { sql, parameters } = scopeSql(scope);
  const query = `SELECT n FROM openfunctions_documents AS document WHERE store = ? AND ${sql}`;
  return new Set(database.all(query, [store, ...parameters]).map((row) => Number(row["n"])));
}

/** A condition that holds besides the scope. */
function scoped(scope: ChunkScope, condition: string, parameter: Parameter): SqlCondition {
  const { sql, parameters } = scopeSql(scope);
  return { sql: `${condition} AND ${sql}`, parameters: [parameter, ...parameters] };
}

/** The number of an inserted row; without one, another has its id. */
function numberOf(row: Row | undefined, document: string): number {
  if (row !== undefined) return Number(row["n"]);
  const message = `The document "${document}", or a chunk of it, is there already.`;
  throw new StoreError(message, { code: "store_conflict" });
}

function parse<T>(text: unknown): T {
  return JSON.parse(String(text)) as T; // Proof: these columns hold what this file wrote into them
}
