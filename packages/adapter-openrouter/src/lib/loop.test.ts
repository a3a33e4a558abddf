/** OpenRouter's adapter inside the real loop: what a broken call, a stall and two agents do to a run. */

import { ok, runLoop, ToolRegistry } from "@openfunctions/core";
import { type FakeStep, openRouterFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { afterEach, expect, it } from "vitest";
import { createOpenRouterAdapter } from "./adapter.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(
  steps: readonly FakeStep[],
  limits: object = {},
): Promise<{
  readonly adapter: ReturnType<typeof createOpenRouterAdapter>;
  readonly requests: readonly { readonly text: string }[];
}> {
  const server = await startFakeModelServer(steps);
  open.push(() => server.close());
  const adapter = createOpenRouterAdapter({
    apiKey: "sk-or-0123456789",
    baseUrl: server.url,
    model: "v/m",
    limits,
  });
  return { adapter, requests: server.requests };
}

function tools(seen: unknown[]): ToolRegistry {
  const registry = new ToolRegistry();
  registry.register({
    name: "get_weather",
    description: "The weather of a city.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    contract: "read",
    handler: async (params) => (seen.push(params), ok("sunny")),
  });
  return registry;
}

const { stream } = openRouterFixtures;
const call = (id: string, args: string): { id: string; name: string; args: string[] } => ({
  id,
  name: "get_weather",
  args: [args],
});

it('adapters A5: arguments "{bad" give that call an invalid_input result, its sibling runs, the run goes on', async () => {
  const calls = [call("call_a", "{bad"), call("call_b", '{"city":"Bonn"}')];
  const { adapter, requests } = await start([
    { blocks: stream({ opaque: "r1", calls }) },
    { blocks: stream({ text: ["done"] }) },
  ]);
  const seen: unknown[] = [];
  const result = await runLoop({
    adapter,
    tools: tools(seen),
    messages: [{ role: "user", content: "weather?" }],
  }).result;
  expect(result).toMatchObject({ status: "completed", text: "done" });
  expect(seen).toEqual([{ city: "Bonn" }]);
  expect(result.record.toolCalls).toMatchObject([
    { callId: "call_a", outcome: "not_started", code: "invalid_input" },
    { callId: "call_b", outcome: "succeeded" },
  ]);
  const body: unknown = JSON.parse(requests[1]?.text ?? "");
  expect(openRouterFixtures.opaqueOf(body)).toMatchObject([{ id: "rs_r1" }]);
});

it("adapters A11: a stall after the first delta restarts the step after a reset", async () => {
  const blocks = stream({ text: ["half", " an answer"] });
  const { adapter } = await start(
    [
      { blocks, cutAfter: blocks.findIndex((block) => block.includes("half")) + 1, ending: "stall" },
      { blocks: stream({ text: ["whole"] }) },
    ],
    { idleMs: 60 },
  );
  const run = runLoop({ adapter, tools: tools([]), messages: [{ role: "user", content: "hi" }] });
  expect(await run.result).toMatchObject({ status: "completed", text: "whole" });
});

it("adapters A8: two agents share one adapter, and no request holds the other's messages", async () => {
  const answer: FakeStep = ({ text }) => ({
    blocks: text.includes("tool_call_id")
      ? stream({ text: [text.includes("first-agent") ? "first" : "second"] })
      : stream({ calls: [call("call_1", '{"city":"Bonn"}')] }),
  });
  const { adapter, requests } = await start([answer, answer, answer, answer]);
  const results = await Promise.all(
    ["first-agent", "second-agent"].map(
      (content) => runLoop({ adapter, tools: tools([]), messages: [{ role: "user", content }] }).result,
    ),
  );
  expect(results.map(({ text }) => text)).toEqual(["first", "second"]);
  for (const { text } of requests)
    expect(text.includes("first-agent")).not.toBe(text.includes("second-agent"));
});

it("field A14: arguments cut off in the stream are no finished call, whatever the server claims", async () => {
  const calls = [call("call_a", '{"city":"Bo')];
  const { adapter } = await start([{ blocks: stream({ calls, finish: "tool_calls" }) }]);
  const seen: unknown[] = [];
  const run = runLoop({ adapter, tools: tools(seen), messages: [{ role: "user", content: "weather?" }] });
  expect(await run.result).toMatchObject({ status: "limit_reached" });
  expect(seen).toEqual([]);
});
