import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeChunkStore, describeRunStore, describeStore } from "@openfunctions/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPgliteStore, openPglite, type PostgresStores } from "./open-postgres.ts";

let dir = "";
let stores: PostgresStores;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "openfunctions-pglite-"));
  stores = await openPglite({ dir });
});
afterAll(async () => {
  await stores.close();
  await rm(dir, { recursive: true });
});

let made = 0;
const freshName = (): string => `s${(made += 1)}`;

describeStore(
  "PGlite",
  async () => {
    const name = freshName();
    return { store: stores.store(name), reopen: async () => stores.store(name) };
  },
  { describe, it },
);

describeChunkStore(
  "PGlite with pgvector",
  {
    make: async () => {
      const name = freshName();
      return { store: await stores.chunkStore(name), reopen: () => stores.chunkStore(name) };
    },
  },
  { describe, it },
);

describeRunStore(
  "PGlite",
  {
    durable: true,
    make: async () => {
      await clearRuns(stores);
      return { store: stores.runStore(), reopen: async () => stores.runStore() };
    },
  },
  { describe, it },
);

describe("a directory", () => {
  it("is open once: a second one, of this process too, is store_locked", async () => {
    await expect(openPglite({ dir })).rejects.toMatchObject({ code: "store_locked" });
    await expect(createPgliteStore("things", { dir })).rejects.toMatchObject({ code: "store_locked" });
    await stores.store("after").set("a", 1);
  });
});

async function clearRuns({ runStore }: PostgresStores): Promise<void> {
  const runs = runStore();
  for (;;) {
    const { runs: page } = await runs.list();
    if (page.length === 0) return;
    for (const { runId } of page) await runs.remove(runId);
  }
}
