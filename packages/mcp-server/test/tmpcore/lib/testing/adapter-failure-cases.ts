/** Conformance: what failures become, which are asked again, and that no key is ever seen. */

import assert from "node:assert/strict";
import { inspect } from "node:util";
import {
  ask,
  inSituation,
  type Outcome,
  outcomeOf,
  providerFailure,
  SUITE_KEY,
} from "./adapter-situation.ts";
import type { WiredSuite } from "./adapter-stream-cases.ts";
import type { FakeReply } from "./fake-model-server.ts";
import type { SuiteRunner } from "./suite-runner.ts";

const request = ask("Hello?");

/** The cases about statuses, waits and timeouts. */
export function failureCases(suite: WiredSuite, runner: SuiteRunner): void {
  statusCases(suite, runner);
  retryCases(suite, runner);
  repeatCases(suite, runner);
  timeoutCases(suite, runner);
}

function statusCases(suite: WiredSuite, { it }: SuiteRunner): void {
  const { failures } = suite.fixtures;
  it("adapters A10: 401 is auth, asked once, and the key occurs nowhere in the error", () =>
    inSituation(suite, { steps: [failures.unauthorized] }, async ({ adapter, server }) => {
      const failure = providerFailure(await outcomeOf(adapter, request));
      assert.equal(failure.kind, "auth");
      assert.equal(failure.code, "provider_auth");
      assert.equal(failure.status, 401);
      assert.equal(failure.attempts, 1);
      assert.equal(server.requests.length, 1);
      const everything = `${inspect(failure, { depth: 10, showHidden: true })} ${JSON.stringify(failure)} ${failure.stack} ${failure.bodyExcerpt}`;
      assert.ok(!everything.includes(SUITE_KEY), "the key is in the error");
      assert.ok(!server.requests[0]?.path.includes(SUITE_KEY), "the key is in the URL");
    }));

  it("names a full window context_overflow and does not ask again", () =>
    inSituation(suite, { steps: [failures.contextOverflow] }, async ({ adapter, server }) => {
      const failure = providerFailure(await outcomeOf(adapter, request));
      assert.equal(failure.kind, "context_length");
      assert.equal(failure.code, "context_overflow");
      assert.equal(server.requests.length, 1);
    }));

  it("keeps the request id and at most 2 KB of the body", () =>
    inSituation(
      suite,
      {
        steps: [
          {
            status: 400,
            json: { error: { message: "x".repeat(9000) } },
            headers: { "x-request-id": "req_9" },
          },
        ],
      },
      async ({ adapter }) => {
        const failure = providerFailure(await outcomeOf(adapter, request));
        assert.equal(failure.kind, "invalid_request");
        assert.equal(failure.requestId, "req_9");
        assert.ok((failure.bodyExcerpt ?? "").length <= 2048);
      },
    ));

  it("takes an error inside a stream for a failure, after what came before it", () => {
    const blocks = suite.fixtures.stream({ text: ["a", "b"] });
    const content = blocks.findIndex((block) => block.includes('"a"'));
    return inSituation(
      suite,
      { steps: [{ blocks: [...blocks.slice(0, content + 1), suite.fixtures.errorEvent("It broke.")] }] },
      async ({ adapter, server }) => {
        const outcome = await outcomeOf(adapter, request);
        assert.match(providerFailure(outcome).message, /It broke/);
        assert.ok(outcome.events.some((event) => event.type === "text_delta"));
        assert.equal(server.requests.length, 1, "what was delivered is the loop's to repeat");
      },
    );
  });
}

function retryCases(suite: WiredSuite, { it }: SuiteRunner): void {
  const { failures } = suite.fixtures;
  const whole: FakeReply = { blocks: suite.fixtures.stream({ text: ["ok"] }) };
  const retries = (outcome: Outcome): unknown[] =>
    outcome.events.filter((event) => event.type === "retry").map((event) => [event.attempt, event.delayMs]);

  it("waits as long as Retry-After says after 429, and announces it", () =>
    inSituation(
      suite,
      { steps: [{ ...failures.rateLimited, headers: { "retry-after": "3" } }, whole] },
      async ({ adapter, clock }) => {
        const outcome = await outcomeOf(adapter, request);
        assert.equal(outcome.reply?.text, "ok");
        assert.deepEqual(retries(outcome), [[1, 3000]]);
        assert.deepEqual(clock.sleeps, [3000]);
      },
    ));

  it("reads retry-after-ms, and a Retry-After date", () => {
    const date = new Date(Date.now() + 30_000).toUTCString();
    const steps = [
      { ...failures.rateLimited, headers: { "retry-after-ms": "250" } },
      { ...failures.rateLimited, headers: { "retry-after": date } },
      whole,
    ];
    return inSituation(suite, { steps }, async ({ adapter, clock }) => {
      assert.equal((await outcomeOf(adapter, request)).reply?.text, "ok");
      assert.equal(clock.sleeps[0], 250);
      assert.ok(Math.abs((clock.sleeps[1] ?? 0) - 30_000) < 5000);
    });
  });

  it("does not wait over a minute: the error says how long", () =>
    inSituation(
      suite,
      { steps: [{ ...failures.rateLimited, headers: { "retry-after": "120" } }] },
      async ({ adapter, server }) => {
        const failure = providerFailure(await outcomeOf(adapter, request));
        assert.equal(failure.kind, "rate_limit");
        assert.equal(failure.retryAfterMs, 120_000);
        assert.equal(server.requests.length, 1);
      },
    ));

  it("asks again after 500, with jitter", () =>
    inSituation(
      suite,
      { steps: [failures.serverError, failures.serverError, whole] },
      async ({ adapter, clock }) => {
        const outcome = await outcomeOf(adapter, request);
        assert.equal(outcome.reply?.text, "ok");
        assert.deepEqual(clock.sleeps, [250, 500], "half of 500 and of 1 000, since the dice say 0.5");
      },
    ));

  it("gives up after two repeats and counts its attempts", () =>
    inSituation(
      suite,
      { steps: [failures.serverError, failures.serverError, failures.serverError] },
      async ({ adapter, server }) => {
        const failure = providerFailure(await outcomeOf(adapter, request));
        assert.equal(failure.attempts, 3);
        assert.equal(failure.retryable, true);
        assert.equal(server.requests.length, 3);
      },
    ));
}

