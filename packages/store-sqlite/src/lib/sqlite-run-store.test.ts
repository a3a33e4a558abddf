import { mkdtemp, readFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ToolRegistry, defineTool, ok, runLoop } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { openSqlite } from "./open-sqlite.ts";

const CANARY = "the canary sings 4711";

/** A real run with one tool call, recorded in a file. */
async function recordRun(file: string, runId: string): Promise<void> {
  const tools = new ToolRegistry();
  tools.register(
    defineTool({
      name: "look",
      description: "Looks.",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: async () => ok(1),
    }),
  );
  const stores = await openSqlite({ file });
  try {
    const adapter = scriptedAdapter([{ toolCalls: [{ name: "look", args: {} }] }, { text: "seen" }]);
    const messages = [{ role: "user" as const, content: CANARY }];
    const run = runLoop({ adapter, tools, messages, runId, capture: "full", store: stores.runStore() });
    const { record } = await run.result;
    expect(await stores.runStore().get(runId)).toEqual(record);
  } finally {
    await stores.close();
  }
}

const fresh = async (): Promise<string> =>
  join(await mkdtemp(join(tmpdir(), "openfunctions-sqlite-")), "state.db");

describe("runs in SQLite", () => {
  it("gives the record that the run itself gave, from its row", async () => {
    const file = await fresh();
    await recordRun(file, "r1");
    const raw = new DatabaseSync(file);
    expect(raw.prepare("SELECT status, record IS NOT NULL AS kept FROM openfunctions_runs").get()).toEqual({
      status: "completed",
      kept: 1,
    });
    raw.close();
  });

  it("finds pages by index, whatever they are filtered by", async () => {
    const file = await fresh();
    await recordRun(file, "r1");
    const raw = new DatabaseSync(file);
    for (const column of ["status", "kind", "actor", "thread_id", "task_id", "correlation_id", undefined]) {
      const where = column === undefined ? "" : `WHERE ${column} = 'x'`;
      const sql = `EXPLAIN QUERY PLAN SELECT id, run_id, record FROM openfunctions_runs ${where}
        ORDER BY started_at DESC, run_id DESC LIMIT 50`;
      const plan = raw
        .prepare(sql)
        .all()
        .map((step) => String(step["detail"]))
        .join("; ");
      expect(plan).toContain("USING INDEX openfunctions_runs_by");
      expect(plan).not.toContain("TEMP B-TREE");
    }
    raw.close();
  });

  it("leaves nothing of redacted or removed content in its files", async () => {
    for (const way of ["redact", "remove"] as const) {
      const file = await fresh();
      await recordRun(file, "r1");
      const stores = await openSqlite({ file });
      const runs = stores.runStore();
      try {
        expect(await holds(file, CANARY)).toBe(true);
        if (way === "remove") await runs.remove("r1");
        for await (const event of runs.read("r1")) {
          if (event.type !== "message.appended" || event.data.role !== "user") continue;
          const at = "2026-01-01T00:00:00.000Z";
          const line = {
            type: "redaction",
            n: 0,
            seq: event.seq,
            leaf: "/data/message",
            by: "a",
            at,
          } as const;
          await runs.redact("r1", { ...line, reason: "asked to", prev: event.hash, hash: event.hash });
        }
        expect(await holds(file, CANARY)).toBe(false);
      } finally {
        await stores.close();
      }
    }
  });
});

async function holds(file: string, text: string): Promise<boolean> {
  const folder = join(file, "..");
  const contents = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
  return contents.some((content) => content.includes(text));
}
