/** A conversation of two turns that is watched as it happens: every event is part of one log. */

import assert from "node:assert/strict";
import { createOfflineAdapter } from "@openfunctions/adapter-local";
// #region tools
import {
  type Message,
  ToolRegistry,
  createMemoryRunStore,
  createMemoryStore,
  isChainEvent,
  runLoop,
} from "@openfunctions/core";
import { createStarterTools } from "@openfunctions/starter-tools";

const tools = new ToolRegistry();
tools.registerAll(createStarterTools({ tasks: createMemoryStore(), notes: createMemoryStore() }));
// #endregion
const store = createMemoryRunStore();
let history: readonly Message[] = [];

// #region turn
async function say(text: string): Promise<string> {
  const messages: Message[] = [...history, { role: "user", content: text }];
  const run = runLoop({
    adapter: createOfflineAdapter(),
    tools,
    messages,
    store,
    kind: "chat_turn",
    capture: "full",
  });
  for await (const event of run) {
    if (isChainEvent(event) && event.type === "tool.requested")
      process.stdout.write(`[${event.data.toolName}] `);
    if (event.type === "text.delta") process.stdout.write(String(Object(event.data).text));
  }
  const result = await run.result;
  history = result.messages;
  process.stdout.write("\n");
  return result.text;
}
// #endregion

await say("add a task: water the plants");
const answer = await say("what are my tasks");
assert.match(answer, /water the plants/);

const { runs } = await store.list();
assert.equal(runs.length, 2);
assert.deepEqual(
  runs.map((record) => record.toolCalls[0]?.toolName),
  ["list_tasks", "add_task"],
);
