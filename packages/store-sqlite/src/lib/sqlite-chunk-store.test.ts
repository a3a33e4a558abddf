import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ChunkStore } from "@openfunctions/core/search";
import { describeChunkStore } from "@openfunctions/core/testing";
import { afterEach, describe, it } from "vitest";
import { openSqlite, type SqliteStores } from "./open-sqlite.ts";

const opened: SqliteStores[] = [];
afterEach(async () => {
  for (const stores of opened.splice(0)) await stores.close();
});

const fresh = async (): Promise<string> =>
  join(await mkdtemp(join(tmpdir(), "openfunctions-sqlite-")), "state.db");

async function chunksAt(file: string, name = "docs"): Promise<ChunkStore> {
  const stores = await openSqlite({ file });
  opened.push(stores);
  return stores.chunkStore(name);
}

describeChunkStore(
  "SQLite",
  {
    make: async () => {
      const file = await fresh();
      return { store: await chunksAt(file), reopen: () => chunksAt(file) };
    },
  },
  { describe, it },
);
