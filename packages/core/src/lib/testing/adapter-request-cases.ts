/** Conformance: what is sent, turn after turn. */

import assert from "node:assert/strict";
import type { ModelReply, ModelRequest } from "../adapter.ts";
import type { Message } from "../message.ts";
import { ask, inSituation, outcomeOf, SUITE_KEY, SUITE_TOOLS } from "./adapter-situation.ts";
import type { WiredSuite } from "./adapter-stream-cases.ts";
import type { SuiteRunner } from "./suite-runner.ts";
import type { NeutralReply } from "./wire-fixtures.ts";

const turn = (index: number): NeutralReply => ({
  opaque: `r${index}`,
  calls: [{ id: `call_${index}`, name: "get_weather", args: [`{"city":"${index}"}`] }],
});

/** The cases about requests. */
export function requestCases(suite: WiredSuite, { it }: SuiteRunner): void {
  it("adapters A7: sends the whole history every time", () =>
    inSituation(suite, { replies: [{ text: ["ok"] }] }, async ({ adapter, server }) => {
      const messages: Message[] = [
        { role: "user", content: "first-word" },
        { role: "assistant", content: "second-word" },
        { role: "user", content: "third-word" },
      ];
      await outcomeOf(adapter, { messages });
      const history = JSON.stringify(suite.fixtures.historyOf(server.requests[0]?.body));
      const places = ["first-word", "second-word", "third-word"].map((word) => history.indexOf(word));
      assert.ok(
        places.every((place) => place >= 0),
        "a message is missing",
      );
      assert.deepEqual(
        places,
        places.toSorted((left, right) => left - right),
      );
    }));

  it("leaves tools and tool choice out when there are no tools", () =>
    inSituation(suite, { replies: [{ text: ["ok"] }] }, async ({ adapter, server }) => {
      await outcomeOf(adapter, ask("hi", { tools: [], toolChoice: "auto" }));
      assert.doesNotMatch(server.requests[0]?.text ?? "", /"tools"|"tool_choice"|"parallel_tool_calls"/);
    }));

  it("keeps the key in the headers only", () =>
    inSituation(suite, { replies: [{ text: ["ok"] }] }, async ({ adapter, server }) => {
      await outcomeOf(adapter, ask("hi"));
      const [request] = server.requests;
      assert.ok(JSON.stringify(request?.headers).includes(SUITE_KEY));
      assert.ok(!`${request?.path} ${request?.text}`.includes(SUITE_KEY));
    }));

  it("shares every byte of the prefix between consecutive requests of 100 turns", () =>
    inSituation(
      suite,
      { replies: Array.from({ length: 100 }, (_, index) => turn(index)) },
      async ({ adapter, server }) => {
        await converse(
          (request) => outcomeOf(adapter, request).then(({ reply }) => reply ?? assert.fail()),
          100,
        );
        for (let index = 1; index < server.requests.length; index += 1) {
          const [before, after] = [
            suite.fixtures.historyOf(server.requests[index - 1]?.body),
            suite.fixtures.historyOf(server.requests[index]?.body),
          ];
          const last = JSON.stringify(before).slice(0, -1);
          assert.equal(
            JSON.stringify(after).slice(0, last.length),
            last,
            `request ${index} changed its past`,
          );
          const [left, right] = [server.requests[index - 1]?.text ?? "", server.requests[index]?.text ?? ""];
          assert.ok(
            right.startsWith(left.slice(0, left.indexOf(last.slice(1)) + last.length - 1)),
            `the bytes before the new turn of request ${index} changed`,
          );
        }
      },
    ));

  it("uses no global fetch when one was given", () =>
    inSituation(
      suite,
      { replies: [{ text: ["ok"] }], fetch: (input, init) => real(input, init) },
      async ({ adapter }) => {
        const real = globalThis.fetch;
        globalThis.fetch = () => assert.fail("the global fetch was called");
        try {
          assert.equal((await outcomeOf(adapter, ask("hi"))).reply?.text, "ok");
        } finally {
          globalThis.fetch = real;
        }
      },
    ));
  if (suite.capabilities.opaque) opaqueCases(suite, { it });
}

