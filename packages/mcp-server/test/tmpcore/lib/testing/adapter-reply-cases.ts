/** Conformance: what a whole reply means, on any wire or none. */

import assert from "node:assert/strict";
import { OpenFunctionsError } from "../errors.ts";
import { type AdapterSuite, ask, essence, inSituation, outcomeOf, SUITE_TOOLS } from "./adapter-situation.ts";
import type { SuiteRunner } from "./suite-runner.ts";
import type { NeutralCall, NeutralReply } from "./wire-fixtures.ts";

const weather = (id: string | null, city: string): NeutralCall => ({
  id,
  name: "get_weather",
  args: [`{"city":`, JSON.stringify(city), "}"],
});
const withTools = ask("Weather?", { tools: SUITE_TOOLS });

/** The cases that need no HTTP. */
export function replyCases(suite: AdapterSuite, { it }: SuiteRunner): void {
  const check = (
    title: string,
    reply: NeutralReply,
    expect: (outcome: Awaited<ReturnType<typeof outcomeOf>>) => void,
  ): unknown =>
    it(title, () =>
      inSituation(suite, { replies: [reply] }, async ({ adapter }) =>
        expect(await outcomeOf(adapter, withTools)),
      ),
    );

  check(
    "streams plain text in order and finishes once, last",
    { text: ["Hel", "lo ", "北 “😀”"] },
    ({ events, reply }) => {
      assert.equal(reply?.text, "Hello 北 “😀”");
      assert.equal(reply.finishReason, "stop");
      assert.deepEqual(reply.toolCalls, []);
      assert.equal(events.filter((event) => event.type === "finish").length, 1);
      assert.equal(events.at(-1)?.type, "finish");
    },
  );
  check("gives one call with its arguments", { calls: [weather("call_a", "Zürich")] }, ({ reply }) => {
    assert.equal(reply?.finishReason, "tool_calls");
    assert.deepEqual(
      reply.toolCalls.map(({ callId, name, args }) => ({ callId, name, args })),
      [{ callId: "call_a", name: "get_weather", args: { city: "Zürich" } }],
    );
  });
  check(
    "keeps many calls apart and in order",
    { calls: ["a", "b", "c", "d", "e"].map((id) => weather(`call_${id}`, id)) },
    ({ reply }) => {
      assert.deepEqual(
        reply?.toolCalls.map((call) => [call.callId, call.args["city"]]),
        ["a", "b", "c", "d", "e"].map((id) => [`call_${id}`, id]),
      );
    },
  );
  check(
    "keeps text before a call",
    { text: ["Let me look."], calls: [weather("call_a", "Bern")] },
    ({ reply }) => {
      assert.equal(reply?.text, "Let me look.");
      assert.equal(reply.toolCalls.length, 1);
      assert.deepEqual(
        reply.parts.filter((part) => part.type !== "provider").map((part) => part.type),
        ["text", "tool_call"],
      );
    },
  );
  oddReplyCases(check);
  declaredReplyCases(suite, check);
  sharedCases(suite, { it });
}

type Check = (
  title: string,
  reply: NeutralReply,
  expect: (outcome: Awaited<ReturnType<typeof outcomeOf>>) => void,
) => unknown;

function oddReplyCases(check: Check): void {
  check(
    "field A1: field A2: takes empty arguments as {}",
    { calls: [{ id: "call_a", name: "get_time", args: [""] }] },
    ({ reply }) => {
      assert.deepEqual(reply?.toolCall?.args, {});
      assert.equal(reply?.toolCall?.argsError, undefined);
    },
  );
  check(
    "adapters A5: marks arguments that cannot become JSON, and keeps the other call",
    { calls: [{ id: "call_a", name: "get_weather", args: ["{bad"] }, weather("call_b", "Bonn")] },
    ({ reply }) => {
      assert.ok(reply?.toolCalls[0]?.argsError);
      assert.equal(reply?.toolCalls[0]?.argsText, "{bad");
      assert.deepEqual(reply?.toolCalls[1]?.args, { city: "Bonn" });
      assert.equal(reply?.finishReason, "tool_calls");
    },
  );
  check(
    "field A13: field A14: takes cut-off arguments as truncation, whatever the server claims",
    { calls: [{ id: "call_a", name: "get_weather", args: ['{"city":"a'] }], finish: "tool_calls" },
    ({ reply }) => {
      assert.equal(reply?.finishReason, "length");
      assert.ok(
        reply?.toolCalls.every((call) => call.argsError !== undefined),
        "a cut call is never shown as finished",
      );
    },
  );
  check("leaves an empty reply empty", { text: [] }, ({ reply }) => {
    assert.equal(reply?.text, "");
    assert.deepEqual(reply?.toolCalls, []);
  });
  check(
    "refuses two calls with one id",
    { calls: [weather("call_a", "x"), weather("call_a", "y")] },
    ({ failure }) => {
      assert.ok(OpenFunctionsError.is(failure));
      assert.equal(failure.code, "protocol_error");
    },
  );
  check("finishes length", { text: ["so fa"], finish: "length" }, ({ reply }) => {
    assert.equal(reply?.finishReason, "length");
    assert.equal(reply?.text, "so fa");
  });
}

