/** A real server with pgvector, which no package brings: whoever has one names it. */

import { randomBytes } from "node:crypto";
import { describeChunkStore } from "@openfunctions/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate, openPostgres, type PostgresStores } from "../src/index.ts";
import { poolOf } from "./support/start-server.ts";

const VARIABLE = "OPENFUNCTIONS_TEST_PGVECTOR_URL";
const url = process.env[VARIABLE] ?? "";

describe.skipIf(url === "")(
  `a server with pgvector${url === "" ? `: set ${VARIABLE} to test one` : ""}`,
  () => {
    const tablePrefix = `test_${randomBytes(6).toString("hex")}`;
    let stores: PostgresStores;
    beforeAll(async () => {
      stores = await openPostgres({ url, tablePrefix });
    });
    afterAll(async () => {
      await stores?.close();
      const pool = poolOf(url, 1);
      const tables = [
        "values",
        "vectors",
        "embeddings",
        "chunks",
        "documents",
        "run_events",
        "run_redactions",
      ];
      for (const table of [...tables, "runs", "migrations"])
        await pool.query(`DROP TABLE IF EXISTS ${tablePrefix}_${table}`);
      await pool.end();
    });

    let made = 0;
    describeChunkStore(
      "Postgres with pgvector",
      {
        make: async () => {
          const name = `s${(made += 1)}`;
          return { store: await stores.chunkStore(name), reopen: () => stores.chunkStore(name) };
        },
      },
      { describe, it },
    );

    it("has every table once a chunk store was opened", async () => {
      await stores.chunkStore("any");
      expect(await migrate({ url, tablePrefix, dryRun: true })).toEqual([]);
    });
  },
);
