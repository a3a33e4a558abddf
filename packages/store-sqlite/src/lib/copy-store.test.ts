import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyStore, createMemoryStore, createStore, type Json, type Store } from "@openfunctions/core";
import { afterEach, describe, expect, it } from "vitest";
import { openSqlite, type SqliteStores } from "./open-sqlite.ts";

const opened: SqliteStores[] = [];
afterEach(async () => {
  for (const stores of opened.splice(0)) await stores.close();
});

const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "openfunctions-copy-"));

const BACKENDS: Readonly<Record<string, () => Promise<Store>>> = {
  memory: async () => createMemoryStore(),
  "JSON file": async () => createStore("things", { dir: await folder() }),
  SQLite: async () => {
    const stores = await openSqlite({ file: join(await folder(), "state.db") });
    opened.push(stores);
    return stores.store("things");
  },
};

const ENTRIES: ReadonlyMap<string, Json> = new Map<string, Json>([
  ["a", null],
  ["a/b", { deep: [1, { é: "😀" }], empty: "", none: [] }],
  ["__proto__", "a key like any other"],
  ['it\'s "quoted"; --', 0.1 + 0.2],
  ["😀", 1e21],
  ["\uffee", false],
  ...Array.from({ length: 120 }, (_, n): [string, Json] => [`many/${n}`, n]),
]);

async function entriesOf(store: Store): Promise<readonly (readonly [string, Json])[]> {
  const entries = [];
  for await (const entry of store.entries()) entries.push(entry);
  return entries;
}

describe("copyStore", () => {
  for (const [source, makeSource] of Object.entries(BACKENDS))
    for (const [target, makeTarget] of Object.entries(BACKENDS))
      it(`loses nothing from ${source} to ${target}, and can be repeated`, async () => {
        const [from, memory, to] = [await makeSource(), createMemoryStore(), await makeTarget()];
        for (const [key, value] of ENTRIES) await memory.set(key, value);
        // A JSON file is written as a whole each time: a few suffice where both are files.
        if (source === "JSON file" || target === "JSON file")
          for (let n = 8; n < 120; n += 1) await memory.delete(`many/${n}`);
        const size = await memory.size();
        expect(await copyStore(memory, from)).toEqual({ copied: size });
        expect(await copyStore(from, to)).toEqual({ copied: size });
        const wanted = await entriesOf(memory);
        expect(await entriesOf(to)).toEqual(wanted);
        await to.set("own", "stays");
        await from.set("a", "changed");
        expect(await copyStore(from, to)).toEqual({ copied: size });
        expect(await to.get("a")).toBe("changed");
        expect(await to.get("own")).toBe("stays");
        expect(await entriesOf(from)).toHaveLength(size);
      });

  it("tells of a write that failed, and is whole once it is repeated", async () => {
    const [from, to] = [createMemoryStore(), createMemoryStore()];
    for (const [key, value] of ENTRIES) await from.set(key, value);
    const broken: Store = Object.assign(createMemoryStore(), {
      set: async (key: string, value: Json) => {
        if (await to.has("many/7")) throw new Error("disk full");
        await to.set(key, value);
      },
    });
    await expect(copyStore(from, broken)).rejects.toThrow("disk full");
    expect(await to.size()).toBeLessThan(ENTRIES.size);
    await copyStore(from, to);
    expect(await entriesOf(to)).toEqual(await entriesOf(from));
  });
});
