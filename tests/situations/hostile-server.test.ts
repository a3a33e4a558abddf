/** Servers that answer in every way but the agreed one: a typed outcome, no secret told, nothing left open. */

import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  type AIAdapter,
  collect,
  createMemoryRunStore,
  type ModelEvent,
  type ModelReply,
  ProviderError,
  runLoop,
  userMessage,
} from "@openfunctions/core";
import { exportRun } from "@openfunctions/core/records";
import {
  type FakeReply,
  type FakeStep,
  recordingLogger,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import { ADAPTERS, answerOf, type Making, type Talking, wireOf, withSteps } from "./adapters.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const request = { messages: [userMessage("go")] };

interface Outcome {
  readonly events: readonly ModelEvent[];
  readonly reply?: ModelReply;
  readonly failure?: unknown;
}

async function outcomeOf(adapter: AIAdapter, signal?: AbortSignal): Promise<Outcome> {
  const events: ModelEvent[] = [];
  try {
    const stream = adapter.stream(signal === undefined ? request : { ...request, signal });
    return { events, reply: await collect(stream, (event) => void events.push(event)) };
  } catch (failure) {
    return { events, failure };
  }
}

/** What one answer comes to. */
async function answered(name: string, step: FakeStep, how: Making = {}): Promise<Outcome & Talking> {
  let outcome: (Outcome & Talking) | undefined;
  const body = async (talking: Talking): Promise<void> => {
    outcome = { ...(await outcomeOf(talking.adapter)), ...talking };
  };
  await withSteps(name, [step], { ...how, body });
  return outcome!;
}

function failureOf({ failure, reply }: Outcome): ProviderError {
  expect(failure, reply === undefined ? "" : `the reply "${reply.text}"`).toBeInstanceOf(ProviderError);
  return failure as ProviderError; // Proof: expected above
}

const PAGE =
  "<!doctype html><html><head><title>Bad gateway</title></head><body>nginx\n\ndata: {}\n\n</body></html>";
const page = (status: number): FakeReply => ({
  status,
  headers: { "content-type": "text/html" },
  blocks: [PAGE],
});

describe.each(ADAPTERS)("%s", (name) => {
  const whole = answerOf(name, { text: ["one ", "two"] });
  const { blocks = [] } = whole;

  it("an error page is an error: with its status, or as what it is where it claims success", async () => {
    expect(failureOf(await answered(name, page(502)))).toMatchObject({
      status: 502,
      kind: "overloaded",
      retryable: true,
    });
    const welcome = failureOf(await answered(name, page(200)));
    expect(welcome).toMatchObject({ kind: "protocol", retryable: false });
    expect(welcome.message).toContain("text/html");
  });

  it("an answer without a body, or with an empty one, is a cut", async () => {
    for (const reply of [{ status: 204, blocks: [] }, { blocks: [] }, { blocks: ["\n\n\n"] }])
      expect(failureOf(await answered(name, reply))).toMatchObject({ kind: "network", retryable: true });
  });

  it("a redirect is not followed: the key goes to nobody else", async () => {
    const other = await startFakeModelServer([whole, whole]);
    try {
      for (const status of [301, 302, 307, 308]) {
        const location = { location: `${other.url}/v1/elsewhere` };
        const outcome = await answered(name, { status, headers: location, blocks: [] });
        expect(failureOf(outcome)).toMatchObject({ status, retryable: false });
      }
      expect(other.requests).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it("a body that says gzip and is not is a network failure", async () => {
    const headers = { "content-encoding": "gzip" };
    expect(failureOf(await answered(name, { headers, blocks: ["not gzip at all"] }))).toMatchObject({
      kind: "network",
    });
    expect(failureOf(await answered(name, { ...whole, headers }))).toMatchObject({ kind: "network" });
  });

  it("what comes after the end is not read, and a server that never closes is left", async () => {
    const late = [...blocks, ...blocks, wireOf(name).fixtures.errorEvent("too late"), "data: {broken\n\n"];
    for (const ending of ["end", "stall", "destroy"] as const) {
      const { reply, events } = await answered(name, { blocks: late, ending });
      expect(reply?.text).toBe("one two");
      expect(events.filter(({ type }) => type === "finish")).toHaveLength(1);
    }
    const { server } = await answered(name, { blocks, ending: "stall" });
    expect(await server.requests[0]?.left).toBe(true);
  });

  it("unknown events, fields, comments and mixed line ends between events change nothing", async () => {
    const isLines = wireOf(name).fixtures.comments === false && name === "ollama";
    const odd = isLines
      ? ['{"type":"new"}\n', "\r\n", '{"message":{"unheard":1}}\n']
      : [
          ": hello\n",
          "id: 7\nretry: 1\n",
          "\r\n\r\n",
          'event: brand.new\r\ndata: {"type":"brand.new","delta":{}}\n\n',
          "unknown: x\r\n",
        ];
    const mixed = blocks.flatMap((block, index) => [
      odd[index % odd.length] ?? "",
      index % 2 === 0 ? block : block.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n"),
    ]);
    const plain = await answered(name, whole);
    for (const splitBytes of [1, 7, 4_096]) {
      const { reply } = await answered(name, { blocks: mixed, splitBytes });
      expect(reply).toEqual(plain.reply);
    }
  });

  it("a huge reply in tiny deltas, and one in a single huge delta, arrive whole", async () => {
    const count = Math.round(20_000 * SCALE);
    const tiny = Array.from({ length: count }, (_, index) => `${index} é `);
    expect((await answered(name, answerOf(name, { text: tiny }))).reply?.text).toBe(tiny.join(""));
    const huge = "北".repeat(4_000_000 * SCALE);
    expect((await answered(name, answerOf(name, { text: [huge] }))).reply?.text).toBe(huge);
  });

  it("no secret of a header is told again: not in errors, events, logs or records", async () => {
    const apiKey = "KEY-7f3a9c51";
    const headers = { "x-proxy-auth": "Bearer PROXY-55d1e0" };
    const secret = /KEY-7f3a9c51|PROXY-55d1e0/;
    const echo = ({ headers: sent }: { readonly headers: object }): string => JSON.stringify(sent);
    const steps: FakeStep[] = [
      (asked) => ({
        status: 400,
        json: { error: { message: echo(asked), code: echo(asked), type: echo(asked) } },
      }),
      (asked) => ({ status: 500, json: { error: echo(asked) } }),
      (asked) => ({
        status: 401,
        headers: { "content-type": "text/html" },
        blocks: [`<p>${echo(asked)}</p>`],
      }),
      (asked) => ({
        status: 429,
        headers: { "x-request-id": echo(asked), "request-id": echo(asked), "retry-after": "120" },
        json: [{ error: { message: "x".repeat(4_000) + echo(asked).repeat(30) } }],
      }),
      (asked) => ({ status: 400, blocks: [echo(asked).repeat(60)] }),
      (asked) => ({ blocks: [...blocks.slice(0, 2), wireOf(name).fixtures.errorEvent(echo(asked))] }),
      (asked) => ({ blocks: [wireOf(name).fixtures.errorEvent(echo(asked))] }),
      (asked) => ({ blocks: [`data: ${echo(asked).slice(1)}\n\n`] }),
    ];
    for (const step of steps) {
      const store = createMemoryRunStore();
      const logger = recordingLogger();
      const body = async ({ adapter, server }: Talking): Promise<void> => {
        const run = runLoop({ adapter, ...request, store, logger, capture: "full", streamRetries: 0 });
        const told: unknown[] = [];
        for await (const event of run) told.push(event);
        const result = await run.result;
        expect(result.status).toBe("failed");
        expect(JSON.stringify(server.requests[0]?.headers)).toMatch(secret);
        let lines = "";
        for await (const line of exportRun(store, run.runId)) lines += line;
        const everything = inspect([result, told, logger.lines, lines], {
          depth: 20,
          showHidden: true,
          maxStringLength: null,
        });
        expect(everything.match(secret)).toBeNull();
      };
      await withSteps(name, [step], { apiKey, headers, body });
    }
  });

  it("a key no header can hold is an error before anything is sent, and is not told", async () => {
    for (const apiKey of ["first\nsecond-secret", "ключ-secret"]) {
      await withSteps(name, [whole], {
        apiKey,
        body: async ({ adapter, server }) => {
          const failure = failureOf(await outcomeOf(adapter));
          expect(inspect(failure, { depth: 20, showHidden: true })).not.toMatch(/secret/);
          expect(server.requests).toEqual([]);
        },
      });
    }
  });

  it("an abort at every event ends with its reason, closes the connection and leaves no listener", async () => {
    const said = answerOf(name, {
      opaque: "r",
      text: ["a", "b"],
      calls: [{ id: "call_1", name: "look", args: ["{", "}"] }],
    });
    const { events } = await answered(name, said);
    for (let stop = 0; stop < events.length; stop += 1) {
      await withSteps(name, [{ ...said, splitBytes: 64, ending: "stall" }], {
        body: async ({ adapter, server }) => {
          const controller = new AbortController();
          const reason = new Error("enough");
          let seen = 0;
          const read = async (): Promise<void> => {
            for await (const { type } of adapter.stream({ ...request, signal: controller.signal })) {
              expect(type).toBe(events[seen]?.type);
              if (seen++ === stop) controller.abort(reason);
            }
          };
          const failure: unknown = await read().catch((error: unknown) => error);
          expect(failure).toBe(reason);
          expect(seen).toBe(stop + 1);
          expect(getEventListeners(controller.signal, "abort")).toEqual([]);
          // The first events are warnings, before anything is sent.
          for (const { left } of server.requests) expect(await left).toBe(true);
        },
      });
    }
  });

  it("opening and closing again and again leaves no socket, timer or listener", async () => {
    const cycles = Math.round(10_000 * SCALE ** 1.5);
    const failure = wireOf(name).fixtures.failures.serverError;
    const steps: FakeReply[] = Array.from({ length: cycles }, (_, index) =>
      index % 4 === 0
        ? whole
        : index % 4 === 1
          ? { ...whole, cutAfter: 2 }
          : index % 4 === 2
            ? failure
            : { ...whole, ending: "destroy" },
    );
    const { signal } = new AbortController();
    const count = (kind: string): number =>
      process.getActiveResourcesInfo().filter((one) => one === kind).length;
    await withSteps(name, steps, {
      body: async ({ adapter, server }) => {
        const timers = count("Timeout");
        for (let done = 0; done < cycles; done += 20)
          await Promise.allSettled(
            Array.from({ length: Math.min(20, cycles - done) }, async (_, index) => {
              if (index % 5 !== 0) return outcomeOf(adapter, signal);
              for await (const { type } of adapter.stream({ ...request, signal }))
                if (type === "start") break;
              return undefined;
            }),
          );
        expect(server.requests.length).toBeGreaterThan(cycles * 0.9);
        expect(getEventListeners(signal, "abort")).toEqual([]);
        await expect.poll(() => count("Timeout") - timers, { timeout: 5_000 }).toBeLessThanOrEqual(2);
        await expect.poll(() => count("TCPSocketWrap"), { timeout: 5_000 }).toBeLessThanOrEqual(60);
      },
    });
  }, 60_000);
});
