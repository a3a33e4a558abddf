/** A history that no longer fits: what is signed leaves whole, or stays as it is. */

import { describe, expect, it } from "vitest";
import {
  type Compactor,
  type LoopResult,
  type Message,
  ok,
  partsOf,
  runLoop,
  ToolRegistry,
  userMessage,
} from "@openfunctions/core";
import { type FakeReply, type FakeRequest } from "@openfunctions/core/testing";
import { ADAPTERS, answerOf, wireOf, withSteps } from "./adapters.ts";
import { expectLegalHistory } from "./wire-shape.ts";

const ROUNDS = 6;

function toolsOf(): ToolRegistry {
  const tools = new ToolRegistry();
  const inputSchema = { type: "object", properties: { n: { type: "integer" } } } as const;
  tools.register({
    name: "look",
    description: "looks",
    inputSchema,
    contract: "read",
    handler: () => ok("seen"),
  });
  return tools;
}

const round =
  (name: string) =>
  (index: number): FakeReply =>
    answerOf(name, {
      opaque: `r${index}`,
      thought: `thought ${index}`,
      text: [`I look ${index}.`],
      calls: [{ id: `call_${index}`, name: "look", args: [`{"n":${index}}`] }],
    });

interface Compacted {
  readonly result: LoopResult;
  /** The last request before the overflow, and the one after it. */
  readonly before: FakeRequest;
  readonly after: FakeRequest;
}

/** Six signed rounds, then a full window, the compactor, and the answer. */
async function compactedBy(
  name: string,
  compact: (messages: readonly Message[]) => readonly Message[],
): Promise<Compacted> {
  const overflow = wireOf(name).fixtures.failures.contextOverflow;
  const rounds = Array.from({ length: ROUNDS }, (_, index) => round(name)(index));
  const steps = [...rounds, overflow, answerOf(name, { text: ["fits"] })];
  const compactor: Compactor = {
    compact: async (messages, { overflowed }) => (overflowed ? { messages: compact(messages) } : undefined),
  };
  let compacted: Compacted | undefined;
  await withSteps(name, steps, {
    body: async ({ adapter, server }) => {
      const run = runLoop({
        adapter,
        tools: toolsOf(),
        messages: [userMessage("go")],
        compactor,
        capture: "full",
      });
      const result = await run.result;
      const [before, after] = server.requests.slice(-2);
      compacted = { result, before: before!, after: after! };
    },
  });
  return compacted!;
}

/** How often each signed round occurs in a request. */
const signed = ({ text }: FakeRequest): number[] =>
  Array.from({ length: ROUNDS }, (_, index) => text.split(`secret é r${index} `).length - 1);

describe.each(ADAPTERS)("%s", (name) => {
  const isSigned = wireOf(name)
    .fixtures.stream({ opaque: "r0" })
    .some((block) => block.includes("secret"));
  const all = (count: number): number[] => Array<number>(count).fill(isSigned ? 1 : 0);
  const none = (count: number): number[] => Array<number>(count).fill(0);
  const { historyOf, opaqueOf } = wireOf(name).fixtures;

  it("adapters Z20: turns that a compactor drops leave whole; those that stay are the same bytes", async () => {
    const { result, before, after } = await compactedBy(name, (messages) => [
      userMessage("What was before: nothing of note."),
      ...messages.slice(-4),
    ]);
    expect(result).toMatchObject({ status: "completed", text: "fits" });
    expect(signed(before)).toEqual(all(ROUNDS));
    expect(signed(after)).toEqual([...none(4), ...all(2)]);
    expectLegalHistory(name, after.body);
    // The kept turns are the end of what was sent before, item for item.
    const kept = historyOf(after.body).map((item) => JSON.stringify(item));
    const sent = historyOf(before.body).map((item) => JSON.stringify(item));
    const tail = kept.slice(-(kept.length - 1));
    expect(tail.length).toBeGreaterThanOrEqual(4);
    expect(sent.slice(-tail.length)).toEqual(tail);
    expect(opaqueOf(after.body)).toEqual(
      opaqueOf(before.body).slice(isSigned ? -opaqueOf(after.body).length : 0),
    );
  });

  it("adapters Z20: a compactor that cuts through turns costs their signatures, never the request", async () => {
    const cuts: ((messages: readonly Message[]) => readonly Message[])[] = [
      // Results without their calls, and calls without results.
      (messages) => [userMessage("go"), ...messages.filter(({ role }) => role !== "assistant")],
      (messages) => messages.filter(({ role }) => role !== "tool"),
      // Turns that lost their calls, their text, or everything that is not opaque.
      (messages) => messages.map((message) => without(message, "tool_call")),
      (messages) => messages.map((message) => without(message, "text")),
      (messages) => messages.map((message) => without(without(message, "tool_call"), "text")),
      // Texts that were shortened.
      (messages) => messages.map(shortened),
      // In the middle of a turn.
      (messages) => [userMessage("go"), ...messages.slice(2)],
    ];
    for (const cut of cuts) {
      const { result, after } = await compactedBy(name, cut);
      expect(result).toMatchObject({ status: "completed", text: "fits" });
      expectLegalHistory(name, after.body);
      // Whatever opaque item is still there is one that was received, whole.
      const received = Array.from({ length: ROUNDS }, (_, index) =>
        (round(name)(index).blocks ?? []).join(""),
      ).join("");
      for (const item of opaqueOf(after.body)) expect(received).toContain(JSON.stringify(item));
    }
  });

  it("a second overflow ends the run as context_overflow", async () => {
    const { contextOverflow } = wireOf(name).fixtures.failures;
    await withSteps(name, [contextOverflow, contextOverflow, answerOf(name, { text: ["never"] })], {
      body: async ({ adapter, server }) => {
        const compactor: Compactor = {
          compact: async (messages, { overflowed }) => (overflowed ? { messages } : undefined),
        };
        const run = runLoop({ adapter, messages: [userMessage("go")], compactor });
        expect(await run.result).toMatchObject({ status: "failed", stopReason: "context_overflow" });
        expect(server.requests).toHaveLength(2);
      },
    });
  });
});

function without(message: Message, type: string): Message {
  if (message.role !== "assistant") return message;
  return { ...message, content: partsOf(message).filter((part) => part.type !== type) };
}

function shortened(message: Message): Message {
  if (message.role !== "assistant") return message;
  const content = partsOf(message).map((part) => (part.type === "text" ? { ...part, text: "…" } : part));
  return { ...message, content };
}
