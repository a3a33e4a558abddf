/** Several real processes and pools on one server, and some that are killed while they write. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgres, type PostgresStores } from "../src/index.ts";
import { valueNumber } from "./support/samples.ts";
import { noServerReason, startServer, type TestServer } from "./support/start-server.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const reason = await noServerReason();

function start(program: string, ...args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(`support/${program}`, import.meta.url));
  return spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

describe.skipIf(reason !== undefined)(`one server${reason === undefined ? "" : `: ${reason}`}`, () => {
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

  it("loses no update of one key, from several pools and processes at once", async () => {
    const pools = await Promise.all(Array.from({ length: 3 }, () => openPostgres({ url: server.url })));
    const times = Math.max(20, Math.round(200 * SCALE));
    const children = [1, 2].map(() => start("count-up.ts", server.url, "shared", String(times)));
    const ends = children.map((child) => once(child, "close"));
    try {
      await Promise.all(
        pools.map(async (pool) => {
          for (let done = 0; done < times; done += 1)
            await pool.store("shared").update("n", (n) => ({ set: Number(n ?? 0) + 1 }));
        }),
      );
      for (const end of ends) expect((await end)[0]).toBe(0);
      expect(await stores.store("shared").get("n")).toBe(5 * times);
    } finally {
      for (const child of children) child.kill("SIGKILL");
      for (const pool of pools) await pool.close();
    }
  });

  it(
    "field E7: a process that is killed leaves each write it was told of, and none of them half",
    { timeout: 300_000 },
    async () => {
      // Each starts a process, which is most of its cost.
      const kills = Math.max(10, Math.round(200 * SCALE ** 2));
      let told = 0;
      for (let kill = 0; kill < kills; kill += 2)
        for (const count of await Promise.all([kill, kill + 1].map((one) => killOne(`killed${one}`))))
          told += count;
      expect(told).toBeGreaterThan(kills);
    },
  );

  /** How many rounds a process was told of before it was killed. */
  async function killOne(name: string): Promise<number> {
    const child = start("write-until-killed.ts", server.url, name);
    let output = "";
    child.stdout?.on("data", (data: Buffer) => (output += String(data)));
    if (child.stdout !== null) await once(child.stdout, "data");
    await sleep(Math.random() * 80);
    child.kill("SIGKILL");
    await once(child, "close");
    const told = output.split("\n").length - 1;
    const store = stores.store(name);
    const values = new Map((await store.list({ prefix: "k", limit: told + 2 })).entries);
    for (let n = 0; n < told; n += 1) expect(values.get(`k${n}`)).toEqual(valueNumber(n));
    expect(values.get(`k${told}`) ?? valueNumber(told)).toEqual(valueNumber(told));
    expect([told, told + 1]).toContain(values.size);
    expect([told, told + 1]).toContain(await store.get("count"));
    await checkDocument(name, told);
    return told;
  }

  async function checkDocument(name: string, told: number): Promise<void> {
    const chunks = await stores.chunkStore(name, { allowKeywordOnly: true });
    const scope = { owners: ["ada"] };
    const document = await chunks.findSource("ada", "source");
    expect([`d${told - 1}`, `d${told}`]).toContain(document?.id);
    const pieces = await chunks.readChunks(scope, document?.id ?? "");
    expect(pieces).toHaveLength(4);
    expect(pieces.map(({ content }) => content).join("")).toHaveLength(document?.length ?? 0);
    const version = `version${Number(document?.metadata["n"])}`;
    expect(await chunks.searchKeyword(scope, version, 10)).toHaveLength(4);
    expect((await chunks.listDocuments(scope)).documents).toHaveLength(1);
  }
});
