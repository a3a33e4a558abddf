/** Claude in a real run: what a loop does with its replies, and what goes back. */

import { type Message, partsOf, runLoop, ToolRegistry, ok } from "@openfunctions/core";
import { type FakeModelServer, type FakeStep, startFakeModelServer } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import {
  type Ending,
  messageEvents,
  type Said,
  search,
  sse,
  text,
  thinking,
  toolUse,
} from "./__fixtures__/events.ts";
import { createAnthropicAdapter } from "./adapter.ts";

const stream = (said: readonly Said[], ending: Ending = {}): FakeStep => ({
  blocks: sse(messageEvents(said, ending)),
});
const calls = (...said: readonly Said[]): FakeStep => stream(said, { stop: "tool_use" });

type Sent = {
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly [field: string]: unknown }[];
}[];

/** The turns of a request. */
function sent(server: FakeModelServer, index: number): Sent {
  return Object(server.requests[index]?.body).messages;
}

async function withServer(
  steps: readonly FakeStep[],
  body: (server: FakeModelServer) => Promise<void>,
): Promise<void> {
  const server = await startFakeModelServer(steps);
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

const adapterFor = (
  server: FakeModelServer,
  model: string = "claude-sonnet-5-5",
): ReturnType<typeof createAnthropicAdapter> =>
  createAnthropicAdapter({
    apiKey: "sk-run-000000000000",
    baseUrl: server.url,
    model,
    limits: { retries: 0 },
  });

function adder(ran: unknown[] = []): ToolRegistry {
  const tools = new ToolRegistry();
  tools.register({
    name: "add",
    description: "Adds one.",
    inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
    contract: "read",
    handler: (params) => {
      ran.push(params);
      return ok(Number(Object(params).a) + 1);
    },
  });
  return tools;
}

const go: readonly Message[] = [{ role: "user", content: "go" }];

describe("a run with Claude", () => {
  it("adapters A2: two calls of one reply are both run, and both results are in one user message directly after the turn", () =>
    withServer(
      [
        calls(text("Both."), toolUse("t1", "add", '{"a":1}'), toolUse("t2", "add", '{"a":', "10}")),
        stream([text("2 and 11")]),
      ],
      async (server) => {
        const ran: unknown[] = [];
        const result = await runLoop({ adapter: adapterFor(server), tools: adder(ran), messages: go }).result;
        expect(result).toMatchObject({ status: "completed", text: "2 and 11" });
        expect(ran).toEqual([{ a: 1 }, { a: 10 }]);
        expect(
          sent(server, 1).map(({ role, content }) => [role, ...content.map(({ type }) => type)]),
        ).toEqual([
          ["user", "text"],
          ["assistant", "text", "tool_use", "tool_use"],
          ["user", "tool_result", "tool_result"],
        ]);
        expect(sent(server, 1)[2]?.content).toMatchObject([
          { tool_use_id: "t1", content: "2" },
          { tool_use_id: "t2", content: "11" },
        ]);
      },
    ));

  it("adapters A19: a signed thinking block returns byte for byte in the next request, before the call", () =>
    withServer(
      [
        calls(
          thinking("c2ln+/==", "Let me ", "see \u2028“é”."),
          { block: { type: "redacted_thinking", data: "AA==" } },
          toolUse("t1", "add", '{"a":1}'),
        ),
        calls(thinking("two", "More."), toolUse("t2", "add", '{"a":2}')),
        stream([text("3")]),
      ],
      async (server) => {
        const result = await runLoop({ adapter: adapterFor(server), tools: adder(), messages: go }).result;
        expect(result.status).toBe("completed");
        const first = [
          { type: "thinking", thinking: "Let me see \u2028“é”.", signature: "c2ln+/==" },
          { type: "redacted_thinking", data: "AA==" },
          { type: "tool_use", id: "t1", name: "add", input: { a: 1 } },
        ];
        expect(sent(server, 1)[1]?.content).toEqual(first);
        expect(sent(server, 2)[1]?.content).toEqual(first);
        expect(sent(server, 2)[3]?.content).toMatchObject([
          { type: "thinking", signature: "two" },
          { id: "t2" },
        ]);
        const [before, after] = [server.requests[1]?.text ?? "", server.requests[2]?.text ?? ""];
        expect(after.startsWith(before.slice(0, before.indexOf(',"max_tokens"') - 1))).toBe(true);
      },
    ));

  it("adapters A13: max_tokens is a run at its limit, whose text is no answer and whose call is not run", () =>
    withServer(
      [stream([text("It is do"), toolUse("t1", "add", '{"a":1')], { stop: "max_tokens" })],
      async (server) => {
        const ran: unknown[] = [];
        const result = await runLoop({ adapter: adapterFor(server), tools: adder(ran), messages: go }).result;
        expect(result).toMatchObject({
          status: "limit_reached",
          stopReason: "output_truncated",
          text: "",
          partial: "It is do",
        });
        expect(ran).toEqual([]);
        expect(result.record.toolCalls.filter(({ outcome }) => outcome === "succeeded")).toEqual([]);
      },
    ));

  it("field A13: field A14: arguments cut in the middle are truncation, though the stop reason says tool_use", () =>
    withServer([calls(toolUse("t1", "add", '{"a":1,"b":"x'))], async (server) => {
      const ran: unknown[] = [];
      const result = await runLoop({ adapter: adapterFor(server), tools: adder(ran), messages: go }).result;
      expect([result.status, result.stopReason, ran]).toEqual(["limit_reached", "output_truncated", []]);
    }));

  it("adapters A14: two text blocks are one answer", () =>
    withServer([stream([text("One, "), text("two.")])], async (server) => {
      expect((await runLoop({ adapter: adapterFor(server), messages: go }).result).text).toBe("One, two.");
    }));

  it("adapters Z23: the run's total and its last request are both reported, with their cost", () =>
    withServer(
      [
        stream([toolUse("t1", "add", '{"a":1}')], {
          stop: "tool_use",
          startUsage: {
            input_tokens: 100,
            cache_creation_input_tokens: 1000,
            cache_read_input_tokens: 0,
            output_tokens: 1,
          },
          endUsage: { output_tokens: 50, output_tokens_details: { thinking_tokens: 20 } },
        }),
        stream([text("2")], {
          startUsage: {
            input_tokens: 10,
            cache_creation_input_tokens: 200,
            cache_read_input_tokens: 1100,
            output_tokens: 1,
          },
          endUsage: {
            input_tokens: 10,
            cache_creation_input_tokens: 200,
            cache_read_input_tokens: 1100,
            output_tokens: 5,
          },
        }),
      ],
      async (server) => {
        const { record, usage } = await runLoop({ adapter: adapterFor(server), tools: adder(), messages: go })
          .result;
        expect(usage).toMatchObject({
          input: 110,
          cacheRead: 1100,
          cacheWrite: 1200,
          output: 35,
          reasoning: 20,
          total: 2465,
        });
        expect(record.lastRequestTokens).toBe(1310);
        // Per million: 2 in, 0.2 read, 2.5 written, 10 out.
        expect(record.usage.costUsd).toBeCloseTo((110 * 2 + 1100 * 0.2 + 1200 * 2.5 + 55 * 10) / 1e6, 12);
      },
    ));

  it("field A19: a history cut anywhere never sends a result without its call or a call without its result", async () => {
    const pair = (index: number): Message[] => [
      { role: "user", content: `q${index}` },
      {
        role: "assistant",
        content: [{ type: "tool_call", callId: `c${index}`, name: "add", args: { a: index } }],
      },
      { role: "tool", content: [{ type: "tool_result", callId: `c${index}`, name: "add", result: "1" }] },
    ];
    const whole: Message[] = [...pair(1), ...pair(2), ...pair(3), { role: "user", content: "text" }];
    for (let kept = 1; kept <= whole.length; kept += 1) {
      await withServer([stream([text("ok")])], async (server) => {
        const result = await runLoop({
          adapter: adapterFor(server),
          tools: adder(),
          messages: whole.slice(-kept),
        }).result;
        expect(result.status).toBe("completed");
        const turns = sent(server, 0);
        for (const [index, { content }] of turns.entries()) {
          const asked = (turns[index - 1]?.content ?? [])
            .filter(({ type }) => type === "tool_use")
            .map(({ id }) => id);
          const answered = content
            .filter(({ type }) => type === "tool_result")
            .map(({ tool_use_id }) => tool_use_id);
          expect(answered, `last ${kept}`).toEqual(asked);
        }
        expect(turns.at(-1)?.role).toBe("user");
      });
    }
  });

  it("a paused turn goes on in one more request, and is one reply", () =>
    withServer(
      [
        stream([thinking("sig", "Hm."), text("Looking. "), ...search("srv_1")], { stop: "pause_turn" }),
        stream([text("Found.")]),
      ],
      async (server) => {
        const result = await runLoop({ adapter: adapterFor(server), messages: go }).result;
        expect(result).toMatchObject({ status: "completed", text: "Looking. Found." });
        expect(result.record.modelCalls).toHaveLength(1);
        expect(result.usage).toMatchObject({ input: 10, output: 14 });
        expect(sent(server, 1)).toEqual([
          { role: "user", content: [{ type: "text", text: "go" }] },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "Hm.", signature: "sig" },
              { type: "text", text: "Looking. " },
              { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "é" } },
              {
                type: "web_search_tool_result",
                tool_use_id: "srv_1",
                content: [{ encrypted_content: "x\u2028" }],
              },
            ],
          },
        ]);
        const added = result.messages.at(-1);
        expect(added?.role).toBe("assistant");
        expect(added && partsOf(added).filter(({ type }) => type === "provider")).toHaveLength(3);
      },
    ));

  it("a paused turn whose continuation fails is asked again whole, once", () =>
    withServer(
      [
        stream([text("Looking. ")], { stop: "pause_turn" }),
        { status: 529, json: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } },
        stream([text("Found.")]),
      ],
      async (server) => {
        const result = await runLoop({ adapter: adapterFor(server), messages: go }).result;
        expect(result).toMatchObject({ status: "completed", text: "Found." });
        expect(sent(server, 2)).toHaveLength(1);
      },
    ));

  it("a server tool's result that comes with the next reply does not cost the turn that asked for it", () =>
    withServer(
      [
        calls(...search("srv_1").slice(0, 1), toolUse("t1", "add", '{"a":1}')),
        stream([...search("srv_1").slice(1), text("Found, and 2.")]),
        stream([text("Yes.")]),
      ],
      async (server) => {
        const first = await runLoop({ adapter: adapterFor(server), tools: adder(), messages: go }).result;
        expect(first.text).toBe("Found, and 2.");
        const messages: Message[] = [...first.messages, { role: "user", content: "sure?" }];
        await runLoop({ adapter: adapterFor(server), tools: adder(), messages }).result;
        expect(sent(server, 2).map(({ content }) => content.map(({ type }) => type))).toEqual([
          ["text"],
          ["server_tool_use", "tool_use"],
          ["tool_result"],
          ["web_search_tool_result", "text"],
          ["text"],
        ]);
      },
    ));

  it("thinking that Claude refuses after the history was changed is left out, once, and said", () =>
    withServer(
      [
        {
          status: 400,
          json: {
            type: "error",
            error: {
              type: "invalid_request_error",
              message:
                "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
            },
          },
        },
        stream([text("Fine.")]),
      ],
      async (server) => {
        const model = "claude-sonnet-5-5";
        const data = { type: "thinking", thinking: "x", signature: "s" };
        const messages: Message[] = [
          ...go,
          {
            role: "assistant",
            content: [
              { type: "provider", provider: "anthropic", model, data },
              { type: "text", text: "1" },
            ],
          },
          ...go,
        ];
        const run = runLoop({ adapter: adapterFor(server, model), messages });
        const warnings: string[] = [];
        for await (const event of run)
          if (event.type === "model.responded")
            warnings.push(...(event.data.warnings ?? []).map(({ code }) => code));
        expect((await run.result).text).toBe("Fine.");
        expect(warnings).toEqual(["thinking_left_out"]);
        const thoughts = server.requests.map((request) => request.text.includes('"type":"thinking"'));
        expect(thoughts).toEqual([true, false]);
      },
    ));
});
