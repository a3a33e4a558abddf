/** Several real processes on one file, and one that is killed while it writes. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openSqlite } from "../src/index.ts";

const PROGRAM = fileURLToPath(new URL("support/append-runs.ts", import.meta.url));
const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");

const fresh = async (): Promise<string> =>
  join(await mkdtemp(join(tmpdir(), "openfunctions-sqlite-")), "state.db");

function start(...args: readonly string[]): { readonly child: ChildProcess; readonly output: () => string } {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += String(data)));
  return { child, output: () => output };
}

async function finish({ child, output }: ReturnType<typeof start>): Promise<readonly string[]> {
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  return output().trim().split("\n").filter(Boolean);
}

describe("several processes on one file", () => {
  it("lose nothing: every number of a shared run has one winner, and own runs are whole", async () => {
    const file = await fresh();
    const batches = 60;
    const writers = ["a", "b", "c", "d"];
    const won = await Promise.all(
      writers.map((name) => finish(start(file, `own-${name}`, "shared", String(batches)))),
    );
    const seqs = won
      .flat()
      .map(Number)
      .sort((a, b) => a - b);
    expect(seqs).toEqual(Array.from({ length: batches }, (_, index) => index));
    const stores = await openSqlite({ file });
    try {
      const runs = stores.runStore();
      const { runs: listed } = await runs.list();
      expect(listed.map((run) => run.runId).sort()).toEqual([
        ...writers.map((name) => `own-${name}`),
        "shared",
      ]);
      for (const { runId, status } of listed) {
        const events = [];
        for await (const event of runs.read(runId)) events.push(event.seq);
        expect(events).toEqual(Array.from({ length: batches }, (_, index) => index));
        expect(status).toBe("completed");
      }
      expect(await stores.store("counts").get("n")).toBe(writers.length * batches);
    } finally {
      await stores.close();
    }
  });

  it("field E7: one that is killed leaves whole appends only, all of those it was told of", async () => {
    const kills = Math.max(3, Math.round(20 * SCALE));
    for (let kill = 0; kill < kills; kill += 1) {
      const file = await fresh();
      const writer = start(file, "killed", "", "100000");
      const enough = 5 + kill * 7;
      writer.child.stdout?.on("data", () => {
        if (writer.output().split("\n").length > enough) writer.child.kill("SIGKILL");
      });
      await once(writer.child, "close");
      const told = writer.output().split("\n").length - 1;
      const raw = new DatabaseSync(file);
      expect(raw.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      const { rows, last } = Object(
        raw.prepare("SELECT count(*) AS rows, max(seq) AS last FROM openfunctions_run_events").get(),
      );
      raw.close();
      // Each append but the first holds three events.
      expect([last + 1, (rows - 1) % 3]).toEqual([rows, 0]);
      expect(rows).toBeGreaterThanOrEqual(1 + (told - 1) * 3);
      const stores = await openSqlite({ file });
      expect((await stores.runStore().get("killed"))?.status).toBe("running");
      await stores.close();
    }
  });
});
