/** Conformance: how a reply may travel, and how it may break. */

import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import {
  type AdapterSuite,
  ask,
  essence,
  inSituation,
  outcomeOf,
  providerFailure,
  SUITE_TOOLS,
} from "./adapter-situation.ts";
import type { FakeReply } from "./fake-model-server.ts";
import type { SuiteRunner } from "./suite-runner.ts";
import type { NeutralReply, WireFixtures } from "./wire-fixtures.ts";

/** A suite with a wire. */
export type WiredSuite = AdapterSuite & { readonly fixtures: WireFixtures };

const request = ask("Weather?", { tools: SUITE_TOOLS });

/** Text, preamble and two calls with everything that hurts when it is cut: multi-byte characters and escapes. */
const HARD: NeutralReply = {
  text: ["北京 “", "😀", "” \r\n\tdata: x\u2028"],
  calls: [
    { id: "call_a", name: "get_weather", args: [JSON.stringify({ city: 'Z"ü\\rich\n北\u2028😀' })] },
    { id: "call_b", name: "get_time", args: ["{}"] },
  ],
};

/** The cases about bytes, cuts and aborts. */
export function streamCases(suite: WiredSuite, runner: SuiteRunner): void {
  chunkingCases(suite, runner);
  liveCases(suite, runner);
  cutCases(suite, runner);
  abortCases(suite, runner);
}

function chunkingCases(suite: WiredSuite, { it }: SuiteRunner): void {
  it("field A4: reads the same reply however its bytes are split", () =>
    inSituation(
      suite,
      {
        steps: [0, 1, 2, 3, 7, 64, 1000].map((size) => ({
          blocks: suite.fixtures.stream(HARD),
          ...(size === 0 ? {} : { splitBytes: size }),
        })),
      },
      async ({ adapter }) => {
        const whole = (await outcomeOf(adapter, request)).reply;
        assert.equal(whole?.text, HARD.text?.join(""));
        for (const size of [1, 2, 3, 7, 64, 1000]) {
          assert.deepEqual(
            essence((await outcomeOf(adapter, request)).reply),
            essence(whole),
            `split into ${size} bytes`,
          );
        }
      },
    ));

  it("reads arguments split between any two characters, also inside escapes", () => {
    const args = HARD.calls?.[0]?.args[0] ?? "";
    const split = (at: number): NeutralReply => ({
      calls: [{ id: "call_a", name: "get_weather", args: [args.slice(0, at), args.slice(at)] }],
    });
    const places = Array.from({ length: args.length + 1 }, (_, at) => at);
    return inSituation(suite, { replies: places.map(split) }, async ({ adapter }) => {
      for (const at of places) {
        const { reply } = await outcomeOf(adapter, request);
        assert.deepEqual(reply?.toolCall?.args, JSON.parse(args), `split at ${at}`);
      }
    });
  });

  it("reads CRLF and comments between events", () => {
    const comment = suite.fixtures.comments === false ? "" : ": keep-alive\r\n\r\n";
    const blocks = suite.fixtures.stream(HARD).map((block) => `${comment}${block.replaceAll("\n", "\r\n")}`);
    return inSituation(suite, { steps: [{ blocks, splitBytes: 5 }] }, async ({ adapter }) => {
      assert.equal((await outcomeOf(adapter, request)).reply?.text, HARD.text?.join(""));
    });
  });
}

function liveCases(suite: WiredSuite, { it }: SuiteRunner): void {
  it("delivers a delta before the next one is sent", () => {
    const blocks = suite.fixtures.stream({ text: ["first", "second"] });
    const upToFirst = blocks.findIndex((block) => block.includes("first")) + 1;
    return inSituation(
      suite,
      { steps: [{ blocks, cutAfter: upToFirst, ending: "stall" }], limits: { idleMs: 5000 } },
      async ({ adapter }) => {
        const iterator = adapter.stream(request)[Symbol.asyncIterator]();
        for (;;) {
          const next = await iterator.next();
          assert.ok(next.done !== true, "the delta never came");
          if (next.value.type === "text_delta") break;
        }
        await iterator.return?.();
      },
    );
  });

  it("adapters A8: keeps two streams at the same time apart", () =>
    inSituation(
      suite,
      {
        steps: ["one", "two"].map((word) => ({
          blocks: suite.fixtures.stream({ text: Array.from({ length: 40 }, () => `${word} `) }),
          splitBytes: 11,
        })),
      },
      async ({ adapter, server }) => {
        const [one, two] = await Promise.all([outcomeOf(adapter, ask("A?")), outcomeOf(adapter, ask("B?"))]);
        const texts = new Set([one.reply?.text, two.reply?.text]);
        assert.deepEqual(texts, new Set(["one ".repeat(40), "two ".repeat(40)]));
        assert.ok(
          server.requests.every((seen) => seen.text.includes("A?") !== seen.text.includes("B?")),
          "a request held the other's message",
        );
      },
    ));
}

