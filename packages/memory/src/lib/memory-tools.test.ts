/** The tools of memory, through the registry: each half alone, each owner alone. */

import { createMemoryStore, type Message, ToolRegistry, userMessage } from "@openfunctions/core";
import { describe, expect, it } from "vitest";
import { createConversationMemory } from "./conversation-memory.ts";
import { createFactMemory } from "./fact-memory.ts";
import { createMemoryTools } from "./memory-tools.ts";

const assistantMessage = (text: string): Message => ({
  role: "assistant",
  content: [{ type: "text", text }],
});

function setUp() {
  const conversation = createConversationMemory({ store: createMemoryStore() });
  const facts = createFactMemory({ store: createMemoryStore() });
  const registry = new ToolRegistry();
  registry.registerAll(createMemoryTools({ conversation, facts, currentThread: () => "now" }));
  const call = async (name: string, args: object, owner = "ada") => {
    const result = await registry.execute(name, args, { owner });
    return result.success ? result.data : result.error;
  };
  return { conversation, facts, registry, call };
}

describe("memory tools", () => {
  it("are made for the halves that are given", () => {
    const conversation = createConversationMemory({ store: createMemoryStore() });
    const facts = createFactMemory({ store: createMemoryStore() });
    const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);
    expect(names(createMemoryTools({}))).toEqual([]);
    expect(names(createMemoryTools({ facts }))).toEqual(["store_fact", "recall_facts", "forget_fact"]);
    expect(names(createMemoryTools({ conversation }))).toEqual(["list_threads", "get_thread"]);
  });

  it("remember, recall and forget for the owner of the run, whatever the arguments say", async () => {
    const { call, facts } = setUp();
    expect(await call("store_fact", { content: "Ada likes tea" })).toMatchObject({ created: true });
    expect(await call("store_fact", { content: "ada likes TEA" })).toMatchObject({ created: false });
    expect(await call("recall_facts", { query: "tea", owner: "ada" }, "bob")).toEqual(expect.any(String));
    expect(await call("recall_facts", { query: "tea" }, "bob")).toMatchObject({ mode: "keyword", facts: [] });
    const found = await call("recall_facts", { query: "tea" });
    expect(found).toMatchObject({ reason: "no embedder configured", facts: [{ content: "Ada likes tea" }] });
    const { fact_id: id } = Reflect.get(Object(found), "facts")[0];
    expect(await call("forget_fact", { fact_id: id }, "bob")).toContain("There is no fact");
    expect(await call("forget_fact", { fact_id: id })).toMatchObject({ forgotten: true });
    expect(await call("recall_facts", { query: "tea" })).toMatchObject({ facts: [] });
    await facts.undo("ada");
    expect(await call("recall_facts", { query: "tea" })).toMatchObject({ facts: [{ fact_id: id }] });
  });

  it("list other threads and read one, not the current one and not another owner's", async () => {
    const { call, conversation } = setUp();
    for (const [owner, id] of [
      ["ada", "now"],
      ["ada", "then"],
      ["bob", "his"],
    ] as const)
      await conversation.append(owner, id, { messages: [userMessage(`${id}?`), assistantMessage(`${id}!`)] });
    expect(await call("list_threads", {})).toMatchObject({ threads: [{ thread_id: "then", messages: 2 }] });
    expect(await call("get_thread", { thread_id: "then", count: 1 })).toEqual({
      thread_id: "then",
      messages: [{ role: "assistant", text: "then!" }],
    });
    for (const id of ["his", "nope", "../x"])
      expect(await call("get_thread", { thread_id: id })).toContain("There is no thread");
  });

  it("declare what they do, so that it can be enforced", () => {
    const { registry } = setUp();
    const contract = (name: string) => registry.get(name)?.contract;
    expect(contract("store_fact")).toMatchObject({
      effects: { kind: "write", undo: "reversible" },
      idempotency: { mode: "natural" },
      authority: { level: "session" },
    });
    expect(contract("recall_facts")).toMatchObject({
      effects: { kind: "read" },
      authority: { level: "none" },
    });
  });
});
