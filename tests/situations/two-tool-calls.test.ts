import { expect, it } from "vitest";
import { ToolRegistry, err, ok, runLoop } from "@openfunctions/core";
import { ADAPTERS, withAdapter } from "./adapters.ts";

it.each(ADAPTERS)(
  "two calls of one reply run side by side and answer in order, one failing alone: %s",
  async (name) => {
    let running = 0;
    let most = 0;
    const tools = new ToolRegistry();
    tools.register({
      name: "look",
      description: "looks something up",
      inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      contract: "read",
      handler: async (params) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 10));
        running -= 1;
        return Object(params).n === 1 ? err("one is gone") : ok("two is here");
      },
    });
    const calls = [1, 2].map((n) => ({ id: `call_${n}`, name: "look", args: [`{"n":${n}}`] }));
    await withAdapter(name, [{ calls }, { text: ["done"] }], async ({ adapter, server }) => {
      const result = await runLoop({ adapter, tools, messages: [{ role: "user", content: "look" }] }).result;
      expect(result).toMatchObject({ status: "completed", text: "done" });
      expect(most).toBe(2);
      expect(result.record.toolCalls.map(({ callId, outcome }) => [callId, outcome])).toEqual([
        ["call_1", "failed"],
        ["call_2", "succeeded"],
      ]);
      const sent = server.requests[1]?.text ?? "";
      expect(sent.indexOf("one is gone")).toBeGreaterThan(0);
      expect(sent.indexOf("one is gone")).toBeLessThan(sent.indexOf("two is here"));
    });
  },
);
