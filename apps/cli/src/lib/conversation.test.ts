/** What a conversation keeps of turns that waited, over processes, and of those that its end overtook. */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AIAdapter, OpenFunctionsError, ok, ToolRegistry } from "@openfunctions/core";
import { scriptedAdapter, type ScriptStep } from "@openfunctions/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { LOCAL_OWNER } from "./answer-tickets.ts";
import { Conversation } from "./conversation.ts";
import { type HomeStores, openHomeStores } from "./home-stores.ts";

const opened: HomeStores[] = [];
afterEach(async () => {
  for (const stores of opened.splice(0)) await stores.close();
});

async function openStores(): Promise<HomeStores> {
  const stores = await openHomeStores(await mkdtemp(join(tmpdir(), "openfunctions-conversation-")));
  opened.push(stores);
  return stores;
}

/** The thread as one process has it in its hands. */
function begin(stores: HomeStores, adapter: AIAdapter): Conversation {
  const tools = new ToolRegistry();
  tools.register({
    name: "send",
    description: "Sends.",
    inputSchema: { type: "object", properties: {} },
    contract: {
      version: "1",
      authority: { level: "human" },
      effects: { kind: "write" },
      idempotency: { mode: "none" },
    },
    handler: () => ok("sent"),
  });
  return new Conversation({
    adapter,
    tools,
    id: "t1",
    home: stores.loop,
    threads: stores.conversations,
    onNotKept: (cause) => {
      throw cause;
    },
  });
}

const SEND: ScriptStep = { toolCalls: [{ name: "send", args: {} }] };

async function say(conversation: Conversation, text: string) {
  const run = await conversation.turn(text);
  await conversation.settled();
  return run.result;
}

async function approve(stores: HomeStores, runId: string): Promise<void> {
  const record = await stores.runs.get(runId);
  const ticket = record?.pending?.[0]?.ticketId ?? "";
  const by = { kind: "human", id: "ann", via: "local" } as const;
  await stores.approvals.resolve(ticket, { decision: "approved", owner: LOCAL_OWNER, by });
}

const kept = (stores: HomeStores) => stores.conversations.messages(LOCAL_OWNER, "t1");

describe("Conversation", () => {
  it("keeps what was said while a turn waited, where another process goes on with that turn", async () => {
    const stores = await openStores();
    const first = begin(stores, scriptedAdapter([SEND, { text: "hello" }, { text: "hello again" }]));
    const { runId } = await say(first, "send it");
    await say(first, "hi");
    await say(first, "hi again");
    const before = await kept(stores);
    expect(before).toHaveLength(4);
    await approve(stores, runId);
    const next = begin(stores, scriptedAdapter([{ text: "it was sent" }, { text: "bye" }]));
    expect((await (await next.resume(runId)).result).status).toBe("completed");
    await next.settled();
    expect(await kept(stores)).toEqual(before);
    await say(next, "bye");
    expect(next.messages.slice(0, 4)).toEqual(before);
    expect(await kept(stores)).toHaveLength(6);
  });

  it("keeps a turn that began with a shortened history, where another process goes on with it", async () => {
    const stores = await openStores();
    const script = scriptedAdapter([
      ...Array.from({ length: 4 }, () => ({ text: "ok" })),
      { text: "the summary" },
      { text: "ok" },
      SEND,
    ]);
    const small: AIAdapter = {
      ...script,
      stream: (asked) => {
        if (JSON.stringify(asked.messages).length > 5_000 && !JSON.stringify(asked).includes("You sum up"))
          throw new OpenFunctionsError("too long", { code: "context_overflow" });
        return script.stream(asked);
      },
    };
    const first = begin(stores, small);
    for (let turn = 0; turn < 5; turn += 1) await say(first, `${turn} ${"long ".repeat(220)}`);
    expect(first.messages.length).toBeLessThan(10);
    const { runId, status } = await say(first, "send it");
    expect(status).toBe("suspended");
    await approve(stores, runId);
    const next = begin(stores, scriptedAdapter([{ text: "it was sent" }]));
    await next.resume(runId);
    await next.settled();
    const roles = (await kept(stores))?.slice(10).map(({ role }) => role);
    expect(roles).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("keeps nothing more once it has ended, whatever was still running", async () => {
    const stores = await openStores();
    const conversation = begin(stores, scriptedAdapter([{ text: "one" }, { text: "two" }]));
    await say(conversation, "first");
    const run = await conversation.turn("second");
    await conversation.end();
    await stores.conversations.deleteThread(LOCAL_OWNER, "t1");
    expect((await run.result).status).toBe("completed");
    await conversation.settled();
    expect(await stores.conversations.readThread(LOCAL_OWNER, "t1")).toBeUndefined();
  });
});
