/** A run that outlives its process: state and runs in one SQLite file, opened twice. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createOfflineAdapter } from "@openfunctions/adapter-local";
import { createStarterTools } from "@openfunctions/starter-tools";
// #region record
import { ToolRegistry, pruneRuns, runLoop } from "@openfunctions/core";
import { openSqlite } from "@openfunctions/store-sqlite";

const file = join(await mkdtemp(join(tmpdir(), "openfunctions-")), "state.db"); // yours stays
const sqlite = await openSqlite({ file });
const tools = new ToolRegistry();
tools.registerAll(createStarterTools({ tasks: sqlite.store("tasks"), notes: sqlite.store("notes") }));

const run = runLoop({
  adapter: createOfflineAdapter(),
  tools,
  messages: [{ role: "user", content: "add a task: water the plants" }],
  store: sqlite.runStore(),
});
const { record } = await run.result;
await sqlite.close();
// #endregion

// #region read
const again = await openSqlite({ file }); // the next process, or another one beside this
const { runs } = await again.runStore().list({ status: "completed", limit: 10 });
assert.deepEqual(runs, [record]);
assert.ok((await again.store("tasks").size()) > 0);

const DAY_MS = 86_400_000;
const month = { maxAgeMs: 30 * DAY_MS, now: Date.now() + 31 * DAY_MS };
assert.deepEqual((await pruneRuns(again.runStore(), month)).removed, [record.runId]);
await again.close();
// #endregion
await rm(dirname(file), { recursive: true });
process.stdout.write(`${record.toolCalls[0]?.toolName} was recorded, read again and pruned\n`);
