/** The fake model keeps its script. */

import { describe, expect, it } from "vitest";
import { collect } from "../collect.ts";
import { scriptedAdapter } from "./scripted-adapter.ts";

const ask = { messages: [{ role: "user", content: "hi" }] } as const;

describe("scriptedAdapter", () => {
  it("replays text, then calls, and remembers the requests", async () => {
    const adapter = scriptedAdapter([
      { toolCalls: [{ name: "a", args: { x: 1 } }, { name: "b" }] },
      { text: ["do", "ne"] },
    ]);
    const first = await adapter.chat(ask);
    expect(first.finishReason).toBe("tool_calls");
    expect(first.toolCalls.map((call) => [call.callId, call.name, call.args])).toEqual([
      ["call_0_0", "a", { x: 1 }],
      ["call_0_1", "b", {}],
    ]);
    expect((await adapter.chat({ ...ask, system: "s" })).text).toBe("done");
    expect(adapter.requests).toHaveLength(2);
    expect(adapter.requests[1]?.system).toBe("s");
  });

  it("marks arguments that are not JSON", async () => {
    const reply = await scriptedAdapter([{ toolCalls: [{ name: "a", args: "{bad" }] }]).chat(ask);
    expect(reply.toolCall?.argsError).toMatch(/not valid JSON/);
    expect(reply.toolCall?.argsText).toBe("{bad");
  });

  it("says clearly when the script is over", async () => {
    const adapter = scriptedAdapter([{ text: "one" }]);
    await adapter.chat(ask);
    await expect(adapter.chat(ask)).rejects.toThrow(
      "The script has 1 step, but the model was asked 2 times.",
    );
  });

  it("throws a scripted error after its content", async () => {
    const seen: string[] = [];
    const error = new Error("boom");
    const stream = scriptedAdapter([{ text: "half", error }]).stream(ask);
    await expect(collect(stream, (event) => seen.push(event.type))).rejects.toBe(error);
    expect(seen).toEqual(["start", "text_delta"]);
  });

  it("stalls until the abort, and rejects with its reason", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const reply = scriptedAdapter([{ text: "x", stall: true }]).chat({ ...ask, signal: controller.signal });
    setTimeout(() => controller.abort(reason), 5);
    await expect(reply).rejects.toBe(reason);
  });

  it("gives exact events and computes steps from the request", async () => {
    const adapter = scriptedAdapter([
      { events: [{ type: "start" }, { type: "finish", reason: "length" }] },
      (request, index) => ({ delayMs: 1, text: `${index}:${request.messages.length}` }),
    ]);
    expect((await adapter.chat(ask)).finishReason).toBe("length");
    expect((await adapter.chat(ask)).text).toBe("1:1");
  });
});
