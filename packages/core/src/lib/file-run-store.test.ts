import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFile,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createFileRunStore } from "./file-run-store.ts";
import { canonicalJson } from "./json.ts";
import type { RunStore } from "./run-store.ts";
import { describeRunStore } from "./testing/describe-run-store.ts";
import { recordingLogger } from "./testing/fakes.ts";
import { all, sampleRedaction, sampleRun, sampleSeal } from "./testing/run-store-situation.ts";

const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "openfunctions-runs-"));

describeRunStore(
  "files",
  {
    durable: true,
    make: async () => {
      const dir = await folder();
      return { store: createFileRunStore({ dir }), reopen: async () => createFileRunStore({ dir }) };
    },
  },
  { describe, it },
);

const RUN = "run-0001-of-tests";

async function stored(dir: string, runId: string = RUN): Promise<RunStore> {
  const store = createFileRunStore({ dir });
  await store.append(runId, await sampleRun(runId), { expectedSeq: 0 });
  return store;
}

describe("the folder of runs", () => {
  it("holds one record file per run, for its owner only, and reading creates nothing", async () => {
    const dir = await folder();
    const store = createFileRunStore({ dir });
    expect((await store.list()).runs).toEqual([]);
    expect(await store.remove(RUN)).toBe(false);
    expect(await readdir(dir)).toEqual([]);
    const events = await sampleRun(RUN);
    const seal = sampleSeal(events);
    await store.append(RUN, events, { expectedSeq: 0, seal });
    const path = join(dir, "runs", `${RUN}.jsonl`);
    expect(await readFile(path, "utf8")).toBe(
      [...events, seal].map((line) => `${canonicalJson(line)}\n`).join(""),
    );
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(dir, "runs"))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(dir, "runs"))).toEqual([`${RUN}.jsonl`]);
  });

  it("removes redacted content from the disk and puts the redactions last", async () => {
    const dir = await folder();
    const store = await stored(dir);
    const events = await sampleRun(RUN);
    await store.redact(RUN, sampleRedaction(events));
    const text = await readFile(join(dir, "runs", `${RUN}.jsonl`), "utf8");
    expect(text).not.toContain("42 Å");
    expect(JSON.parse(text.trimEnd().split("\n").at(-1) ?? "")).toEqual(sampleRedaction(events));
    expect(await readdir(join(dir, "runs"))).toEqual([`${RUN}.jsonl`]);
  });

  it("ignores a torn last line, and cuts it off before the next append", async () => {
    const dir = await folder();
    const events = await sampleRun(RUN);
    const store = createFileRunStore({ dir });
    await store.append(RUN, events.slice(0, 1), { expectedSeq: 0 });
    const path = join(dir, "runs", `${RUN}.jsonl`);
    const whole = canonicalJson(events[1]);
    for (const torn of [whole.slice(0, 40), whole, `${"x".repeat(5_000)}`]) {
      await appendFile(path, torn);
      for (const reader of [store, createFileRunStore({ dir })]) {
        expect(await all(reader.read(RUN))).toEqual(events.slice(0, 1));
        expect((await reader.list()).runs).toHaveLength(1);
      }
    }
    await store.append(RUN, events.slice(1), { expectedSeq: 1 });
    expect(await readFile(path, "utf8")).toBe(events.map((line) => `${canonicalJson(line)}\n`).join(""));
  });

  it("names the line that is damaged, leaves the file as it is and lists the other runs", async () => {
    const dir = await folder();
    await stored(dir);
    await stored(dir, "run-0002-of-tests");
    const path = join(dir, "runs", `${RUN}.jsonl`);
    const lines = (await readFile(path, "utf8")).split("\n");
    for (const damage of ["{", "[]", '"text"', lines[0], lines[2], '{"type":"seal"}']) {
      const text = [lines[0], damage, lines[2], ""].join("\n");
      await writeFile(path, text);
      const logger = recordingLogger();
      const store = createFileRunStore({ dir, logger });
      for (const call of [
        () => store.get(RUN),
        () => all(store.read(RUN)),
        () => store.append(RUN, [], { expectedSeq: 3 }),
      ])
        await expect(call()).rejects.toMatchObject({ code: "store_corrupt", details: { path, line: 2 } });
      expect((await store.list()).runs.map((run) => run.runId)).toEqual(["run-0002-of-tests"]);
      expect(logger.lines.map((line) => line.message).join()).toContain("Line 2 of");
      expect(await readFile(path, "utf8")).toBe(text);
    }
    const store = createFileRunStore({ dir });
    expect(await store.remove(RUN)).toBe(true);
  });

  it("leaves out files that are not named after their run, and refuses symbolic links", async () => {
    const dir = await folder();
    const store = await stored(dir);
    const path = join(dir, "runs", `${RUN}.jsonl`);
    await rename(path, join(dir, "runs", "another-name.jsonl"));
    expect((await store.list()).runs).toEqual([]);
    await symlink(join(dir, "runs", "another-name.jsonl"), path);
    await expect(store.get(RUN)).rejects.toMatchObject({ code: "store_failed" });
    const events = await sampleRun(RUN);
    await expect(store.append(RUN, events, { expectedSeq: 0 })).rejects.toMatchObject({
      code: "store_failed",
    });
  });

  it("lists from its index, which is made anew when it is missing, damaged or behind", async () => {
    const dir = await folder();
    const ids = Array.from({ length: 5 }, (_, index) => `run-000${index}-of-tests`);
    for (const runId of ids) await stored(dir, runId);
    const listed = async (): Promise<readonly string[]> =>
      (await createFileRunStore({ dir }).list()).runs.map((run) => run.runId).sort();
    const index = join(dir, "runs", "index.json");
    expect(await listed()).toEqual(ids);
    const first = await readFile(index, "utf8");
    expect(await listed()).toEqual(ids);
    expect(await readFile(index, "utf8")).toBe(first);
    for (const damage of [
      "",
      "{}",
      '{"version":1,"runs":[{}]}',
      first.replaceAll("completed", "failed__x"),
    ]) {
      await writeFile(index, damage);
      expect(await listed()).toEqual(ids);
    }
    await rm(index);
    expect(await listed()).toEqual(ids);
    await createFileRunStore({ dir }).remove(ids[0] ?? "");
    await stored(dir, "run-0009-of-tests");
    expect(await listed()).toEqual([...ids.slice(1), "run-0009-of-tests"]);
    expect(JSON.parse(await readFile(index, "utf8")).runs).toHaveLength(5);
  });
});

