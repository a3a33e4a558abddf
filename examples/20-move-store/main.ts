// Tasks move from a JSON file into SQLite: one line says where they live, and copyStore brings along what is there.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
// #region move
import { type Store, ToolRegistry, copyStore, createStore } from "@openfunctions/core";
import { createTaskTools } from "@openfunctions/starter-tools";
import { openSqlite } from "@openfunctions/store-sqlite";

const dir = await mkdtemp(join(tmpdir(), "openfunctions-")); // yours stays
const sqlite = await openSqlite({ file: join(dir, "state.db") });

const before = taskTools(await createStore("tasks", { dir }));
await before.execute("add_task", { title: "water the plants" });

await copyStore(await createStore("tasks", { dir }), sqlite.store("tasks"));
const after = taskTools(sqlite.store("tasks")); // the one line that changed
const tasks = await after.execute("list_tasks", {});
// #endregion

assert.ok(JSON.stringify(tasks).includes("water the plants"));
await copyStore(await createStore("tasks", { dir }), sqlite.store("tasks")); // once more changes nothing
assert.equal(await sqlite.store("tasks").size(), await (await createStore("tasks", { dir })).size());
await sqlite.close();
await rm(dir, { recursive: true });

function taskTools(store: Store): ToolRegistry {
  const tools = new ToolRegistry();
  tools.registerAll(createTaskTools(store));
  return tools;
}
