/** Chunk stores to measure, by name, each in a place of its own that is removed afterwards. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChunkStore, NewChunk } from "@openfunctions/core/search";
import { createMemoryChunkStore } from "@openfunctions/rag";
import { openSqlite } from "@openfunctions/store-sqlite";

/** The names that `withChunkStore` knows. */
export const STORES = ["memory", "sqlite", "pglite"] as const;
/** One of them. */
export type StoreName = (typeof STORES)[number];

/** Whose documents `writeDocument` writes. */
export const OWNER = "bench";

/** Does the work with an empty store. */
export async function withChunkStore<T>(
  name: StoreName,
  work: (store: ChunkStore) => Promise<T>,
): Promise<T> {
  if (name === "memory") return work(createMemoryChunkStore());
  const folder = await mkdtemp(join(tmpdir(), "openfunctions-bench-"));
  try {
    const stores =
      name === "sqlite" ? await openSqlite({ file: join(folder, "state.db") }) : await openPglite(folder);
    try {
      return await work(await stores.chunkStore("bench"));
    } finally {
      await stores.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes a document as one chunk. */
export async function writeDocument(
  store: ChunkStore,
  { id, text, vector }: { readonly id: string; readonly text: string; readonly vector?: readonly number[] },
): Promise<void> {
  const chunk: NewChunk = {
    id: `${id}:000000000`,
    documentId: id,
    start: 0,
    end: text.length,
    content: text,
    headings: [],
    hash: id,
    ...(vector === undefined ? {} : { vector }),
  };
  const document = {
    id,
    owner: OWNER,
    sourceId: id,
    contentHash: id,
    mediaType: "text/plain",
    metadata: {},
    createdAt: new Date(0).toISOString(),
    length: text.length,
    chunkCount: 1,
  };
  await store.replace(document, [chunk]);
}

/** The document of a chunk that `writeDocument` wrote. */
export function documentOf(chunkId: string): string {
  return chunkId.slice(0, chunkId.lastIndexOf(":"));
}

interface OpenStores {
  chunkStore(name: string): ChunkStore | Promise<ChunkStore>;
  close(): Promise<void>;
}

/** Loaded late: the other stores need neither Postgres nor its packages, and a missing one is told by name. */
async function openPglite(folder: string): Promise<OpenStores> {
  const { openPglite: open } = await import("@openfunctions/store-postgres");
  return open({ dir: join(folder, "pglite") });
}
