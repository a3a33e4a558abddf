/** The commands around runs, as processes: record, approve, resume, explain, replay, fork, evaluate, redact. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runLoop, userMessage } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { withHomeStores } from "../src/lib/home-stores.ts";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let folder: string;
let tools: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openfunctions-cli-runs-"));
  tools = join(folder, "tools.ts");
  await writeFile(
    tools,
    `import { appendFileSync } from "node:fs";
     import { defineTool, ok } from "@openfunctions/core";
     export const wipe = defineTool({
       name: "wipe_folder",
       description: "Wipes a folder for good.",
       inputSchema: { type: "object", properties: { path: { type: "string", description: "Which folder to wipe" } }, required: ["path"] },
       contract: { version: "1", authority: { level: "human" }, effects: { kind: "destructive" }, idempotency: { mode: "none" } },
       handler: ({ path }) => { appendFileSync(process.env.WIPED, path + "\\n"); return ok({ wiped: path }); },
     });`,
  );
});

function command(...args: readonly string[]): Promise<Outcome> {
  const env = { ...process.env, OPENFUNCTIONS_HOME: join(folder, "home"), WIPED: join(folder, "wiped.txt") };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...args],
      { cwd: folder, env, timeout: 60_000 },
      (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
        resolve({ code, stdout, stderr });
      },
    );
  });
}

const wiped = (): Promise<string> => readFile(join(folder, "wiped.txt"), "utf8").catch(() => "");

/** A run that waits for a person. */
async function waiting(path: string) {
  const run = await command("run", `wipe folder ${path}`, "--provider", "offline", "--from", tools, "--json");
  expect(run.code).toBe(5);
  const { runId, status, pending } = JSON.parse(run.stdout);
  expect([status, pending.length]).toEqual(["suspended", 1]);
  return { runId, ticketId: pending[0].ticketId };
}

describe("openfunctions runs lint", () => {
  it("passes a run whose requests only grow, and names the byte where the next turn of a thread differs", async () => {
    const record = join(folder, "grows.jsonl");
    await command("run", "what is 15% of 2,340", "--provider", "offline", "--record", record);
    const grows = await command("runs", "lint", record);
    expect([grows.code, grows.stdout]).toEqual([0, "1 pair(s) of requests compared, 0 change(s).\n"]);
    const runIds = await withHomeStores(join(folder, "home"), async ({ runs }) => {
      const ids: string[] = [];
      for (const day of ["Monday", "Tuesday"]) {
        const { runId } = await runLoop({
          adapter: scriptedAdapter([{ text: "ok" }]),
          system: `Today is ${day}.`,
          messages: [userMessage("go")],
          lineage: { threadId: "thread-of-days" },
          capture: "full",
          store: runs,
        }).result;
        ids.push(runId);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return ids;
    });
    const changed = await command("runs", "lint", runIds[1] ?? "");
    expect(changed.code).toBe(1);
    expect(changed.stdout).toContain('instructions "text" changed at byte 9: "Monday." became "Tuesday."');
    expect((await command("runs", "lint", runIds[0] ?? "")).code).toBe(0);
    const { changes } = JSON.parse((await command("runs", "lint", runIds[1] ?? "", "--json")).stdout);
    expect(changes).toMatchObject([{ runId: runIds[1], segment: "instructions", byte: 9 }]);
    expect((await command("runs", "lint", "no-such-run")).code).toBe(2);
  });
});

describe("openfunctions approvals and resume", () => {
  it("runs an approved call once, in another process than the one that asked", async () => {
    const { runId, ticketId } = await waiting("alpha");
    expect((await command("approvals", "list")).stdout).toContain(ticketId);
    expect((await command("resume", runId, "--from", tools)).code).toBe(5);
    expect(await wiped()).toBe("");
    expect((await command("approvals", "approve", ticketId, "--reason", "it is mine")).code).toBe(0);
    const again = await command("approvals", "approve", ticketId);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("approved already")]);
    const resumed = await command("resume", runId, "--from", tools);
    expect([resumed.code, await wiped()]).toEqual([0, "alpha\n"]);
    const twice = await command("resume", runId, "--from", tools);
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("completed")]);
    expect(await wiped()).toBe("alpha\n");
  });

  it("runs with the arguments a person changed, and refuses those that the tool would not take", async () => {
    const { runId, ticketId } = await waiting("beta");
    const approve = (args: string) =>
      command("approvals", "approve", ticketId, "--args", args, "--from", tools);
    expect((await approve('{"path":7}')).code).toBe(2);
    expect((await approve("{")).code).toBe(2);
    expect((await approve('{"path":"three"}')).code).toBe(0);
    expect((await command("resume", runId, "--from", tools)).code).toBe(0);
    expect(await wiped()).toBe("alpha\nthree\n");
  });

  it("tells the model that a person said no, and lists nothing any more", async () => {
    const { runId, ticketId } = await waiting("gamma");
    expect((await command("approvals", "deny", ticketId)).code).toBe(0);
    expect((await command("resume", runId, "--from", tools)).code).toBe(0);
    expect((await command("approvals", "list")).stdout).toBe("Nothing waits for approval.\n");
    expect(await wiped()).toBe("alpha\nthree\n");
  });

  it("names a ticket and a run that are not there", async () => {
    expect((await command("approvals", "approve", "apr_x")).code).toBe(1);
    expect((await command("resume", "nope")).code).toBe(1);
  });
});

