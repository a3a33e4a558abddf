/** Failures that pass: what is waited for, what is asked again, and what an abort ends. */

import { describe, expect, it } from "vitest";
import {
  type AnyRunEvent,
  type LiveEvent,
  ok,
  runLoop,
  ToolRegistry,
  userMessage,
} from "@openfunctions/core";
import { type FakeClock, fakeClock, type FakeReply } from "@openfunctions/core/testing";
import { ADAPTERS, answerOf, type Talking, wireOf, withSteps } from "./adapters.ts";

const messages = [userMessage("go")];

/** Reads a run to its end; `onEvent` sees each event when it arrives. */
async function read(
  run: ReturnType<typeof runLoop>,
  onEvent: (event: AnyRunEvent | LiveEvent) => void = () => {},
): Promise<AnyRunEvent[]> {
  const events: AnyRunEvent[] = [];
  for await (const event of run) {
    onEvent(event);
    events.push(event as AnyRunEvent); // Proof: only told apart by type below
  }
  return events;
}

/** Moves the clock by what is announced, as soon as somebody sleeps. */
function advancing(clock: FakeClock): (event: AnyRunEvent | LiveEvent) => void {
  return (event) => {
    if (event.type === "model.retried") setTimeout(() => clock.advance(event.data.delayMs), 5);
  };
}

const told = (events: readonly AnyRunEvent[]) =>
  events.flatMap((event) =>
    event.type === "model.retried" ? [[event.data.attempt, event.data.delayMs]] : [],
  );

describe.each(ADAPTERS)("%s", (name) => {
  const { failures } = wireOf(name).fixtures;
  const whole = answerOf(name, { text: ["whole"] });
  const limits = { retries: 2 };

  it("waits as long as Retry-After says, in seconds and as a date, and the record tells both", async () => {
    const clock = fakeClock();
    const date = new Date(clock.now() + 3_000 + 45_000).toUTCString();
    const steps = [
      { ...failures.rateLimited, headers: { "retry-after": "3" } },
      { ...failures.rateLimited, headers: { "retry-after": date } },
      whole,
    ];
    const body = async ({ adapter, server }: Talking): Promise<void> => {
      const began = clock.now();
      const run = runLoop({ adapter, messages });
      const events = await read(run, advancing(clock));
      expect(await run.result).toMatchObject({ status: "completed", text: "whole" });
      expect(told(events)).toEqual([
        [1, 3_000],
        [2, 45_000],
      ]);
      expect(clock.now() - began).toBe(48_000);
      expect(server.requests).toHaveLength(3);
      expect((await run.result).record.modelCalls).toMatchObject([{ retries: 2 }]);
    };
    await withSteps(name, steps, { limits, ports: { clock }, body });
  });

  it.each([529, 500, 429])("asks again after %i, with a wait that grows", async (status) => {
    const clock = fakeClock();
    const failure: FakeReply = { ...failures.serverError, status };
    const body = async ({ adapter }: Talking): Promise<void> => {
      const run = runLoop({ adapter, messages });
      const events = await read(run, advancing(clock));
      expect(await run.result).toMatchObject({ status: "completed", text: "whole" });
      expect(told(events)).toEqual([
        [1, 250],
        [2, 500],
      ]);
    };
    await withSteps(name, [failure, failure, whole], { limits, ports: { clock, random: () => 0.5 }, body });
  });

  it("adapters A11: a stall before the first delta is asked again; after it the step alone starts over", async () => {
    let ran = 0;
    const tools = new ToolRegistry();
    const inputSchema = { type: "object", properties: {} } as const;
    tools.register({
      name: "look",
      description: "looks",
      inputSchema,
      contract: "read",
      handler: () => ok((ran += 1)),
    });
    const blocks = wireOf(name).fixtures.stream({ text: ["first", "second"] });
    const first = blocks.findIndex((block) => block.includes("first")) + 1;
    const steps: FakeReply[] = [
      answerOf(name, { calls: [{ id: "call_1", name: "look", args: ["{}"] }] }),
      { blocks, cutAfter: 0, ending: "stall" },
      { blocks, cutAfter: first, ending: "stall" },
      whole,
    ];
    const body = async ({ adapter, server }: Talking): Promise<void> => {
      await runLoop({ adapter, messages }).result; // Loads the SDK, which is not what is timed.
      server.queue(...steps);
      const run = runLoop({ adapter, tools, messages });
      const events = await read(run);
      expect(await run.result).toMatchObject({ status: "completed", text: "whole" });
      const reasons = events.flatMap((event) => (event.type === "model.retried" ? [event.data.reason] : []));
      expect(reasons).toEqual(["timeout"]);
      expect(events.filter(({ type }) => type === "model.reset")).toHaveLength(1);
      expect(ran).toBe(1);
      expect(await Promise.all(server.requests.slice(2, 4).map(({ left }) => left))).toEqual([true, true]);
    };
    await withSteps(name, [whole], { limits: { retries: 1, firstEventMs: 80, idleMs: 80 }, body });
  });

  it("limits without end are none: nothing goes off at once", async () => {
    const endless = Number.POSITIVE_INFINITY;
    const forever = {
      connectMs: endless,
      firstEventMs: endless,
      idleMs: endless,
      totalMs: endless,
      retries: 0,
    };
    const body = async ({ adapter }: Talking): Promise<void> => {
      expect(await runLoop({ adapter, messages }).result).toMatchObject({
        status: "completed",
        text: "whole",
      });
    };
    await withSteps(name, [{ ...whole, delayMs: 100 }], { limits: forever, body });
  });

  it("an abort ends the wait for a retry at once: cancelled, and nothing is asked again", async () => {
    const steps = [{ ...failures.rateLimited, headers: { "retry-after": "50" } }, whole];
    const body = async ({ adapter, server }: Talking): Promise<void> => {
      const run = runLoop({ adapter, messages });
      const began = performance.now();
      await read(run, ({ type }) => {
        if (type === "model.retried") setTimeout(() => run.abort("enough"), 20);
      });
      expect(await run.result).toMatchObject({ status: "cancelled", stopReason: "caller_abort" });
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(server.requests).toHaveLength(1);
    };
    await withSteps(name, steps, { limits, body });
  });
});
