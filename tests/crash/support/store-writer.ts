/**
 * `node store-writer.ts <json|sqlite> <folder> <job> <name> <from> <count>`: writes to the store `things` and prints the
 * number of each write that resolved.
 *
 *   turn     writes entry after entry, over eight keys again and again
 *   keys     writes each entry under a key of its own
 *   update   adds one to a number that others add to as well
 *   half     is gone the moment a new file would take the place of the old one
 */

import { promises } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { type Store, createStore } from "@openfunctions/core";
import { openSqlite } from "@openfunctions/store-sqlite";
import { entryOf, keyOf } from "./store-entries.ts";

const [kind = "", folder = "", job = "", name = "", from = "0", count = "0"] = process.argv.slice(2);
if (job === "half") {
  promises.rename = async () => void process.kill(process.pid, "SIGKILL");
  syncBuiltinESMExports();
}
const store = await open();
for (let n = Number(from); n < Number(from) + Number(count); n += 1) {
  if (job === "update") await store.update("n", (value) => ({ set: Number(value ?? 0) + 1 }));
  else await store.set(job === "keys" ? `${name}/${n}` : keyOf(n), entryOf(n));
  process.stdout.write(`${n}\n`);
}

async function open(): Promise<Store> {
  if (kind === "json") return createStore("things", { dir: folder });
  return (await openSqlite({ file: join(folder, "state.db") })).store("things");
}