describe("openfunctions runs", () => {
  it("lists, explains, exports, verifies, replays, forks and evaluates a run", async () => {
    const record = join(folder, "r.jsonl");
    const ran = await command("run", "what is 15% of 2,340", "--provider", "offline", "--record", record);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("351")]);
    const listed = JSON.parse((await command("runs", "list", "--json", "--limit", "1")).stdout);
    const { runId, status } = listed.runs[0];
    expect(status).toBe("completed");
    const told = await command("runs", "explain", runId);
    expect(told.stdout).toMatch(/Asked: "what is 15% of 2,340"[\s\S]*calculate[\s\S]*Not proven:/);
    const copy = join(folder, "copy.jsonl");
    expect((await command("runs", "export", runId, "--out", copy)).code).toBe(0);
    expect(await readFile(copy, "utf8")).toBe(await readFile(record, "utf8"));
    for (const name of [copy, runId]) expect((await command("runs", "verify", name)).code).toBe(0);
    for (const name of [runId, record]) {
      const replayed = await command("runs", "replay", name);
      expect([replayed.code, replayed.stdout]).toEqual([0, expect.stringContaining("to the same digest")]);
    }
    const forked = await command(
      "runs",
      "fork",
      record,
      "--at",
      "round:0",
      "--provider",
      "offline",
      "--json",
    );
    expect(JSON.parse(forked.stdout)).toMatchObject({
      status: "completed",
      text: expect.stringContaining("351"),
    });
    const cases = join(folder, "evals");
    expect((await command("runs", "eval", runId, "--save", "percent", "--dir", cases)).code).toBe(0);
    expect(await readdir(cases)).toEqual(["percent.jsonl"]);
    expect((await command("runs", "eval", cases)).stdout).toContain("1 of 1 passed");
    expect((await command("runs", "eval", cases, "--provider", "offline")).code).toBe(0);
  });

  it("exits 1 and says where a replay differs when the tools are others today", async () => {
    const { ticketId } = await waiting("delta");
    await command("approvals", "deny", ticketId);
    const [run] = JSON.parse((await command("runs", "list", "--json", "--limit", "1")).stdout).runs;
    const other = join(folder, "other.ts");
    await writeFile(other, (await readFile(tools, "utf8")).replace("for good", "a bit"));
    const replayed = await command("runs", "replay", run.runId, "--from", other);
    expect([replayed.code, replayed.stderr]).toEqual([
      1,
      expect.stringContaining("left the record at event 0"),
    ]);
    await command("runs", "eval", run.runId, "--save", "wipe", "--dir", join(folder, "more"));
    expect((await command("runs", "eval", join(folder, "more"), "--from", other)).code).toBe(1);
  });

  it("redacts a value so that the record still verifies and says who did it", async () => {
    const ran = await command("run", "what is 2+2", "--provider", "offline", "--json");
    const { runId } = JSON.parse(ran.stdout);
    const redact = ["runs", "redact", runId, "--seq", "2", "--leaf", "/data/message", "--reason", "private"];
    expect((await command(...redact)).code).toBe(0);
    expect((await command(...redact)).code).toBe(1);
    const file = join(folder, "redacted.jsonl");
    await command("runs", "export", runId, "--out", file);
    expect(await readFile(file, "utf8")).not.toContain("what is 2+2");
    const verified = await command("runs", "verify", file);
    expect([verified.code, verified.stderr]).toEqual([
      0,
      expect.stringContaining("1 value(s) were redacted"),
    ]);
    const replayed = await command("runs", "replay", file);
    expect([replayed.code, replayed.stderr]).toEqual([1, expect.stringContaining("event 2 /data/message")]);
  });

  it("removes and prunes whole runs, and none that waits", async () => {
    const { runId } = await waiting("omega");
    const pruned = await command("runs", "prune", "--max-runs", "0");
    expect([pruned.code, pruned.stderr]).toEqual([0, expect.stringContaining(`${runId} was kept`)]);
    const left = JSON.parse((await command("runs", "list", "--json")).stdout).runs;
    expect(left.every((run: { status: string }) => run.status === "suspended")).toBe(true);
    expect((await command("runs", "remove", runId)).code).toBe(0);
    expect((await command("runs", "remove", runId)).code).toBe(2);
  });

  it.each([
    ["runs list --status odd", 2],
    ["runs list --limit 0", 2],
    ["runs list --since never", 2],
    ["runs explain nothing", 2],
    ["runs fork nothing --at soon", 2],
    ["runs prune", 2],
    ["runs redact x --seq a --leaf /data --reason y", 2],
    ["runs eval nothing", 2],
    ["effects settle sha256:0 --failed no", 2],
    ["effects settle sha256:0", 2],
  ])("%s exits %i", async (line, code) => {
    const outcome = await command(...line.split(" "));
    expect([outcome.code, outcome.stderr !== ""]).toEqual([code, true]);
  });
});
