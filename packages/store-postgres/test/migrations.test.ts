/** Databases of every earlier version, and those that this program must leave alone. */

import { readFile } from "node:fs/promises";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate, openPostgres, type PostgresStores } from "../src/index.ts";
import { noServerReason, poolOf, startServer, type TestServer } from "./support/start-server.ts";

const reason = await noServerReason();

describe.skipIf(reason !== undefined)(`migrations${reason === undefined ? "" : `: ${reason}`}`, () => {
  let server: TestServer;
  let pool: Pool;
  beforeAll(async () => {
    server = await startServer();
    pool = poolOf(server.url, 4);
  });
  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  async function using<T>(tablePrefix: string, work: (stores: PostgresStores) => Promise<T>): Promise<T> {
    const stores = await openPostgres({ pool, tablePrefix });
    try {
      return await work(stores);
    } finally {
      await stores.close();
    }
  }

  /** Every table of a prefix with its columns, and the steps that were taken. */
  async function shapeOf(prefix: string): Promise<unknown> {
    const tables = await pool.query(
      `SELECT table_name, column_name, data_type FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name LIKE $1 || '\\_%' ORDER BY 1, 2`,
      [prefix],
    );
    const made = await pool.query("SELECT to_regclass($1) IS NOT NULL AS made", [`${prefix}_migrations`]);
    const taken = made.rows[0].made
      ? await pool.query(`SELECT version, checksum, applied_at FROM ${prefix}_migrations ORDER BY version`)
      : { rows: [] };
    const named = tables.rows.map((row) => ({ ...row, table_name: row.table_name.slice(prefix.length) }));
    return { columns: named, taken: taken.rows };
  }

  it.each([1, 2])("opens a database of version %i, and keeps what is in it", async (version) => {
    const prefix = `from${version}`;
    const file = new URL(`fixtures/version-${version}.sql`, import.meta.url);
    await pool.query((await readFile(file, "utf8")).replaceAll("{p}", prefix));
    await using(prefix, async (stores) => {
      expect(await stores.store("things").get("a")).toEqual({ kept: true });
      const chunks = await stores.chunkStore("docs", { allowKeywordOnly: true });
      const hits = await chunks.searchKeyword({ owners: ["ada"] }, "old words", 5);
      expect(hits.map(({ id }) => id)).toEqual(version === 1 ? [] : ["d1:000000000"]);
    });
    await using("afresh", async () => {});
    const [moved, afresh] = [await shapeOf(prefix), await shapeOf("afresh")];
    expect(Object(moved).columns).toEqual(Object(afresh).columns);
  });

  it("happen once when many open a new database at the same time, and never again", async () => {
    const opened = await Promise.all(
      Array.from({ length: 6 }, () => openPostgres({ url: server.url, tablePrefix: "together" })),
    );
    await Promise.all(opened.map((stores, index) => stores.store("things").set(`k${index}`, index)));
    expect(await opened[0]?.store("things").size()).toBe(6);
    for (const stores of opened) await stores.close();
    const before = await shapeOf("together");
    await using("together", async () => {});
    expect(await shapeOf("together")).toEqual(before);
  });

  it.each([
    ["is newer than the program", "INSERT INTO {p}_migrations VALUES (99, 'x', now())"],
    ["was made by other steps", "UPDATE {p}_migrations SET checksum = 'x' WHERE version = 2"],
  ])("a database that %s is refused before any write", async (title, change) => {
    const prefix = title.replaceAll(" ", "_").slice(0, 20);
    const file = new URL("fixtures/version-2.sql", import.meta.url);
    await pool.query((await readFile(file, "utf8")).replaceAll("{p}", prefix));
    await pool.query(change.replaceAll("{p}", prefix));
    const before = await shapeOf(prefix);
    await expect(openPostgres({ pool, tablePrefix: prefix })).rejects.toMatchObject({
      code: "store_migration",
    });
    await expect(migrate({ pool, tablePrefix: prefix, dryRun: true })).rejects.toMatchObject({
      code: "store_migration",
    });
    expect(await shapeOf(prefix)).toEqual(before);
  });

  it("a step that fails half way leaves nothing of itself, and those before it", async () => {
    await pool.query("CREATE TABLE half_chunks (mine int)");
    await expect(openPostgres({ pool, tablePrefix: "half" })).rejects.toMatchObject({ code: "store_failed" });
    const { rows } = await pool.query("SELECT to_regclass('half_documents') AS documents");
    expect(rows).toEqual([{ documents: null }]);
    expect((await pool.query("SELECT version FROM half_migrations")).rows).toEqual([{ version: 1 }]);
    await pool.query("DROP TABLE half_chunks");
    await using("half", (stores) => stores.store("things").set("a", 1));
  });

  it("are given as SQL in a dry run, which changes nothing and makes the same tables by hand", async () => {
    const prefix = "by_hand";
    const texts = await migrate({ pool, tablePrefix: prefix, dryRun: true });
    expect(texts.join("\n")).toContain("CREATE EXTENSION IF NOT EXISTS vector");
    expect(await shapeOf(prefix)).toEqual({ columns: [], taken: [] });
    for (const text of texts.filter((one) => !one.includes("EXTENSION"))) await pool.query(text);
    await using("afresh", async () => {});
    const history = ({ table_name: name }: { table_name: string }): boolean => name !== "_migrations";
    expect(Object(await shapeOf(prefix)).columns).toEqual(
      Object(await shapeOf("afresh")).columns.filter(history),
    );
  });
});