function cutCases(suite: WiredSuite, { it }: SuiteRunner): void {
  for (const ending of ["end", "destroy"] as const) {
    it(`field A10: never takes a reply cut by "${ending}" for a finished one`, () => {
      const blocks = suite.fixtures.stream(HARD);
      const places = Array.from({ length: blocks.length - 1 }, (_, index) => index + 1);
      const steps = places.flatMap((cutAfter): FakeReply[] => [{ blocks, cutAfter, ending, splitBytes: 50 }]);
      return inSituation(suite, { steps, limits: { retries: 0 } }, async ({ adapter }) => {
        for (const cutAfter of places) {
          const outcome = await outcomeOf(adapter, request);
          // A server may have stated a finish reason before its very last event; then the reply is whole.
          if (outcome.reply === undefined) assert.equal(providerFailure(outcome).kind, "network");
          else
            assert.deepEqual(
              outcome.reply.toolCalls.map((call) => call.argsError),
              [undefined, undefined],
              `cut after ${cutAfter}`,
            );
        }
      });
    });
  }

  it("field A11: takes a reply as finished at its end event, though the connection stays open", () =>
    inSituation(
      suite,
      { steps: [{ blocks: suite.fixtures.stream(HARD), ending: "stall" }] },
      async ({ adapter }) => {
        assert.equal((await outcomeOf(adapter, request)).reply?.finishReason, "tool_calls");
      },
    ));

  it("asks again when the body dies before content, and not after", () => {
    const blocks = suite.fixtures.stream({ text: ["a", "b"] });
    const content = blocks.findIndex((block) => block.includes('"a"'));
    const steps: FakeReply[] = [
      { blocks, cutAfter: content, ending: "destroy" },
      { blocks },
      { blocks, cutAfter: content + 1, ending: "destroy" },
    ];
    return inSituation(suite, { steps }, async ({ adapter, server }) => {
      const first = await outcomeOf(adapter, request);
      assert.equal(first.reply?.text, "ab");
      assert.equal(first.events.filter((event) => event.type === "retry").length, 1);
      const second = await outcomeOf(adapter, request);
      assert.equal(providerFailure(second).kind, "network");
      assert.ok(second.events.some((event) => event.type === "text_delta"));
      assert.equal(server.requests.length, 3);
    });
  });
}

function abortCases(suite: WiredSuite, { it }: SuiteRunner): void {
  it("field A28: ends within 100 ms of an abort, with its reason, and closes the connection", () => {
    const blocks = suite.fixtures.stream({ text: ["a", "b"] });
    const steps: FakeReply[] = [{ blocks }, { blocks, cutAfter: blocks.length - 1, ending: "stall" }];
    return inSituation(suite, { steps }, async ({ adapter, server }) => {
      await outcomeOf(adapter, request); // Loads the client, which is not what is measured.
      const controller = new AbortController();
      const reason = new Error("enough");
      const outcome = outcomeOf(adapter, { ...request, signal: controller.signal });
      await until(() => server.requests.length === 2);
      await wait(20);
      const start = performance.now();
      controller.abort(reason);
      assert.equal((await outcome).failure, reason);
      assert.ok(performance.now() - start < 100, "the abort took too long");
      assert.equal(await Promise.race([server.requests[1]?.left, wait(1000, "still open")]), true);
    });
  });

  it("closes the connection when the consumer stops early", () => {
    const blocks = suite.fixtures.stream({ text: ["a", "b"] });
    return inSituation(
      suite,
      { steps: [{ blocks, cutAfter: blocks.length - 1, ending: "stall" }] },
      async ({ adapter, server }) => {
        for await (const event of adapter.stream(request)) if (event.type === "text_delta") break;
        assert.equal(await Promise.race([server.requests[0]?.left, wait(1000, "still open")]), true);
      },
    );
  });

  it("ends within 100 ms of an abort while it waits for headers", () =>
    inSituation(
      suite,
      { steps: [{ blocks: suite.fixtures.stream({ text: ["a"] }) }, { silent: true }] },
      async ({ adapter, server }) => {
        await outcomeOf(adapter, request);
        const controller = new AbortController();
        const reason = new Error("enough");
        const outcome = outcomeOf(adapter, { ...request, signal: controller.signal });
        await until(() => server.requests.length === 2);
        const start = performance.now();
        controller.abort(reason);
        assert.equal((await outcome).failure, reason);
        assert.ok(performance.now() - start < 100);
      },
    ));
}

async function until(done: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !done(); tries += 1) await wait(2);
  assert.ok(done(), "what the case waits for never happened");
}
