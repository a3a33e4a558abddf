/** An agent that remembers: a fact from one conversation is found in the next, by its owner alone. No key, no network. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Message, ToolRegistry, runLoop, userMessage } from "@openfunctions/core";
import { type ScriptStep, scriptedAdapter } from "@openfunctions/core/testing";
// #region create
import {
  createCompactor,
  createConversationMemory,
  createFactMemory,
  createMemoryTools,
} from "@openfunctions/memory";
import { openSqlite } from "@openfunctions/store-sqlite";

const dir = await mkdtemp(join(tmpdir(), "openfunctions-memory-"));
const sqlite = await openSqlite({ file: join(dir, "memory.db") });
const conversation = createConversationMemory({ store: sqlite.store("threads") });
const facts = createFactMemory({ store: sqlite.store("facts") });

const tools = new ToolRegistry();
tools.registerAll(createMemoryTools({ conversation, facts }));
// #endregion

// #region turn
async function turn([owner, thread]: [string, string], text: string, script: readonly ScriptStep[]) {
  const before = (await conversation.messages(owner, thread)) ?? [];
  const adapter = scriptedAdapter(script); // in your program: any real adapter
  const messages: readonly Message[] = [...before, userMessage(text)];
  const compactor = createCompactor({ adapter }); // shortens what the model is sent, never what is stored
  const result = await runLoop({ adapter, tools, owner, messages, known: before.length, compactor }).result;
  const { status, runId } = result;
  if (status === "completed")
    await conversation.append(owner, thread, { messages: result.messages.slice(before.length), runId });
  return result;
}
// #endregion

const recall = { toolCalls: [{ name: "recall_facts", args: { query: "tea" } }] };
const told = "Remember that I like green tea.";
await turn(["ada", "monday"], told, [
  { toolCalls: [{ name: "store_fact", args: { content: "Ada likes green tea" } }] },
  { text: "I will." },
]);
const asked = await turn(["ada", "tuesday"], "What do I drink?", [recall, { text: "Green tea." }]);
assert.match(JSON.stringify(asked.messages), /Ada likes green tea/);

const stranger = await turn(["bob", "tuesday"], "What does Ada drink?", [recall, { text: "I cannot say." }]);
assert.doesNotMatch(JSON.stringify(stranger.messages), /green tea/);
assert.equal((await conversation.messages("ada", "monday"))?.length, 4);
assert.equal(await conversation.messages("bob", "monday"), undefined);

// #region correct
const [fact] = (await facts.recall("ada", "tea")).facts;
await facts.correct("ada", fact?.id ?? "", "Ada likes black tea"); // the earlier words stay, superseded
assert.equal((await facts.recall("ada", "tea")).facts[0]?.content, "Ada likes black tea");
await facts.undo("ada"); // one step back
assert.equal((await facts.recall("ada", "tea")).facts[0]?.content, "Ada likes green tea");
// #endregion
await sqlite.close();
await rm(dir, { recursive: true });
process.stdout.write("remembered, corrected, taken back; bob saw nothing\n");
