/** Documents in chunks in a SQLite file: words by FTS5, vectors compared one by one. */

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
import { checkStoreName, storeClosed } from "@openfunctions/core/stores";
import { scopeSql } from "./chunk-scope-sql.ts";
import {
  type ChunkStoreRow,
  dropVectors,
  type HeldVectors,
  readVector,
  searchVectors,
  tellVectorChanges,
  writeVector,
} from "./chunk-vectors.ts";
import { addWords, makeWords, removeWords, searchWords } from "./chunk-words.ts";
import type { Database, Row } from "./database.ts";
import { toKeyBytes } from "./key-bytes.ts";

const DEFAULT_PAGE = 100;

/** One name of a file's chunk stores. */
export class SqliteChunkStore implements ChunkStore {
  readonly durability = "disk";
  readonly #database: Database;
  readonly #name: string;
  readonly #held: HeldVectors;
  #closed = false;

  constructor(database: Database, { name, held }: { readonly name: string; readonly held: HeldVectors }) {
    checkStoreName(name);
    this.#database = database;
    this.#name = name;
    this.#held = held;
  }

  async embedding(): Promise<EmbeddingState | undefined> {
    const database = this.#open();
    return database.snapshot(() => {
      const store = findStore(database, this.#name);
      if (store?.embedding === undefined) return undefined;
      return { ...store.embedding, complete: withoutVector(database, store.n, 1).length === 0 };
    });
  }

  async resetEmbedding({
    model,
    dimensions,
  }: {
    readonly model: string;
    readonly dimensions: number;
  }): Promise<void> {
    const database = this.#open();
    database.transaction(() => {
      const { n } = makeStore(database, this.#name);
      dropVectors(database, n);
      const sql = "UPDATE openfunctions_chunk_stores SET model = ?, dimensions = ? WHERE n = ?";
      database.run(sql, [model, dimensions, n]);
    });
  }

  async withoutVector(limit: number): Promise<readonly { readonly id: string; readonly content: string }[]> {
    const database = this.#open();
    checkLimit(limit);
    const store = findStore(database, this.#name);
    if (store === undefined) return [];
    return withoutVector(database, store.n, limit).map((row) => {
      const { id, content } = parse<Chunk>(row["chunk"]);
      return { id, content };
    });
  }

  async setVectors(vectors: ReadonlyMap<string, readonly number[]>): Promise<void> {
    const database = this.#open();
    database.transaction(() => {
      const store = findStore(database, this.#name);
      for (const vector of vectors.values()) checkVector(store, vector);
      if (store === undefined) return;
      const changed: number[] = [];
      for (const [id, vector] of vectors) {
        const sql = "UPDATE openfunctions_chunks SET embedded = 1 WHERE store = ? AND id = ? RETURNING n";
        const row = database.get(sql, [store.n, toKeyBytes(id)]);
        if (row === undefined) continue;
        writeVector(database, Number(row["n"]), vector);
        changed.push(Number(row["n"]));
      }
      tellVectorChanges(database, store.n, changed);
    });
  }

  async replace(
    document: DocumentRecord,
    chunks: readonly NewChunk[],
  ): Promise<{ readonly removed: number }> {
    const database = this.#open();
    return database.transaction(() => {
      const store = makeStore(database, this.#name);
      for (const { vector } of chunks) if (vector !== undefined) checkVector(store, vector);
      const { id, owner, sourceId } = document;
      const insert = `INSERT INTO openfunctions_documents (store, id, owner, source, record)
        VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING n`;
      const parameters = [toKeyBytes(id), toKeyBytes(owner), toKeyBytes(sourceId), JSON.stringify(document)];
      const row = database.get(insert, [store.n, ...parameters]);
      if (row === undefined) throw isThere(id);
      const n = Number(row["n"]);
      const written = chunks.map((chunk) => writeChunk(database, { store: store.n, document: n, chunk }));
      tellVectorChanges(
        database,
        store.n,
        written.filter((_, index) => chunks[index]?.vector !== undefined),
      );
      const old = documentsOfSource(database, store.n, document).filter((one) => one.n !== n);
      return { removed: old.reduce((sum, one) => sum + removeDocument(database, store.n, one.n), 0) };
    });
  }

  async vectorsByHash(
    owner: string,
    hashes: readonly string[],
  ): Promise<ReadonlyMap<string, readonly number[]>> {
    const database = this.#open();
    return database.snapshot(() => {
      const found = new Map<string, readonly number[]>();
      const store = findStore(database, this.#name);
      for (const hash of store === undefined ? [] : new Set(hashes)) {
        const row = database.get(
          `SELECT vector.vector FROM openfunctions_chunks AS chunk
           JOIN openfunctions_documents AS document ON document.n = chunk.document
           JOIN openfunctions_chunk_vectors AS vector ON vector.chunk = chunk.n
           WHERE chunk.store = ? AND chunk.hash = ? AND document.owner = ? LIMIT 1`,
          [store?.n, hash, toKeyBytes(owner)],
        );
        if (row !== undefined) found.set(hash, Array.from(readVector(row)));
      }
      return found;
    });
  }

  async findSource(owner: string, sourceId: string): Promise<DocumentRecord | undefined> {
    const database = this.#open();
    const store = findStore(database, this.#name);
    return store && documentsOfSource(database, store.n, { owner, sourceId })[0]?.record;
  }

  async getDocument(scope: ChunkScope, id: string): Promise<DocumentRecord | undefined> {
    const database = this.#open();
    const store = findStore(database, this.#name);
    const row = store && findDocument(database, store.n, { scope, id });
    return row && parse<DocumentRecord>(row["record"]);
  }

  async listDocuments(
    scope: ChunkScope,
    { limit = DEFAULT_PAGE, cursor = "" }: { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<DocumentPage> {
    const database = this.#open();
    checkLimit(limit);
    const store = findStore(database, this.#name);
    if (store === undefined) return { documents: [] };
    const { sql, parameters } = scopeSql(scope);
    const rows = database.all(
      `SELECT record FROM openfunctions_documents AS document
       WHERE store = ? AND id > ? AND ${sql} ORDER BY id LIMIT ?`,
      [store.n, toKeyBytes(cursor), ...parameters, limit + 1],
    );
    const documents = rows.slice(0, limit).map((row) => parse<DocumentRecord>(row["record"]));
    const last = documents.at(-1);
    return rows.length > limit && last !== undefined ? { documents, cursor: last.id } : { documents };
  }

  async readChunks(
    scope: ChunkScope,
    documentId: string,
    { start, end }: { readonly start: number; readonly end: number } = {
      start: 0,
      end: Number.MAX_SAFE_INTEGER,
    },
  ): Promise<readonly Chunk[]> {
    const database = this.#open();
    return database.snapshot(() => {
      const store = findStore(database, this.#name);
      const row = store && findDocument(database, store.n, { scope, id: documentId });
      if (row === undefined) return [];
      const sql = `SELECT chunk FROM openfunctions_chunks
        WHERE document = ? AND end_at > ? AND start_at < ? ORDER BY start_at, n`;
      return database.all(sql, [Number(row["n"]), start, end]).map((one) => parse<Chunk>(one["chunk"]));
    });
  }

  async getChunks(scope: ChunkScope, ids: readonly string[]): Promise<ReadonlyMap<string, Chunk>> {
    const database = this.#open();
    return database.snapshot(() => {
      const found = new Map<string, Chunk>();
      const store = findStore(database, this.#name);
      const { sql, parameters } = scopeSql(scope);
      for (const id of store === undefined ? [] : ids) {
        const row = database.get(
          `SELECT chunk.chunk FROM openfunctions_chunks AS chunk
           JOIN openfunctions_documents AS document ON document.n = chunk.document
           WHERE chunk.store = ? AND chunk.id = ? AND ${sql}`,
          [store?.n, toKeyBytes(id), ...parameters],
        );
        if (row !== undefined) found.set(id, parse<Chunk>(row["chunk"]));
      }
      return found;
    });
  }

  async deleteDocument(owner: string, id: string): Promise<boolean> {
    const database = this.#open();
    return database.transaction(() => {
      const store = findStore(database, this.#name);
      const row = store && findDocument(database, store.n, { scope: { owners: [owner] }, id });
      if (store === undefined || row === undefined) return false;
      removeDocument(database, store.n, Number(row["n"]));
      return true;
    });
  }

  async deleteSource(owner: string, sourceId: string): Promise<number> {
    const database = this.#open();
    return database.transaction(() => {
      const store = findStore(database, this.#name);
      if (store === undefined) return 0;
      const all = documentsOfSource(database, store.n, { owner, sourceId });
      for (const { n } of all) removeDocument(database, store.n, n);
      return all.length;
    });
  }

  async searchKeyword(scope: ChunkScope, query: string, limit: number): Promise<readonly KeywordHit[]> {
    const database = this.#open();
    checkLimit(limit);
    const store = findStore(database, this.#name);
    return store === undefined ? [] : searchWords(database, store.n, { scope, query, limit });
  }

  async searchVector(
    scope: ChunkScope,
    vector: readonly number[],
    limit: number,
  ): Promise<readonly VectorHit[]> {
    const database = this.#open();
    checkLimit(limit);
    return database.snapshot(() => {
      const store = findStore(database, this.#name);
      checkVector(store, vector);
      if (store === undefined) return [];
      return searchVectors(database, { ...store, held: this.#held }, { scope, vector, limit });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #open(): Database {
    if (this.#closed) throw storeClosed();
    return this.#database;
  }
}

function findStore(database: Database, name: string): ChunkStoreRow | undefined {
  const sql = "SELECT n, model, dimensions, changes FROM openfunctions_chunk_stores WHERE name = ?";
  const row = database.get(sql, [name]);
  if (row === undefined) return undefined;
  const [n, changes, model] = [Number(row["n"]), Number(row["changes"]), row["model"]];
  if (typeof model !== "string") return { n, changes };
  return { n, changes, embedding: { model, dimensions: Number(row["dimensions"]) } };
}

/** Within a transaction. */
function makeStore(database: Database, name: string): ChunkStoreRow {
  const known = findStore(database, name);
  if (known !== undefined) return known;
  const row = database.get("INSERT INTO openfunctions_chunk_stores (name) VALUES (?) RETURNING n", [name]);
  const n = Number(row?.["n"]);
  makeWords(database, n);
  return { n, changes: 0 };
}

interface StoredDocument {
  /** Its number in this file. */
  readonly n: number;
  readonly record: DocumentRecord;
}

function documentsOfSource(
  database: Database,
  store: number,
  { owner, sourceId }: Pick<DocumentRecord, "owner" | "sourceId">,
): readonly StoredDocument[] {
  const sql =
    "SELECT n, record FROM openfunctions_documents WHERE store = ? AND owner = ? AND source = ? ORDER BY n";
  const rows = database.all(sql, [store, toKeyBytes(owner), toKeyBytes(sourceId)]);
  return rows.map((row) => ({ n: Number(row["n"]), record: parse<DocumentRecord>(row["record"]) }));
}

function findDocument(
  database: Database,
  store: number,
  { scope, id }: { readonly scope: ChunkScope; readonly id: string },
): Row | undefined {
  const { sql, parameters } = scopeSql(scope);
  return database.get(
    `SELECT n, record FROM openfunctions_documents AS document WHERE store = ? AND id = ? AND ${sql}`,
    [store, toKeyBytes(id), ...parameters],
  );
}

/** The number the chunk got. */
function writeChunk(
  database: Database,
  place: { readonly store: number; readonly document: number; readonly chunk: NewChunk },
): number {
  const { store, document } = place;
  const { hash, vector, ...chunk } = place.chunk;
  const insert = `INSERT INTO openfunctions_chunks (store, document, id, start_at, end_at, hash, embedded, chunk)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING n`;
  const key = [store, document, toKeyBytes(chunk.id), chunk.start, chunk.end];
  const embedded = vector === undefined ? 0 : 1;
  const row = database.get(insert, [...key, hash, embedded, JSON.stringify(chunk)]);
  if (row === undefined) throw isThere(chunk.documentId);
  const n = Number(row["n"]);
  addWords(database, store, { chunk: n, content: chunk.content });
  if (vector !== undefined) writeVector(database, n, vector);
  return n;
}

/** Within a transaction: how many chunks that were. */
function removeDocument(database: Database, store: number, document: number): number {
  const rows = database.all("SELECT n, embedded FROM openfunctions_chunks WHERE document = ?", [document]);
  const embedded = rows.filter((row) => row["embedded"] === 1).map((row) => Number(row["n"]));
  removeWords(database, store, document);
  for (const n of embedded) database.run("DELETE FROM openfunctions_chunk_vectors WHERE chunk = ?", [n]);
  tellVectorChanges(database, store, embedded);
  database.run("DELETE FROM openfunctions_chunks WHERE document = ?", [document]);
  database.run("DELETE FROM openfunctions_documents WHERE n = ?", [document]);
  return rows.length;
}

function withoutVector(database: Database, store: number, limit: number): readonly Row[] {
  const sql = "SELECT chunk FROM openfunctions_chunks WHERE store = ? AND embedded = 0 ORDER BY id LIMIT ?";
  return database.all(sql, [store, limit]);
}

function checkVector(store: ChunkStoreRow | undefined, vector: readonly number[]): void {
  const wanted = store?.embedding;
  if (wanted !== undefined && vector.length === wanted.dimensions) return;
  const what =
    wanted === undefined ? "no embedding was announced" : `"${wanted.model}" has ${wanted.dimensions}`;
  throw new StoreError(`A vector has ${vector.length} dimensions, and ${what}.`, {
    code: "embedding_mismatch",
  });
}

function isThere(id: string): StoreError {
  return new StoreError(`The document "${id}", or a chunk of it, is there already.`, {
    code: "store_conflict",
  });
}

function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1)
    throw new InputError(`"limit" is ${String(limit)}; use a whole number above 0.`);
}

function parse<T>(text: unknown): T {
  return JSON.parse(String(text)) as T; // Proof: these columns hold what this file wrote into them
}