const real = globalThis.fetch;

function opaqueCases(suite: WiredSuite, { it }: Pick<SuiteRunner, "it">): void {
  it("sends opaque items back byte for byte over three turns, each before its call", () =>
    inSituation(suite, { replies: [0, 1, 2, 3].map(turn) }, async ({ adapter, server }) => {
      await converse((request) => outcomeOf(adapter, request).then(({ reply }) => reply ?? assert.fail()), 4);
      const body = server.requests[3]?.body;
      const sent = suite.fixtures.opaqueOf(body).map((item) => JSON.stringify(item));
      const given = [0, 1, 2].map((index) => suite.fixtures.stream(turn(index)).join(""));
      assert.equal(sent.length, 3);
      for (const [index, item] of sent.entries())
        assert.ok(given[index]?.includes(item), `item ${index} was changed`);
      const history = (suite.fixtures.itemsOf?.(body) ?? suite.fixtures.historyOf(body)).map((item) =>
        JSON.stringify(item),
      );
      for (const [index, item] of sent.entries()) {
        // An item of its own is followed by its call; one that is a field of the call stands in the same entry.
        const at = history.findIndex((entry) => entry.includes(item));
        const place = history[at] === item ? at + 1 : at;
        assert.ok(history[place]?.includes(`call_${index}`), `item ${index} is not before its call`);
      }
    }));

  it("field A22: leaves an opaque item out with the call it led to", () =>
    inSituation(suite, { replies: [turn(0), { text: ["ok"] }] }, async ({ adapter, server }) => {
      const reply = (await outcomeOf(adapter, ask("go", { tools: SUITE_TOOLS }))).reply ?? assert.fail();
      const edited: Message = {
        role: "assistant",
        content: reply.parts.filter((part) => part.type !== "tool_call"),
      };
      await outcomeOf(adapter, {
        messages: [{ role: "user", content: "go" }, edited, { role: "user", content: "again" }],
        tools: SUITE_TOOLS,
      });
      assert.deepEqual(suite.fixtures.opaqueOf(server.requests[1]?.body), []);
    }));

  it("leaves opaque items of another model out whole", () =>
    inSituation(suite, { replies: [turn(0), { text: ["ok"] }] }, async ({ adapter, server }) => {
      const reply = (await outcomeOf(adapter, ask("go", { tools: SUITE_TOOLS }))).reply ?? assert.fail();
      const foreign: Message = {
        role: "assistant",
        content: reply.parts.map((part) => (part.type === "provider" ? { ...part, model: "another" } : part)),
      };
      const result: Message = {
        role: "tool",
        content: [{ type: "tool_result", callId: "call_0", name: "get_weather", result: "sunny" }],
      };
      const outcome = await outcomeOf(adapter, {
        messages: [{ role: "user", content: "go" }, foreign, result],
        tools: SUITE_TOOLS,
      });
      assert.deepEqual(suite.fixtures.opaqueOf(server.requests[1]?.body), []);
      assert.ok(
        outcome.events.some((event) => event.type === "warning"),
        "what is left out is reported",
      );
    }));
}

/** A tool loop by hand: every reply and a result for each of its calls go back into the history. */
async function converse(
  respond: (request: ModelRequest) => Promise<ModelReply>,
  turns: number,
): Promise<void> {
  let messages: readonly Message[] = [{ role: "user", content: "go on" }];
  for (let index = 0; index < turns; index += 1) {
    const reply = await respond({ system: "You are tested.", messages, tools: SUITE_TOOLS });
    const results = reply.toolCalls.map((call) => ({
      type: "tool_result" as const,
      callId: call.callId,
      name: call.name,
      result: "sunny",
    }));
    messages = [...messages, { role: "assistant", content: reply.parts }, { role: "tool", content: results }];
  }
}
