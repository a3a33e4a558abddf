/** The stores on a real server. */

import { describeChunkStore, describeStore } from "@openfunctions/core/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { openPostgres, type PostgresStores } from "../src/index.ts";
import { noServerReason, startServer, type TestServer } from "./support/start-server.ts";

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
});
