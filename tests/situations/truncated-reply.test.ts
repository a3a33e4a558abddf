import { describe, expect, it } from "vitest";
import { ToolRegistry, ok, runLoop } from "@openfunctions/core";
import { ADAPTERS, withAdapter } from "./adapters.ts";

describe.each(ADAPTERS)("%s", (name) => {
  it("a reply at its length limit is output_truncated, and its text no answer", async () => {
    await withAdapter(name, [{ text: ["half of"], finish: "length" }], async ({ adapter }) => {
      const result = await runLoop({ adapter, messages: [{ role: "user", content: "go" }] }).result;
      expect(result).toMatchObject({
        status: "limit_reached",
        stopReason: "output_truncated",
        text: "",
        partial: "half of",
      });
    });
  });

  it("field A10: a body that ends before its end event is asked again once, then failed; never a finished reply", async () => {
    await withAdapter(
      name,
      [{ text: ["one ", "two"], cutAfter: 3 }, { text: ["whole"] }],
      async ({ adapter }) => {
        expect(await runLoop({ adapter, messages: [{ role: "user", content: "go" }] }).result).toMatchObject({
          status: "completed",
          text: "whole",
        });
      },
    );
    const cut = { text: ["one ", "two"], cutAfter: 3 };
    await withAdapter(name, [cut, cut], async ({ adapter }) => {
      const result = await runLoop({ adapter, messages: [{ role: "user", content: "go" }] }).result;
      expect(result).toMatchObject({ status: "failed", stopReason: "provider_error", text: "" });
    });
  });

  it("adapters Z14: a stream that breaks in round two is asked again alone; round one's call is not run a second time", async () => {
    let ran = 0;
    const tools = new ToolRegistry();
    tools.register({
      name: "count",
      description: "counts its calls",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ok((ran += 1)),
    });
    const said = [
      { calls: [{ id: "c1", name: "count", args: ["{}"] }] },
      { text: ["bro", "ken"], cutAfter: 3 },
      { text: ["mended"] },
    ];
    await withAdapter(name, said, async ({ adapter, server }) => {
      const result = await runLoop({ adapter, tools, messages: [{ role: "user", content: "go" }] }).result;
      expect(result).toMatchObject({ status: "completed", text: "mended" });
      expect(ran).toBe(1);
      expect(server.requests).toHaveLength(3);
    });
  });
});
