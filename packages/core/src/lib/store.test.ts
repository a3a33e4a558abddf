import { mkdtemp, readFile, stat, symlink, writeFile, mkdir, readdir, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createStore } from "./json-file-store.ts";
import { createMemoryRunStore } from "./run-store.ts";
import { createMemoryStore } from "./store.ts";
import { describeRunStore } from "./testing/describe-run-store.ts";
import { describeStore } from "./testing/describe-store.ts";

const runner = { describe, it };
const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "openfunctions-store-"));

describeStore("memory", async () => ({ store: createMemoryStore() }), runner);
describeStore(
  "JSON file",
  async () => {
    const dir = await folder();
    return { store: await createStore("things", { dir }), reopen: () => createStore("things", { dir }) };
  },
  runner,
);
describeRunStore("memory", { durable: false, make: async () => ({ store: createMemoryRunStore() }) }, runner);

describe("the JSON file store", () => {
  it("refuses names that could leave its folder, before anything is touched", async () => {
    const dir = await folder();
    for (const name of ["../x", "A B", "", "a/b", "x".repeat(64)]) {
      await expect(createStore(name, { dir })).rejects.toMatchObject({ code: "bad_store_name" });
    }
    expect(await readdir(dir)).toEqual([]);
  });

  it("creates nothing by reading, and writes owner-only files", async () => {
    const dir = await folder();
    const store = await createStore("things", { dir });
    expect(await store.get("a")).toBeUndefined();
    expect(await readdir(dir)).toEqual([]);
    await store.set("a", 1);
    expect((await stat(join(dir, "stores"))).mode & 0o777).toBe(0o700);
    expect((await stat(join(dir, "stores", "things.json"))).mode & 0o777).toBe(0o600);
    expect(await readdir(join(dir, "stores"))).toEqual(["things.json"]);
  });

  it("field E7, state D2: a file that cannot be read is reported on every call and left exactly as it is", async () => {
    const dir = await folder();
    await mkdir(join(dir, "stores"));
    const path = join(dir, "stores", "things.json");
    await writeFile(path, '{"a": 1');
    const store = await createStore("things", { dir });
    for (const call of [
      () => store.get("a"),
      () => store.set("a", 2),
      () => store.update("a", () => ({ set: 3 })),
      () => store.clear(),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "store_corrupt" });
    }
    expect(await readFile(path, "utf8")).toBe('{"a": 1');
  });

  it("refuses a symbolic link", async () => {
    const dir = await folder();
    await mkdir(join(dir, "stores"));
    await writeFile(join(dir, "elsewhere.json"), "{}");
    await symlink(join(dir, "elsewhere.json"), join(dir, "stores", "things.json"));
    const store = await createStore("things", { dir });
    await expect(store.set("a", 1)).rejects.toMatchObject({ code: "store_failed" });
    expect(await readFile(join(dir, "elsewhere.json"), "utf8")).toBe("{}");
  });

  it("loses no update of several processes", async () => {
    const dir = await folder();
    const program = `
      const { createStore } = await import(${JSON.stringify(join(import.meta.dirname, "json-file-store.ts"))});
      const store = await createStore("things", { dir: ${JSON.stringify(dir)} });
      for (let index = 0; index < 20; index += 1) await store.update("n", (value) => ({ set: (value ?? 0) + 1 }));
    `;
    const run = promisify(execFile);
    await Promise.all([1, 2, 3].map(() => run(process.execPath, ["--input-type=module", "-e", program])));
    expect(await (await createStore("things", { dir })).get("n")).toBe(60);
  });

  it("takes over the lock of a process that is gone", async () => {
    const dir = await folder();
    await mkdir(join(dir, "stores"));
    const { hostname } = await import("node:os");
    await writeFile(
      join(dir, "stores", "things.json.lock"),
      JSON.stringify({ pid: 2 ** 22 + 1, host: hostname() }),
    );
    const store = await createStore("things", { dir });
    await store.set("a", 1);
    expect(await store.get("a")).toBe(1);
  });

  it("takes over a lock without a sign of life, though a process has its number again", async () => {
    const dir = await folder();
    await mkdir(join(dir, "stores"));
    const { hostname } = await import("node:os");
    const lock = join(dir, "stores", "things.json.lock");
    await writeFile(lock, JSON.stringify({ pid: process.pid, host: hostname() }));
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(lock, yesterday, yesterday);
    const store = await createStore("things", { dir });
    await store.set("a", 1);
    expect(await readdir(join(dir, "stores"))).toEqual(["things.json"]);
  });
});