const MODULE = JSON.stringify(join(import.meta.dirname, "file-run-store.ts"));
const SITUATION = JSON.stringify(join(import.meta.dirname, "testing", "run-store-situation.ts"));

/** A program that appends the events of a run one by one and counts those it got through. */
const appender = (dir: string, runId: string, messages: number): string => `
  const { createFileRunStore } = await import(${MODULE});
  const { sampleRun } = await import(${SITUATION});
  const events = await sampleRun(${JSON.stringify(runId)}, { messages: ${messages} });
  const store = createFileRunStore({ dir: ${JSON.stringify(dir)} });
  let won = 0;
  for (const event of events) {
    try {
      await store.append(event.runId, [event], { expectedSeq: event.seq });
      won += 1;
      process.stdout.write(event.seq + "\\n");
    } catch (error) {
      if (error.code !== "store_conflict") throw error;
    }
  }
`;

describe("several processes on one folder of runs", () => {
  it("give every number of one run to exactly one of them", async () => {
    const dir = await folder();
    const run = promisify(execFile);
    const outputs = await Promise.all(
      [1, 2, 3].map(() => run(process.execPath, ["--input-type=module", "-e", appender(dir, RUN, 20)])),
    );
    const seqs = outputs.flatMap(({ stdout }) => stdout.trim().split("\n").filter(Boolean).map(Number));
    expect(seqs.sort((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, seq) => seq));
    expect((await createFileRunStore({ dir }).get(RUN))?.status).toBe("completed");
  });

  it("keep what was appended by one that is killed in the middle", async () => {
    const dir = await folder();
    const child = spawn(process.execPath, ["--input-type=module", "-e", appender(dir, RUN, 5_000)]);
    let output = "";
    child.stdout.on("data", (data: Buffer) => {
      output += String(data);
      if (output.includes("30\n")) child.kill("SIGKILL");
    });
    await once(child, "close");
    const told = output.split("\n").length - 1;
    const store = createFileRunStore({ dir });
    const kept = await all(store.read(RUN));
    expect(kept.length).toBeGreaterThanOrEqual(told);
    expect(kept.map((event) => event.seq)).toEqual(kept.map((_, seq) => seq));
    const rest = (await sampleRun(RUN, { messages: 5_000 })).slice(kept.length, kept.length + 1);
    await store.append(RUN, rest, { expectedSeq: kept.length });
  });
});
