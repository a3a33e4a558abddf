import { expect, it } from "vitest";
import { ToolRegistry, runLoop } from "@openfunctions/core";
import { ADAPTERS, withAdapter } from "./adapters.ts";
import { expectLegalHistory } from "./wire-shape.ts";

it.each(ADAPTERS)(
  "an abort while a handler runs ends the run, and the next request is well-formed: %s",
  async (name) => {
    let started = (): void => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const tools = new ToolRegistry();
    tools.register({
      name: "wait",
      description: "waits for ever",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => {
        started();
        return new Promise(() => {});
      },
    });
    await withAdapter(
      name,
      [{ calls: [{ id: "w", name: "wait", args: ["{}"] }] }, { text: ["going on"] }],
      async ({ adapter, server }) => {
        const run = runLoop({ adapter, tools, messages: [{ role: "user", content: "go" }] });
        await running;
        run.abort("enough");
        const result = await run.result;
        expect(result).toMatchObject({ status: "cancelled", stopReason: "caller_abort" });
        expect(result.record.toolCalls).toMatchObject([{ outcome: "failed", code: "cancelled" }]);
        const next = runLoop({
          adapter,
          tools,
          messages: [...result.messages, { role: "user", content: "and now?" }],
        });
        expect((await next.result).text).toBe("going on");
        expectLegalHistory(name, server.requests.at(-1)?.body);
      },
    );
  },
);

it.each(ADAPTERS)(
  "field A28: an abort after the first token closes the connection, and is no failure of the provider: %s",
  async (name) => {
    await withAdapter(
      name,
      [{ text: ["first", "never"], cutAfter: 3, ending: "stall" }],
      async ({ adapter, server }) => {
        const run = runLoop({ adapter, messages: [{ role: "user", content: "go" }] });
        for await (const event of run) {
          if (event.type === "text.delta") run.abort();
        }
        expect(await run.result).toMatchObject({ status: "cancelled" });
        expect(await server.requests[0]?.left).toBe(true);
      },
    );
  },
);
