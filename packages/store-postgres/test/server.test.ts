/** The stores on a real server. */

import { digest, type RunStore } from "@openfunctions/core";
import { describeChunkStore, describeRunStore, describeStore } from "@openfunctions/core/testing";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { Bm25Index } from "@openfunctions/core/search";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createPgStore, openPostgres, type PgPool, type PostgresStores } from "../src/index.ts";
import { documentNumber } from "./support/samples.ts";
import { noServerReason, poolOf, startServer, type TestServer } from "./support/start-server.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const reason = await noServerReason();

describe.skipIf(reason !== undefined)(`a server${reason === undefined ? "" : `: ${reason}`}`, () => {
  let server: TestServer;
  let stores: PostgresStores;
  beforeAll(async () => {
    server = await startServer();
    stores = await openPostgres({ url: server.url });
  });
  afterAll(async () => {
    await stores?.close();
    await server?.stop();
  });

  const opened: PostgresStores[] = [];
  afterEach(async () => {
    for (const own of opened.splice(0)) await own.close();
  });

  let made = 0;
  describeStore(
    "Postgres",
    async () => {
      made += 1;
      const name = `s${made}`;
      return { store: stores.store(name), reopen: async () => stores.store(name) };
    },
    { describe, it },
  );

  describeChunkStore(
    "Postgres without pgvector",
    {
      vectors: false,
      make: async () => {
        made += 1;
        const open = () => stores.chunkStore(`s${made}`, { allowKeywordOnly: true });
        return { store: await open(), reopen: open };
      },
    },
    { describe, it },
  );

  describeRunStore(
    "Postgres",
    {
      durable: true,
      make: async () => {
        made += 1;
        const tablePrefix = `runs${made}`;
        const open = async (): Promise<RunStore> => {
          const own = await openPostgres({ url: server.url, tablePrefix });
          opened.push(own);
          return own.runStore();
        };
        return { store: await open(), reopen: open };
      },
    },
    { describe, it },
  );

  /** Does something to the tables behind the stores' back. */
  async function behind(...statements: readonly string[]): Promise<void> {
    const pool = poolOf(server.url, 1);
    try {
      for (const statement of statements) await pool.query(statement);
    } finally {
      await pool.end();
    }
  }

  describe("stores on a server", () => {
    it("state D1: two instances on one store agree", async () => {
      const [one, two] = [
        await createPgStore("agree", { url: server.url }),
        await createPgStore("agree", { url: server.url }),
      ];
      try {
        expect([one.durability, two.durability]).toEqual(["disk", "disk"]);
        await one.set("a", 1);
        await two.set("b", 2);
        expect(await two.get("a")).toBe(1);
        expect(await one.delete("b")).toBe(true);
        expect(await two.size()).toBe(1);
        for await (const entry of two.entries()) expect(entry).toEqual(["a", 1]);
      } finally {
        await one.close();
        await two.close();
      }
      await expect(one.get("a")).rejects.toMatchObject({ code: "store_closed" });
    });

    it("state D4: refuses names that are none, of stores and of tables, before it connects", async () => {
      for (const name of ["../x", "A B", "", "x".repeat(64), "a;drop table b"]) {
        expect(() => stores.store(name)).toThrow(expect.objectContaining({ code: "bad_store_name" }));
        await expect(stores.chunkStore(name)).rejects.toMatchObject({ code: "bad_store_name" });
        const unreachable = "postgres://127.0.0.1:1/none";
        await expect(createPgStore(name, { url: unreachable })).rejects.toMatchObject({
          code: "bad_store_name",
        });
      }
      for (const tablePrefix of ["", "A", "1a", 'a"', "a-b", "a".repeat(32), "a; drop"])
        await expect(openPostgres({ url: server.url, tablePrefix })).rejects.toMatchObject({
          code: "invalid_config",
        });
    });

    it("state D5: a write that fails rejects, and changes nothing", async () => {
      const own = await openPostgres({ url: server.url, tablePrefix: "failing" });
      try {
        const store = own.store("things");
        await store.set("a", 1);
        await behind("ALTER TABLE failing_values ADD CHECK (value <> '2')");
        await expect(store.set("a", 2)).rejects.toMatchObject({ code: "store_failed" });
        await expect(store.update("a", () => ({ set: 2 }))).rejects.toMatchObject({ code: "store_failed" });
        expect(await store.get("a")).toBe(1);
        await behind("DROP TABLE failing_values");
        await expect(store.set("a", 3)).rejects.toMatchObject({ code: "store_failed" });
        await expect(store.delete("a")).rejects.toMatchObject({ code: "store_failed" });
        await expect(store.clear()).rejects.toMatchObject({ code: "store_failed" });
      } finally {
        await own.close();
      }
    });

    it("goes on when the server ended its connections", async () => {
      const store = stores.store("cut");
      await store.set("a", 1);
      await behind("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()");
      // The first calls may meet a connection that has just gone: they reject, and none of them hangs.
      await expect
        .poll(() =>
          store.set("a", 2).then(
            () => "written",
            (cause: unknown) => Object(cause).code,
          ),
        )
        .toBe("written");
      expect(await store.get("a")).toBe(2);
    });

    it("never ends a pool that it was given", async () => {
      const pool = poolOf(server.url, 2);
      try {
        const store = await createPgStore("pooled", { pool });
        await store.set("a", 1);
        await store.close();
        expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
        const both = { pool, url: server.url };
        await expect(openPostgres(both)).rejects.toMatchObject({ code: "invalid_config" });
      } finally {
        await pool.end();
      }
    });

    it("writes what was asked for before it closes", async () => {
      const own = await openPostgres({ url: server.url });
      const [store, written] = [own.store("closing"), stores.store("closing")];
      const writes = Array.from({ length: 30 }, (_, index) => store.set(`k${index}`, index));
      const updates = Array.from({ length: 10 }, () =>
        store.update("n", (n) => ({ set: Number(n ?? 0) + 1 })),
      );
      await own.close();
      await own.close();
      await Promise.all([...writes, ...updates]);
      expect([await written.size(), await written.get("n")]).toEqual([31, 10]);
      await expect(store.set("late", 1)).rejects.toMatchObject({ code: "store_closed" });
      expect(() => own.store("closing")).toThrow(expect.objectContaining({ code: "store_closed" }));
    });

    it("an update that loses to others each time is a store_conflict", async () => {
      const [one, two] = [stores.store("raced"), await createPgStore("raced", { url: server.url })];
      try {
        // The value that is decided on is always the one before the last: a trigger writes between read and write.
        await one.set("a", 0);
        await behind(
          `CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
          `CREATE TRIGGER skip BEFORE UPDATE ON openfunctions_values FOR EACH ROW WHEN (OLD.store = 'raced') EXECUTE FUNCTION skip()`,
        );
        let tries = 0;
        const lost = two.update("a", () => ({ set: (tries += 1) }));
        await expect(lost).rejects.toMatchObject({ code: "store_conflict", retryable: true });
        expect([tries, await one.get("a")]).toEqual([20, 0]);
      } finally {
        await behind("DROP TRIGGER skip ON openfunctions_values");
        await two.close();
      }
    });

    it("an update that saw a row which was deleted and made again starts over", async () => {
      const pool = poolOf(server.url, 2);
      let meanwhile: (() => Promise<void>) | undefined;
      const between: PgPool = {
        connect: () => pool.connect(),
        query: async (text, values) => {
          const work = text.startsWith("UPDATE") ? meanwhile : undefined;
          if (work !== undefined) meanwhile = undefined;
          await work?.();
          return pool.query(text, values);
        },
      };
      try {
        const [store, other] = [await createPgStore("again", { pool: between }), stores.store("again")];
        await store.set("a", 1);
        meanwhile = async () => {
          await other.delete("a");
          await other.set("a", 10);
        };
        expect(await store.update("a", (value) => ({ set: Number(value) + 1 }))).toBe(11);
        expect(meanwhile).toBeUndefined();
      } finally {
        await pool.end();
      }
    });

    it("orders keys by code unit, and takes any that core takes", async () => {
      const store = stores.store("ordered");
      const keys = ["\uffee", "😀", "z", "\ue000", "\ud800", "'; DROP TABLE openfunctions_values; --"];
      for (const key of keys) await store.set(key, { key: key === "\ud800" ? "half" : key, nul: "a\u0000b" });
      const { entries } = await store.list();
      expect(entries.map(([key]) => key)).toEqual([...keys].sort());
      expect(entries[0]?.[1]).toMatchObject({ nul: "a\u0000b" });
      expect((await store.list({ prefix: "😀" })).entries).toHaveLength(1);
    });

    it("keeps effects and tickets in stores of their own", async () => {
      const intent = {
        key: digest("test", "order 1"),
        id: "call-1",
        callId: "call-1",
        toolName: "order",
        toolDigest: digest("test", "order"),
        contractVersion: "1",
        args: {},
        repeatable: false,
        startedAt: "2026-11-30T12:00:00.000Z",
        deadline: "2026-11-30T12:01:00.000Z",
      };
      expect(await stores.ledger().begin(intent)).toEqual({ state: "fresh" });
      expect(await stores.ledger().begin({ ...intent, id: "call-2" })).not.toEqual({ state: "fresh" });
      expect(await stores.store("effects").size()).toBeGreaterThan(0);
      expect(await stores.approvals().list()).toEqual([]);
    });

    it("keeps stores and prefixes apart", async () => {
      const own = await openPostgres({ url: server.url, tablePrefix: "other" });
      try {
        await stores.store("a").set("k", 1);
        await stores.store("b").set("k", 2);
        await own.store("a").set("k", 3);
        await stores.store("b").clear();
        expect([await stores.store("a").get("k"), await own.store("a").get("k")]).toEqual([1, 3]);
      } finally {
        await own.close();
      }
    });

    it("shows no password, whatever fails", async () => {
      const secret = "hunter2-is-the-password";
      for (const url of [
        `postgres://tester:${secret}@127.0.0.1:1/none`,
        `mysql://tester:${secret}@127.0.0.1/none`,
        `postgres://tester:${secret}@[bad/none`,
        server.url.replace("only-for-tests", secret),
      ]) {
        const error: unknown = await openPostgres({ url }).then(
          () => undefined,
          (cause: unknown) => cause,
        );
        expect(error).toBeInstanceOf(Error);
        expect(inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error)).not.toContain(secret);
      }
    });
  });

  describe("chunks on a server without pgvector", () => {
    it("are refused with the SQL to run, unless searching by word is enough", async () => {
      await expect(stores.chunkStore("docs")).rejects.toMatchObject({
        code: "no_pgvector",
        hint: expect.stringContaining("CREATE EXTENSION vector;"),
      });
      const chunks = await stores.chunkStore("docs", { allowKeywordOnly: true });
      const { document, pieces } = documentNumber(1, { vectors: [[1, 0]] });
      const refused = { code: "no_pgvector" };
      await expect(chunks.replace(document, pieces)).rejects.toMatchObject(refused);
      await expect(chunks.resetEmbedding({ model: "m", dimensions: 2 })).rejects.toMatchObject(refused);
      await expect(chunks.searchVector({ owners: ["ada"] }, [1, 0], 5)).rejects.toMatchObject(refused);
      expect([await chunks.embedding(), await chunks.withoutVector(5)]).toEqual([undefined, []]);
    });

    it("puts one version in the place of another, however many write at once", async () => {
      const chunks = await stores.chunkStore("racing", { allowKeywordOnly: true });
      const writes = Array.from({ length: 12 }, (_, n) => documentNumber(n));
      const removed = await Promise.all(
        writes.map(({ document, pieces }) => chunks.replace(document, pieces)),
      );
      expect(removed.filter((one) => one.removed === 0)).toHaveLength(1);
      expect((await chunks.listDocuments({ owners: ["ada"] })).documents).toHaveLength(1);
      expect(await chunks.searchKeyword({ owners: ["ada"] }, "part", 10)).toHaveLength(4);
    });

    const folder = fileURLToPath(new URL("../../../../shared/fixtures/rag/cranfield/", import.meta.url));
    it.skipIf(!existsSync(folder))(
      "rank a public collection as the index in memory does, to two points of nDCG@10",
      async () => {
        const lines = (file: string): readonly string[] =>
          readFileSync(`${folder}${file}`, "utf8").trim().split("\n");
        const memory = new Bm25Index();
        const texts = lines("corpus.jsonl").map((line) => {
          const { _id, title, text } = JSON.parse(line);
          memory.add(`doc:${String(_id)}`, `${title} ${text}`);
          return { id: `doc:${String(_id)}`, content: `${title} ${text}` };
        });
        const store = await stores.chunkStore("cranfield", { allowKeywordOnly: true });
        const { document } = documentNumber(1, { texts: [] });
        const pieces = texts.map(({ id, content }, at) => ({
          id,
          documentId: document.id,
          start: at,
          end: at + 1,
          content,
          headings: [],
          hash: id,
        }));
        await store.replace({ ...document, length: pieces.length, chunkCount: pieces.length }, pieces);
        const judged = new Map<string, Map<string, number>>();
        for (const line of lines("qrels.tsv").slice(1)) {
          const [query = "", id = "", grade] = line.split("\t");
          judged.set(query, (judged.get(query) ?? new Map()).set(`doc:${id}`, Number(grade)));
        }
        const gain = (grades: readonly number[]): number =>
          grades.reduce((sum, grade, rank) => sum + Math.max(0, grade) / Math.log2(rank + 2), 0);
        const queries = lines("queries.jsonl").slice(0, Math.max(25, Math.round(225 * SCALE)));
        const totals = { memory: 0, postgres: 0 };
        for (const line of queries) {
          const { _id, text } = JSON.parse(line);
          const grades = judged.get(String(_id)) ?? new Map<string, number>();
          const best = gain([...grades.values()].toSorted((one, two) => two - one).slice(0, 10));
          const score = (hits: readonly { readonly id: string }[]): number =>
            best === 0 ? 0 : gain(hits.map(({ id }) => grades.get(id) ?? 0)) / best;
          totals.memory += score(memory.search(text, 10));
          totals.postgres += score(await store.searchKeyword({ owners: ["ada"] }, text, 10));
        }
        expect(totals.memory / queries.length).toBeGreaterThan(0.2);
        expect(Math.abs(totals.postgres - totals.memory) / queries.length).toBeLessThan(0.02);
      },
    );
  });
});
