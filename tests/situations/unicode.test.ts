import { expect, it } from "vitest";
import { ToolRegistry, ok, runLoop } from "@openfunctions/core";
import { ADAPTERS, withAdapter } from "./adapters.ts";

const TEXT = ["北京 ", "“quoted” ", "😀👩‍👩‍👧", " \u2028 ", '\\n \t "x"', "é (combining)"];

it.each(ADAPTERS)(
  "field A4: every character survives, cut anywhere, in text, arguments and results: %s",
  async (name) => {
    const seen: unknown[] = [];
    const tools = new ToolRegistry();
    tools.register({
      name: "echo",
      description: "says it again",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      contract: "read",
      handler: (params) => {
        seen.push(Object(params).text);
        return ok(Object(params).text);
      },
    });
    const whole = TEXT.join("");
    const args = JSON.stringify({ text: whole });
    const said = [
      { calls: [{ id: "e", name: "echo", args: [args.slice(0, 7), args.slice(7)] }], splitBytes: 1 },
      { text: TEXT, splitBytes: 1 },
    ];
    await withAdapter(name, said, async ({ adapter, server }) => {
      const result = await runLoop({ adapter, tools, messages: [{ role: "user", content: whole }] }).result;
      expect(result.text).toBe(whole);
      expect(seen).toEqual([whole]);
      expect(JSON.stringify(server.requests[1]?.body)).toContain(JSON.stringify(whole).slice(1, -1));
    });
  },
);
