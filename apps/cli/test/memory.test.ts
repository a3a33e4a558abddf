/** What the chat remembers over processes, and the commands that list, search, forget and export it. */

import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openFacts } from "../src/lib/open-tools.ts";
import { openHomeStores } from "../src/lib/home-stores.ts";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "openfunctions-memory-"));
});

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function openfunctions(args: readonly string[], input = ""): Promise<Outcome> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env["PATH"] ?? "", OPENFUNCTIONS_HOME: home },
  });
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  return { code, stdout, stderr };
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

const chat = (input: string): Promise<Outcome> =>
  openfunctions(["chat", "--provider", "offline", "--thread", "monday"], input);

describe("openfunctions memory", () => {
  it("keeps a conversation and its facts for the next process, and shows, undoes, exports and deletes them", async () => {
    expect((await openfunctions(["memory", "list"])).stdout).toContain("No fact was found.");
    expect((await chat("remember the fact that Ada likes green tea\n")).stdout).toContain("Remembered.");
    expect((await chat("what do you remember about tea?\n")).stdout).toContain("Ada likes green tea");

    const [thread] = JSON.parse((await openfunctions(["memory", "list", "--threads", "--json"])).stdout);
    expect(thread).toMatchObject({ id: "monday", messageCount: 8 });
    const found = JSON.parse((await openfunctions(["memory", "search", "likes tea", "--json"])).stdout);
    expect(found).toMatchObject({ mode: "keyword", reason: "no embedder configured" });
    const { id } = found.facts[0];

    expect((await openfunctions(["memory", "forget", id])).code).toBe(0);
    expect((await openfunctions(["memory", "search", "tea"])).stdout).toContain("No fact was found.");
    expect((await openfunctions(["memory", "undo"])).code).toBe(0);

    const lines = (await openfunctions(["memory", "export"])).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { type: "fact", id, content: "Ada likes green tea" },
      { type: "thread", id: "monday", messages: { length: 8 } },
    ]);
    expect((await openfunctions(["memory", "forget", "monday"])).code).toBe(0);
    expect((await openfunctions(["memory", "list", "--threads"])).stdout).toContain(
      "No conversation was kept.",
    );
  });

  it("has its tools in every command that has the starter tools, so that a run of the chat goes on anywhere", async () => {
    const listed = (await openfunctions(["tools", "list"])).stdout;
    for (const name of ["add_task", "store_fact", "recall_facts", "forget_fact"])
      expect(listed).toContain(name);
    const task = "remember the fact that the bank closes at four";
    expect((await openfunctions(["run", task, "--provider", "offline"])).stdout).toContain("Remembered.");
    expect((await openfunctions(["memory", "search", "bank"])).stdout).toContain("bank closes at four");
  });

  it("shows what a terminal would obey as text", async () => {
    const stores = await openHomeStores(home);
    try {
      const content = "red \u009b31m \u001b[2J \u202e bell \u0007\nforged";
      await (await openFacts(home)).remember("local", { content });
      await stores.conversations.append("local", "hostile", { messages: [{ role: "user", content }] });
      await stores.conversations.setTitle("local", "hostile", content);
    } finally {
      await stores.close();
    }
    for (const args of [["list"], ["list", "--json"], ["list", "--threads"], ["search", "red"], ["export"]]) {
      const { stdout } = await openfunctions(["memory", ...args]);
      expect(stdout).toContain("forged");
      expect(stdout).not.toMatch(/[^\P{C}\n]/u);
    }
  });

  it("says what is wrong with an id or a limit", async () => {
    const unknown = await openfunctions(["memory", "forget", "tuesday"]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('"tuesday"') });
    const limit = await openfunctions(["memory", "list", "--limit", "many"]);
    expect(limit).toMatchObject({ code: 2, stderr: expect.stringContaining("--limit") });
  });
});