function repeatCases(suite: WiredSuite, { it }: SuiteRunner): void {
  const whole: FakeReply = { blocks: suite.fixtures.stream({ text: ["ok"] }) };
  for (const status of [400, 403, 404, 422]) {
    it(`does not ask again after ${status}`, () =>
      inSituation(
        suite,
        { steps: [{ status, json: { error: { message: "no" } } }] },
        async ({ adapter, server }) => {
          assert.equal(providerFailure(await outcomeOf(adapter, request)).retryable, false);
          assert.equal(server.requests.length, 1);
        },
      ));
  }

  for (const status of [408, 409, 425, 503]) {
    it(`asks again after ${status}`, () =>
      inSituation(
        suite,
        { steps: [{ status, json: { error: { message: "later" } } }, whole] },
        async ({ adapter }) => {
          assert.equal((await outcomeOf(adapter, request)).reply?.text, "ok");
        },
      ));
  }
}

function timeoutCases(suite: WiredSuite, { it }: SuiteRunner): void {
  const blocks = suite.fixtures.stream({ text: ["a", "b"] });
  const content = blocks.findIndex((block) => block.includes('"a"'));
  const whole: FakeReply = { blocks };
  const limits = { connectMs: 400, firstEventMs: 60, idleMs: 60 };

  it("adapters A11: a stall before anything was delivered is a timeout, and asked again", () =>
    inSituation(
      suite,
      { steps: [whole, { cutAfter: 0, blocks, ending: "stall" }, whole], limits },
      async ({ adapter, server }) => {
        await outcomeOf(adapter, request);
        const outcome = await outcomeOf(adapter, request);
        assert.equal(outcome.reply?.text, "ab");
        assert.deepEqual(
          outcome.events.flatMap((event) => (event.type === "retry" ? [event.reason] : [])),
          ["timeout"],
        );
        assert.equal(await server.requests[1]?.left, true);
      },
    ));

  it("adapters A11: a stall after a delta is a timeout, and thrown for the loop to repeat the step", () =>
    inSituation(
      suite,
      { steps: [whole, { cutAfter: content + 1, blocks, ending: "stall" }], limits },
      async ({ adapter, server }) => {
        await outcomeOf(adapter, request);
        const outcome = await outcomeOf(adapter, request);
        assert.equal(providerFailure(outcome).kind, "timeout");
        assert.equal(providerFailure(outcome).retryable, true);
        assert.equal(server.requests.length, 2);
      },
    ));

  it("a server that never sends headers is a timeout", () =>
    inSituation(
      suite,
      { steps: [whole, { silent: true }], limits: { ...limits, retries: 0 } },
      async ({ adapter }) => {
        await outcomeOf(adapter, request);
        assert.equal(providerFailure(await outcomeOf(adapter, request)).kind, "timeout");
      },
    ));

  it("does not count the time its consumer takes as idle", () =>
    inSituation(suite, { steps: [whole, whole], limits }, async ({ adapter }) => {
      await outcomeOf(adapter, request);
      let text = "";
      for await (const event of adapter.stream(request)) {
        if (event.type === "text_delta") text += event.text;
        if (event.type === "start") await new Promise((resolve) => setTimeout(resolve, 200));
      }
      assert.equal(text, "ab");
    }));

  it("a server that cannot be reached is a network failure", () =>
    inSituation(suite, { steps: [], limits: { retries: 0 } }, async ({ adapter, server }) => {
      await server.close();
      assert.equal(providerFailure(await outcomeOf(adapter, request)).kind, "network");
    }));
}
