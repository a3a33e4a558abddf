import { mkdtemp, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RunStore, Store } from "@openfunctions/core";
import { describeRunStore, describeStore } from "@openfunctions/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { type SqliteOptions, type SqliteStores, openSqlite } from "./open-sqlite.ts";

const opened: SqliteStores[] = [];
afterEach(async () => {
  for (const stores of opened.splice(0)) await stores.close();
});

async function fresh(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), "openfunctions-sqlite-")), "state.db");
}

async function openAt(file: string, options: Partial<SqliteOptions> = {}): Promise<SqliteStores> {
  const stores = await openSqlite({ file, ...options });
  opened.push(stores);
  return stores;
}

const runner = { describe, it };
const storeAt = async (file: string): Promise<Store> => (await openAt(file)).store("things");
const runStoreAt = async (file: string): Promise<RunStore> => (await openAt(file)).runStore();

describeStore(
  "SQLite",
  async () => {
    const file = await fresh();
    return { store: await storeAt(file), reopen: () => storeAt(file) };
  },
  runner,
);
describeRunStore(
  "SQLite",
  {
    durable: true,
    make: async () => {
      const file = await fresh();
      return { store: await runStoreAt(file), reopen: () => runStoreAt(file) };
    },
  },
  runner,
);

describe("openSqlite", () => {
  it("makes files and folders for their owner only", async () => {
    const folder = await mkdtemp(join(tmpdir(), "openfunctions-sqlite-"));
    const file = join(folder, "a", "b", "state.db");
    const stores = await openAt(file);
    await stores.store("things").set("a", 1);
    for (const name of await readdir(join(folder, "a", "b")))
      expect((await stat(join(folder, "a", "b", name))).mode & 0o777, name).toBe(0o600);
    expect((await stat(join(folder, "a"))).mode & 0o777).toBe(0o700);
    await stores.close();
    expect(await readdir(join(folder, "a", "b"))).toEqual(["state.db"]);
  });

  it("runs with a write-ahead log, and syncs every commit unless told otherwise", async () => {
    const file = await fresh();
    await openAt(file);
    const raw = new DatabaseSync(file);
    expect(raw.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    raw.close();
    await openAt(file, { synchronous: "normal" });
  });

  it("refuses options that cannot work", async () => {
    for (const file of ["", ":memory:", "file:x?mode=memory"])
      await expect(openSqlite({ file })).rejects.toMatchObject({ code: "invalid_config" });
    const file = await fresh();
    await expect(openSqlite({ file, busyTimeoutMs: -1 })).rejects.toMatchObject({ code: "invalid_config" });
    await expect(openSqlite({ file, synchronous: "off" as never })).rejects.toMatchObject({
      code: "invalid_config",
    });
  });

  it("field E7: leaves a file that is no database as it is, and holds nothing open", async () => {
    const file = await fresh();
    await writeFile(file, "this is a letter, not a database\n".repeat(100));
    await expect(openSqlite({ file })).rejects.toMatchObject({ code: "store_corrupt" });
    expect(await readFile(file, "utf8")).toContain("a letter");
    await expect(openSqlite({ file: join(file, "state.db") })).rejects.toMatchObject({
      code: "store_failed",
    });
  });

  it("ends the use of all its stores when it is closed", async () => {
    const stores = await openAt(await fresh());
    const [store, runs] = [stores.store("things"), stores.runStore()];
    await stores.close();
    await stores.close();
    expect(() => stores.store("things")).toThrow(expect.objectContaining({ code: "store_closed" }));
    await expect(store.get("a")).rejects.toMatchObject({ code: "store_closed" });
    await expect(runs.list()).rejects.toMatchObject({ code: "store_closed" });
  });

  it("state D4: refuses names that are none", async () => {
    const stores = await openAt(await fresh());
    for (const name of ["../x", "A B", "", "x".repeat(64)])
      expect(() => stores.store(name)).toThrow(expect.objectContaining({ code: "bad_store_name" }));
  });

  it("keeps stores of different names apart", async () => {
    const stores = await openAt(await fresh());
    await stores.store("a").set("k", 1);
    await stores.store("b").set("k", 2);
    await stores.store("b").clear();
    expect(await stores.store("a").get("k")).toBe(1);
    expect(await stores.store("b").size()).toBe(0);
  });

  it("state D1: two instances on one store agree", async () => {
    const file = await fresh();
    const [one, two] = [await storeAt(file), await storeAt(file)];
    await one.set("a", 1);
    await two.set("b", 2);
    expect(await two.get("a")).toBe(1);
    expect(await one.delete("b")).toBe(true);
    expect(await two.size()).toBe(1);
    for await (const entry of two.entries()) expect(entry).toEqual(["a", 1]);
  });

  it("orders keys by code unit, where that differs from the order of code points", async () => {
    const store = await storeAt(await fresh());
    const keys = ["\uffee", "😀", "z", "\ue000", "\ud800"];
    for (const key of keys) await store.set(key, key === "\ud800" ? "half" : key);
    expect((await store.list()).entries.map(([key]) => key)).toEqual([...keys].sort());
    expect((await store.list({ prefix: "😀" })).entries).toEqual([["😀", "😀"]]);
  });

  it("a change that uses its own store is refused and changes nothing", async () => {
    const store = await storeAt(await fresh());
    let inner: Promise<unknown> | undefined;
    await store.update("a", () => {
      inner = store.update("b", () => ({ set: 1 }));
      inner.catch(() => {});
      return { set: 2 };
    });
    await expect(inner).rejects.toMatchObject({ code: "store_failed" });
    expect(await store.get("a")).toBe(2);
    expect(await store.has("b")).toBe(false);
  });

  it("tells who waits too long for another process", async () => {
    const file = await fresh();
    const store = (await openAt(file, { busyTimeoutMs: 10 })).store("things");
    const other = new DatabaseSync(file);
    try {
      other.exec("BEGIN IMMEDIATE");
      await expect(store.set("a", 1)).rejects.toMatchObject({ code: "store_locked", retryable: true });
    } finally {
      other.close();
    }
    await store.set("a", 1);
  });
});

describe("migrations", () => {
  const change = async (sql: string): Promise<string> => {
    const file = await fresh();
    await (await openAt(file)).close();
    const raw = new DatabaseSync(file);
    raw.exec(sql);
    raw.close();
    return file;
  };

  it("refuse a database that is newer than the program, or was made differently, before any write", async () => {
    for (const sql of [
      "INSERT INTO openfunctions_migrations VALUES (99, 'x', 'now')",
      "UPDATE openfunctions_migrations SET checksum = 'x'",
    ]) {
      const file = await change(sql);
      const before = await readFile(file);
      await expect(openSqlite({ file })).rejects.toMatchObject({ code: "store_migration" });
      expect(await readFile(file)).toEqual(before);
    }
  });

  it("bring a database of version 1 to the shape of today, and keep what is in it", async () => {
    const file = await fresh();
    const raw = new DatabaseSync(file);
    raw.exec(await readFile(new URL("__fixtures__/version-1.sql", import.meta.url), "utf8"));
    raw.close();
    const stores = await openAt(file);
    expect(await stores.store("things").get("a")).toEqual({ n: 1, text: "it's kept" });
    expect(await stores.store("things").has("😀")).toBe(true);
    const { runs } = await stores.runStore().list();
    expect(runs).toMatchObject([{ status: "completed" }]);
    const chunks = stores.chunkStore("docs");
    await chunks.resetEmbedding({ model: "m", dimensions: 2 });
    expect(await chunks.embedding()).toEqual({ model: "m", dimensions: 2, complete: true });
    await stores.close();
    expect(await (await openAt(file)).store("things").size()).toBe(2);
  });

  it("happen once when several open a new file at the same time", async () => {
    const file = await fresh();
    const stores = await Promise.all(Array.from({ length: 5 }, () => openAt(file)));
    for (const [index, one] of stores.entries()) await one.store("things").set(`k${index}`, index);
    expect(await stores[0]?.store("things").size()).toBe(5);
  });
});
