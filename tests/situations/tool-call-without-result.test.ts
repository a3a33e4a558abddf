import { expect, it } from "vitest";
import { type Message, runLoop } from "@openfunctions/core";
import { ADAPTERS, withAdapter } from "./adapters.ts";

it.each(ADAPTERS)(
  "field A20: a stored call whose result was lost gets one interrupted answer, and the next turn works: %s",
  async (name) => {
    const history: Message[] = [
      { role: "user", content: "pay the bill" },
      { role: "assistant", content: [{ type: "tool_call", callId: "lost", name: "pay", args: {} }] },
      { role: "user", content: "continue" },
    ];
    await withAdapter(
      name,
      [{ text: ["I do not know whether it was paid."] }],
      async ({ adapter, server }) => {
        const result = await runLoop({ adapter, messages: history }).result;
        expect(result.status).toBe("completed");
        expect(server.requests[0]?.text).toContain("interrupted");
        expect(result.messages.filter(({ role }) => role === "tool")).toHaveLength(1);
        expect(JSON.stringify(result.messages)).not.toContain('"success"');
      },
    );
  },
);
