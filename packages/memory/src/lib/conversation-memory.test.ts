/** Threads: whole turns, one writer at a time, no owner in another's. */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStore, createStore, type Message, type Store, userMessage } from "@openfunctions/core";
import { fakeClock } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { createConversationMemory } from "./conversation-memory.ts";

const assistantMessage = (text: string): Message => ({
  role: "assistant",
  content: [{ type: "text", text }],
});
const turn = (text: string): readonly Message[] => [userMessage(text), assistantMessage(`re ${text}`)];
const textsOf = (messages: readonly Message[] | undefined): readonly unknown[] | undefined =>
  messages?.map(({ content }) =>
    typeof content === "string" ? content : Reflect.get(Object(content[0]), "text"),
  );

/** A store that loses the process at a write: `left` writes go through, then every call rejects. */
function dying(store: Store, left: number): Store {
  const step = (): void => {
    if (left === 0) throw new Error("killed");
    left -= 1;
  };
  return {
    ...store,
    durability: store.durability,
    get: (key) => store.get(key),
    has: (key) => store.has(key),
    list: (query) => store.list(query),
    entries: () => store.entries(),
    size: () => store.size(),
    clear: () => store.clear(),
    close: () => store.close(),
    set: async (key, value) => (step(), store.set(key, value)),
    delete: async (key) => (step(), store.delete(key)),
    update: async (key, change) => (step(), store.update(key, change)),
  };
}

