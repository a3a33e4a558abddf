/** Stores whose writers are killed, or are many. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { type Store, createStore } from "@openfunctions/core";
import { openSqlite } from "@openfunctions/store-sqlite";
import { describe, expect, it } from "vitest";
import { entryOf, KEYS, keyOf } from "./support/store-entries.ts";

const PROGRAM = fileURLToPath(new URL("support/store-writer.ts", import.meta.url));
const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
// A kill takes about a second with the start of its process.
const KILLS = Math.max(6, Math.round(200 * SCALE ** 1.5));
const CACHE = fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));
const KINDS = ["json", "sqlite"] as const;
type Kind = (typeof KINDS)[number];

interface Job {
  readonly job: "turn" | "keys" | "update" | "half";
  readonly name?: string;
  readonly from?: number;
  readonly count: number;
}

interface Writer {
  readonly child: ChildProcess;
  /** The numbers of the writes it was told of. */
  readonly told: () => readonly number[];
}

function start(kind: Kind, folder: string, { job, name = "", from = 0, count }: Job): Writer {
  const words = [kind, folder, job, name, String(from), String(count)];
  const env = { ...process.env, NODE_COMPILE_CACHE: CACHE };
  const child = spawn(process.execPath, [PROGRAM, ...words], { stdio: ["ignore", "pipe", "inherit"], env });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += String(data)));
  return { child, told: () => output.split("\n").slice(0, -1).map(Number) };
}

async function finish(kind: Kind, folder: string, job: Job): Promise<readonly number[]> {
  const { child, told } = start(kind, folder, job);
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  return told();
}

/** Does the work with the store and a place of its own, and removes the place. */
async function inPlace(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "openfunctions-stores-"));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function withStore<T>(kind: Kind, folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  if (kind === "json") return work(await createStore("things", { dir: folder }));
  const stores = await openSqlite({ file: join(folder, "state.db") });
  try {
    return await work(stores.store("things"));
  } finally {
    await stores.close();
  }
}

/** Kills a writer at some point of its work; gives the number of the last write it was told of. */
async function killOnce(kind: Kind, folder: string, from: number): Promise<number> {
  const { child, told } = start(kind, folder, { job: "turn", from, count: 100_000 });
  const enough = 1 + Math.floor(Math.random() * 12);
  const kill = (): unknown => setTimeout(() => child.kill("SIGKILL"), Math.random() * 6);
  child.stdout?.on("data", () => told().length >= enough && kill());
  const [, signal] = await once(child, "close");
  expect(signal).toBe("SIGKILL");
  return told().at(-1) ?? from - 1;
}

describe.concurrent.each(KINDS)("a writer of the %s store that is killed", (kind) => {
  it(
    "leaves every write it was told of, and none by half",
    () =>
      inPlace(async (folder) => {
        let last = -1;
        for (let kill = 0; kill < KILLS; kill += 1) {
          last = await killOnce(kind, folder, last + 1);
          await withStore(kind, folder, async (store) => {
            // The write under way is there or not.
            const { n } = Object((await store.get(keyOf(last + 1))) ?? {});
            const newest = n === last + 1 ? last + 1 : last;
            const wanted = Array.from({ length: Math.min(KEYS, newest + 1) }, (_, back) => newest - back);
            for (const number of wanted)
              expect(await store.get(keyOf(number)), `write ${number}`).toEqual(entryOf(number));
            expect(await store.size()).toBe(wanted.length);
            last = newest;
          });
        }
        if (kind === "json") return;
        const raw = new DatabaseSync(join(folder, "state.db"));
        expect(raw.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
        raw.close();
      }),
    900_000,
  );
});

describe.each(KINDS)("several writers of the %s store", (kind) => {
  const count = Math.max(15, Math.round(100 * SCALE));

  it(
    "lose nothing under keys of their own",
    () =>
      inPlace(async (folder) => {
        const names = ["one", "two"];
        await Promise.all(names.map((name) => finish(kind, folder, { job: "keys", name, count })));
        await withStore(kind, folder, async (store) => {
          expect(await store.size()).toBe(names.length * count);
          for (const name of names)
            for (let n = 0; n < count; n += 1) expect(await store.get(`${name}/${n}`)).toEqual(entryOf(n));
        });
      }),
    60_000,
  );

  it(
    "lose no update of one key",
    () =>
      inPlace(async (folder) => {
        const writers = Array.from({ length: 4 }, () => finish(kind, folder, { job: "update", count }));
        const told = await Promise.all(writers);
        expect(told.flat()).toHaveLength(4 * count);
        await withStore(kind, folder, async (store) => expect(await store.get("n")).toBe(4 * count));
      }),
    60_000,
  );
});

describe("the file of a json store", () => {
  it("is the old one where its writer is gone before the new one takes its place", () =>
    inPlace(async (folder) => {
      await finish("json", folder, { job: "turn", count: 3 });
      const path = join(folder, "stores", "things.json");
      const before = await readFile(path, "utf8");
      const { child, told } = start("json", folder, { job: "half", from: 3, count: 1 });
      await once(child, "close");
      expect(told()).toEqual([]);
      expect(await readFile(path, "utf8")).toBe(before);
      // Neither what it left behind nor its lock is in the way.
      expect(await finish("json", folder, { job: "turn", from: 3, count: 1 })).toEqual([3]);
      await withStore("json", folder, async (store) => expect(await store.get(keyOf(3))).toEqual(entryOf(3)));
    }));
});

describe.each(KINDS)("a damaged file of the %s store", (kind) => {
  it("is told of on every call, and stays as it is", () =>
    inPlace(async (folder) => {
      await finish(kind, folder, { job: "turn", count: 10 });
      const path = kind === "json" ? join(folder, "stores", "things.json") : join(folder, "state.db");
      const whole = await readFile(path);
      const damaged = kind === "json" ? whole.subarray(0, whole.length - 5) : Buffer.from(whole);
      if (kind === "sqlite") damaged.fill(0x5a, 0, 600);
      await writeFile(path, damaged);
      const isCorrupt = expect.objectContaining({ code: "store_corrupt" });
      const uses: readonly ((store: Store) => Promise<unknown>)[] = [
        (store) => store.get("key-1"),
        (store) => store.set("key-1", 1),
        (store) => store.list(),
        (store) => store.update("key-1", () => ({ set: 1 })),
      ];
      for (const use of uses) await expect(withStore(kind, folder, use)).rejects.toEqual(isCorrupt);
      expect((await readFile(path)).equals(damaged)).toBe(true);
    }));
});
