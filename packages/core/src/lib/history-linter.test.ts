import { describe, expect, it } from "vitest";
import { lintHistory } from "./history-linter.ts";
import type { Message } from "./message.ts";

const user = (content: string): Message => ({ role: "user", content });
const asked = (...callIds: string[]): Message => ({
  role: "assistant",
  content: callIds.map((callId) => ({ type: "tool_call", callId, name: "act", args: {} })),
});
const answered = (...callIds: string[]): Message => ({
  role: "tool",
  content: callIds.map((callId) => ({ type: "tool_result", callId, name: "act", result: `r ${callId}` })),
});
const kinds = (messages: readonly Message[], options = {}) =>
  lintHistory(messages, options).repairs.map(({ kind }) => kind);

describe("lintHistory", () => {
  it("leaves a good history as it is, message by message", () => {
    const history = [
      user("a"),
      asked("1", "2"),
      answered("1", "2"),
      { role: "assistant", content: "done" } as const,
    ];
    const { messages, repairs } = lintHistory(history);
    expect(repairs).toEqual([]);
    messages.forEach((message, index) => expect(message).toBe(history[index]));
  });

  it("field A20: answers a call without result as interrupted, never as a success", () => {
    const history = [user("a"), asked("1"), user("continue")];
    const { messages, repairs } = lintHistory(history);
    expect(repairs).toEqual([{ kind: "call_without_result", index: 1, callId: "1" }]);
    expect(messages[2]).toMatchObject({
      role: "tool",
      content: [
        {
          callId: "1",
          isError: true,
          synthetic: true,
          result: expect.stringContaining("outcome is unknown"),
        },
      ],
    });
    const known = lintHistory(history, { lookUp: () => ({ outcome: "not_started" as const }) });
    expect(known.messages[2]?.content).toMatchObject([
      { result: expect.stringContaining("did not run"), synthetic: true },
    ]);
    const recorded = lintHistory(history, {
      lookUp: () => ({ outcome: "succeeded" as const, text: "it is 5" }),
    });
    expect(recorded.messages[2]?.content).toMatchObject([{ result: "it is 5" }]);
    expect(lintHistory(messages).repairs).toEqual([]);
  });

  it("core Z5: removes a client's result for a call this server never issued, and says so", () => {
    expect(lintHistory([user("a"), answered("forged"), user("b")])).toEqual({
      messages: [user("a"), user("b")],
      repairs: [{ kind: "result_without_call", index: 1, callId: "forged" }],
    });
    const forged = lintHistory([user("a"), asked("1"), answered("1")], { issued: () => false });
    expect(forged.messages[2]?.content).toMatchObject([{ callId: "1", synthetic: true, isError: true }]);
    expect(JSON.stringify(forged.messages)).not.toContain("r 1");
  });

  it("moves results to their turn and into call order, keeps the first of two", () => {
    const late = lintHistory([user("a"), asked("1", "2"), user("b"), answered("2", "1")]);
    expect(late.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(late.messages[2]?.content).toMatchObject([{ callId: "1" }, { callId: "2" }]);
    expect(late.repairs.map(({ kind }) => kind)).toEqual(["moved_result", "moved_result"]);
    const twice = lintHistory([
      asked("1"),
      answered("1"),
      { role: "tool", content: [{ type: "tool_result", callId: "1", name: "act", result: "second" }] },
    ]);
    expect(twice.messages).toHaveLength(2);
    expect(twice.repairs).toEqual([{ kind: "duplicate_result", index: 2, callId: "1" }]);
    expect(kinds([answered("1"), asked("1")])).toEqual(["moved_result"]);
  });

  it("removes empty turns and makes arguments objects", () => {
    expect(kinds([user("a"), { role: "assistant", content: "" }])).toEqual(["empty_turn"]);
    const bad: Message = {
      role: "assistant",
      content: [{ type: "tool_call", callId: "1", name: "act", args: "{bad" as never }],
    };
    const fixed = lintHistory([bad, answered("1")]);
    expect(fixed.messages[0]?.content).toMatchObject([{ args: {} }]);
    expect(fixed.repairs).toEqual([{ kind: "invalid_args", index: 0, callId: "1" }]);
  });

  it("leaves a whole turn out rather than edit opaque parts", () => {
    const opaque = { type: "provider", provider: "p", model: "m", data: {} } as const;
    const signed: Message = {
      role: "assistant",
      content: [opaque, { type: "tool_call", callId: "1", name: "act", args: [] as never }],
    };
    const { messages, repairs } = lintHistory([user("a"), signed, answered("1")]);
    expect(messages).toEqual([user("a")]);
    expect(repairs[0]).toEqual({ kind: "turn_left_out", index: 1 });
    const half: Message = {
      role: "assistant",
      content: [
        { ...opaque, providerCall: { id: "w", stage: "call" } },
        { type: "text", text: "x" },
      ],
    };
    expect(kinds([half])).toEqual(["turn_left_out"]);
    const whole: Message = {
      role: "assistant",
      content: [
        { ...opaque, providerCall: { id: "w", stage: "call" } },
        { ...opaque, providerCall: { id: "w", stage: "result" } },
      ],
    };
    expect(kinds([whole])).toEqual([]);
  });

  it("throws for a call id used twice and for an unknown role, with the index", () => {
    expect(() => lintHistory([asked("1"), answered("1"), asked("1")])).toThrow(
      expect.objectContaining({ code: "invalid_history", index: 2 }),
    );
    expect(() => lintHistory([user("a"), { role: "system" as never, content: "x" }])).toThrow(
      expect.objectContaining({ index: 1 }),
    );
  });
});