function declaredReplyCases({ capabilities }: AdapterSuite, check: Check): void {
  if (capabilities.refusal) {
    check(
      "finishes refusal, with what was said",
      { text: ["I cannot ", "help."], finish: "refusal" },
      ({ reply }) => {
        assert.equal(reply?.finishReason, "refusal");
        assert.equal(reply?.text, "I cannot help.");
      },
    );
  }
  if (capabilities.contentFilter) {
    check("finishes content_filter", { text: ["Once"], finish: "content_filter" }, ({ reply }) =>
      assert.equal(reply?.finishReason, "content_filter"),
    );
  }
  if (capabilities.missingIds) {
    check(
      "gives calls without ids different ones",
      { calls: [weather(null, "x"), weather(null, "y")] },
      ({ reply }) => {
        const ids = reply?.toolCalls.map((call) => call.callId) ?? [];
        assert.equal(new Set(ids).size, 2);
        assert.ok(ids.every((id) => id.length > 0));
      },
    );
  }
  if (capabilities.usage) {
    check(
      "gives disjoint usage that adds up",
      { text: ["x"], usage: { input: 100, cached: 30, output: 50, reasoning: 20 } },
      ({ reply }) => {
        const { input, cacheRead, cacheWrite, output, reasoning, total } = reply?.usage ?? assert.fail();
        assert.deepEqual(
          { input, cacheRead, cacheWrite, output, reasoning, total },
          { input: 70, cacheRead: 30, cacheWrite: 0, output: 30, reasoning: 20, total: 150 },
        );
      },
    );
  }
}

function sharedCases(suite: AdapterSuite, { it }: Pick<SuiteRunner, "it">): void {
  it("gives the same reply by chat() as by stream()", () =>
    inSituation(
      suite,
      {
        replies: [
          { text: ["a", "b"], calls: [weather("call_a", "x")] },
          { text: ["a", "b"], calls: [weather("call_a", "x")] },
        ],
      },
      async ({ adapter }) => {
        const streamed = await outcomeOf(adapter, withTools);
        assert.deepEqual(essence(await adapter.chat(withTools)), essence(streamed.reply));
      },
    ));

  it("rejects with the caller's reason when aborted before the request", () =>
    inSituation(suite, { replies: [{ text: ["x"] }] }, async ({ adapter, server }) => {
      const reason = new Error("not today");
      const { failure, events } = await outcomeOf(adapter, {
        ...withTools,
        signal: AbortSignal.abort(reason),
      });
      assert.equal(failure, reason);
      assert.deepEqual(events, []);
      assert.equal(server.requests.length, 0);
    }));

  it("rejects with the caller's reason when aborted between two events", () =>
    inSituation(
      suite,
      { replies: [{ text: Array.from({ length: 50 }, (_, index) => `${index} `) }] },
      async ({ adapter }) => {
        const controller = new AbortController();
        const reason = new Error("enough");
        let seen = 0;
        const run = async (): Promise<void> => {
          for await (const event of adapter.stream({ ...withTools, signal: controller.signal })) {
            if (event.type !== "text_delta") continue;
            seen += 1;
            controller.abort(reason);
          }
        };
        await assert.rejects(run(), (error) => error === reason);
        assert.equal(seen, 1);
      },
    ));

  it("is not disturbed by an abort after the end", () =>
    inSituation(suite, { replies: [{ text: ["x"] }] }, async ({ adapter }) => {
      const controller = new AbortController();
      const { reply } = await outcomeOf(adapter, { ...withTools, signal: controller.signal });
      controller.abort(new Error("late"));
      assert.equal(reply?.text, "x");
    }));
}