describe("conversation memory", () => {
  it("gives back what was said, in order, by its end or a part of it", async () => {
    const memory = createConversationMemory({ store: createMemoryStore() });
    for (const text of ["a", "b", "c"]) await memory.append("ada", "t", { messages: turn(text) });
    expect(textsOf(await memory.messages("ada", "t"))).toEqual(["a", "re a", "b", "re b", "c", "re c"]);
    expect(textsOf(await memory.messages("ada", "t", { last: 3 }))).toEqual(["re b", "c", "re c"]);
    expect(textsOf(await memory.messages("ada", "t", { before: 3, last: 2 }))).toEqual(["re a", "b"]);
    expect(await memory.readThread("ada", "t")).toMatchObject({ id: "t", owner: "ada", messageCount: 6 });
  });

  it("state D7: gives no messages for the last 0", async () => {
    const memory = createConversationMemory({ store: createMemoryStore() });
    await memory.append("ada", "t", { messages: turn("a") });
    expect(await memory.messages("ada", "t", { last: 0 })).toEqual([]);
  });

  it("state D8: knows nothing of an unknown thread, and makes none by looking", async () => {
    const store = createMemoryStore();
    const memory = createConversationMemory({ store });
    expect(await memory.readThread("ada", "nope")).toBeUndefined();
    expect(await memory.messages("ada", "nope")).toBeUndefined();
    expect(await memory.setTitle("ada", "nope", "x")).toBe(false);
    expect(await memory.deleteThread("ada", "nope")).toBe(false);
    expect(await store.size()).toBe(0);
  });

  it("keeps a call and its result together, and sends no half of them", async () => {
    const memory = createConversationMemory({ store: createMemoryStore() });
    const call = { type: "tool_call", callId: "c1", name: "look", args: {} } as const;
    const result = { type: "tool_result", callId: "c1", name: "look", result: "seen" } as const;
    const messages: readonly Message[] = [
      userMessage("look"),
      { role: "assistant", content: [call] },
      { role: "tool", content: [result] },
      assistantMessage("I saw it"),
    ];
    await memory.append("ada", "t", { messages });
    expect(await memory.messages("ada", "t")).toEqual(messages);
    expect(textsOf(await memory.messages("ada", "t", { last: 2 }))).toEqual(["I saw it"]);
  });

  it("lets one of two writers with the same count in, and appends of many instances lose nothing", async () => {
    const dir = await mkdtemp(join(tmpdir(), "openfunctions-memory-"));
    const open = async () => createConversationMemory({ store: await createStore("threads", { dir }) });
    const memories = await Promise.all([open(), open(), open()]);
    const both = await Promise.allSettled(
      memories
        .slice(0, 2)
        .map((memory) => memory.append("ada", "t", { messages: turn("x"), expectedCount: 0 })),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(both.find((one) => one.status === "rejected")?.reason).toMatchObject({ code: "store_conflict" });
    await Promise.all(
      memories.flatMap((memory, writer) =>
        ["1", "2", "3"].map((text) => memory.append("ada", "t", { messages: turn(`${writer}.${text}`) })),
      ),
    );
    const said = textsOf(await memories[0]?.messages("ada", "t"))?.filter(
      (text) => !String(text).startsWith("re"),
    );
    expect(said?.toSorted()).toEqual(["0.1", "0.2", "0.3", "1.1", "1.2", "1.3", "2.1", "2.2", "2.3", "x"]);
  });

  it("holds every turn whole or not at all, wherever the process dies, and goes on afterwards", async () => {
    for (let writes = 0; writes < 12; writes += 1) {
      const store = createMemoryStore();
      const before = createConversationMemory({ store });
      await before.append("ada", "t", { messages: turn("one") });
      const last = createConversationMemory({ store: dying(store, writes) });
      const done = await last.append("ada", "t", { messages: turn("two") }).then(
        () => true,
        () => false,
      );
      const after = createConversationMemory({ store });
      const texts = textsOf(await after.messages("ada", "t"));
      expect(
        [
          ["one", "re one"],
          ["one", "re one", "two", "re two"],
        ],
        `after ${writes} writes`,
      ).toContainEqual(texts);
      if (done) expect(texts).toHaveLength(4);
      await after.append("ada", "t", { messages: turn("three") });
      expect(textsOf(await after.messages("ada", "t", { last: 2 }))).toEqual(["three", "re three"]);
    }
  });

  it("costs as many store calls in a thread of a thousand turns as in a new one", async () => {
    const store = createMemoryStore();
    let calls = 0;
    const counting = dying(store, Number.POSITIVE_INFINITY);
    const counted: Store = { ...counting, get: (key) => ((calls += 1), counting.get(key)) };
    const memory = createConversationMemory({ store: counted });
    const costs: number[] = [];
    for (let number = 0; number < 1_000; number += 1) {
      calls = 0;
      await memory.append("ada", "t", { messages: turn(String(number)) });
      costs.push(calls);
    }
    expect(costs.at(-1)).toBe(costs[1]);
    calls = 0;
    await memory.messages("ada", "t", { last: 4 });
    expect(calls).toBeLessThan(6);
  });

  it("lists threads by their last turn, in pages, without reading messages", async () => {
    const clock = fakeClock();
    const store = createMemoryStore();
    const memory = createConversationMemory({ store, clock });
    for (const id of ["a", "b", "c"]) {
      await memory.append("ada", id, { messages: turn(id) });
      clock.advance(1_000);
    }
    await memory.setTitle("ada", "a", "Tea");
    const first = await memory.listThreads("ada", { limit: 2 });
    expect(first.threads.map(({ id }) => id)).toEqual(["c", "b"]);
    const rest = await memory.listThreads("ada", { limit: 2, ...(first.cursor && { cursor: first.cursor }) });
    expect(rest).toMatchObject({ threads: [{ id: "a", title: "Tea", messageCount: 2 }] });
    expect(rest.cursor).toBeUndefined();
  });

  it("shows no owner anything of another, and clears one alone", async () => {
    const memory = createConversationMemory({ store: createMemoryStore() });
    for (const owner of ["ada", "ada/x", "ада", "bob"])
      await memory.append(owner, "t", { messages: turn(owner) });
    for (const owner of ["ada", "ada/x", "ада", "bob"])
      expect(textsOf(await memory.messages(owner, "t"))?.[0]).toBe(owner);
    expect(await memory.clear("ada")).toBe(1);
    expect(await memory.readThread("ada", "t")).toBeUndefined();
    expect(await memory.readThread("ada/x", "t")).toBeDefined();
    await expect(memory.listThreads("")).rejects.toMatchObject({ code: "bad_id" });
  });

  it("finds nothing of a deleted thread in one made anew with its id", async () => {
    const store = createMemoryStore();
    const memory = createConversationMemory({ store });
    await memory.append("ada", "t", { messages: turn("old") });
    await memory.append("ada", "t", { messages: turn("older") });
    expect(await memory.deleteThread("ada", "t")).toBe(true);
    expect(await store.size()).toBe(0);
    await memory.append("ada", "t", { messages: turn("new") });
    expect(textsOf(await memory.messages("ada", "t"))).toEqual(["new", "re new"]);
  });

  it.each(["", "a/b", "../x", "ä", "x".repeat(129)])("refuses the thread id %j", async (id) => {
    const memory = createConversationMemory({ store: createMemoryStore() });
    await expect(memory.readThread("ada", id)).rejects.toMatchObject({ code: "bad_id" });
    await expect(memory.append("ada", id, { messages: turn("x") })).rejects.toMatchObject({ code: "bad_id" });
  });
});
