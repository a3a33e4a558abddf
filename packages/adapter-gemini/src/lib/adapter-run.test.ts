/** Whole runs: core's real loop, the real SDK, and a fake server that behaves as Gemini at its worst. */

import { type LoopOptions, type Message, ok, runLoop, ToolRegistry } from "@openfunctions/core";
import {
  type FakeModelServer,
  type FakeStep,
  geminiFixtures,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { createGeminiAdapter } from "./adapter.ts";
import { chunk, KEY } from "./__fixtures__/ask.ts";

type Result = Awaited<ReturnType<typeof runLoop>["result"]>;

interface Ran {
  readonly result: Result;
  readonly server: FakeModelServer;
  readonly cities: readonly string[];
  readonly events: readonly string[];
}

async function run(steps: readonly FakeStep[], options: Partial<LoopOptions> = {}): Promise<Ran> {
  const server = await startFakeModelServer(steps);
  const cities: string[] = [];
  const tools = new ToolRegistry();
  tools.register({
    name: "get_weather",
    description: "The weather of a city.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    contract: "read",
    handler: ({ city }: { city: string }) => {
      cities.push(city);
      return ok(["sunny", city]);
    },
  });
  try {
    const adapter = createGeminiAdapter({ apiKey: KEY, baseUrl: server.url, limits: { retries: 0 } });
    const events: string[] = [];
    const started = runLoop({ adapter, tools, messages: [{ role: "user", content: "go" }], ...options });
    for await (const event of started) events.push(event.type);
    return { result: await started.result, server, cities, events };
  } finally {
    await server.close();
  }
}

const said = (chunks: readonly object[]): FakeStep => ({
  blocks: chunks.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`),
});

const malformed = (candidate: object): FakeStep =>
  said([
    {
      candidates: [
        { ...candidate, finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed: print(" },
      ],
    },
  ]);
type Content = { readonly role: string; readonly parts: readonly Record<string, { readonly id?: string }>[] };
const contentsOf = (server: FakeModelServer, index: number): readonly Content[] =>
  Object(server.requests[index]?.body).contents;

describe("field A25: a malformed call", () => {
  const SHAPES: [string, FakeStep][] = [
    ["without content", malformed({})],
    ["with empty content", malformed({ content: {} })],
    [
      "after text",
      said([chunk([{ text: "Let me " }]), chunk([{ text: "look." }], "MALFORMED_FUNCTION_CALL")]),
    ],
    [
      "after a call",
      said([
        chunk([{ functionCall: { name: "get_weather", args: { city: "Bonn" } } }], "MALFORMED_FUNCTION_CALL"),
      ]),
    ],
    ["that is not among the tools", said([chunk([{ text: "a" }], "UNEXPECTED_TOOL_CALL")])],
  ];

  it.each(SHAPES)("%s is asked for once more, and what it left is dropped", async (_, step) => {
    const { result, server, cities, events } = await run([
      step,
      { blocks: geminiFixtures.stream({ text: ["fine"] }) },
    ]);
    expect(result).toMatchObject({ status: "completed", text: "fine" });
    expect(cities).toEqual([]);
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.text).toBe(server.requests[0]?.text);
    expect(events.filter((type) => type === "model.reset")).toHaveLength(1);
    expect(JSON.stringify(result.messages)).not.toMatch(/look|Bonn/);
  });

  it.each(SHAPES)("%s twice ends the run as protocol_error, never as a success", async (_, step) => {
    const { result, server, cities } = await run([step, step]);
    expect(result).toMatchObject({
      status: "failed",
      stopReason: "protocol_error",
      text: "",
      error: { code: "protocol_error", kind: "protocol", retryable: false },
    });
    expect(cities).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  it("keeps the calls of the rounds before", async () => {
    const first = { calls: [{ id: "c1", name: "get_weather", args: ['{"city":"Oslo"}'] }] };
    const { result, cities, server } = await run([
      { blocks: geminiFixtures.stream(first) },
      malformed({}),
      { blocks: geminiFixtures.stream({ text: ["fine"] }) },
    ]);
    expect(result).toMatchObject({ status: "completed", text: "fine" });
    expect(cities).toEqual(["Oslo"]);
    expect(server.requests).toHaveLength(3);
  });
});

describe("a run", () => {
  it("adapters A17: both calls run, and their results, which are arrays, go back as objects in one content", async () => {
    const calls = ["Oslo", "Bonn"].map((city, n) => ({
      id: `c${n}`,
      name: "get_weather",
      args: [JSON.stringify({ city })],
    }));
    const { result, server, cities } = await run([
      { blocks: geminiFixtures.stream({ opaque: "s", text: ["Let me look."], calls }) },
      { blocks: geminiFixtures.stream({ text: ["done"] }) },
    ]);
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect(cities).toEqual(["Oslo", "Bonn"]);
    const signature = "secret é s \u2028";
    expect(contentsOf(server, 1).slice(1)).toEqual([
      {
        role: "model",
        parts: [
          { text: "Let me look." },
          {
            functionCall: { id: "c0", name: "get_weather", args: { city: "Oslo" } },
            thoughtSignature: signature,
          },
          { functionCall: { id: "c1", name: "get_weather", args: { city: "Bonn" } } },
        ],
      },
      {
        role: "user",
        parts: cities.map((city, n) => ({
          functionResponse: { id: `c${n}`, name: "get_weather", response: { result: ["sunny", city] } },
        })),
      },
    ]);
  });

  it("field A14: a call that was cut is not run, and its reply is output_truncated", async () => {
    const cut = { calls: [{ id: "c1", name: "get_weather", args: ['{"city":"Os'] }] };
    const { result, cities } = await run([{ blocks: geminiFixtures.stream(cut) }]);
    expect(result).toMatchObject({ status: "limit_reached", stopReason: "output_truncated" });
    expect(cities).toEqual([]);
  });

  it("field B5: an empty reply is no answer, and a reply without a candidate is a failure", async () => {
    const empty = await run([said([chunk([{ text: "" }], "STOP")])]);
    expect(empty.result).toMatchObject({ stopReason: "empty_response", text: "" });
    const none = await run([said([{ usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 } }])]);
    expect(none.result).toMatchObject({ status: "failed", stopReason: "protocol_error" });
  });

  it("field A19: a full window is compacted once, and no result goes back without its call", async () => {
    const turns = [1, 2, 3].flatMap((n): Message[] => [
      { role: "user", content: `question ${n}` },
      {
        role: "assistant",
        content: [{ type: "tool_call", callId: `c${n}`, name: "get_weather", args: { city: `${n}` } }],
      },
      {
        role: "tool",
        content: [{ type: "tool_result", callId: `c${n}`, name: "get_weather", result: "sunny" }],
      },
    ]);
    const { result, server } = await run(
      [geminiFixtures.failures.contextOverflow, { blocks: geminiFixtures.stream({ text: ["short"] }) }],
      {
        messages: [...turns, { role: "user", content: "and?" }],
        // The last five messages begin with a result whose call is gone.
        compactor: {
          compact: async (messages, { overflowed }) =>
            overflowed ? { messages: messages.slice(-5) } : undefined,
        },
      },
    );
    expect(result).toMatchObject({ status: "completed", text: "short" });
    const parts = contentsOf(server, 1).flatMap((content) => content.parts);
    const calls = parts.flatMap((part) => part["functionCall"]?.id ?? []);
    expect(parts.flatMap((part) => part["functionResponse"]?.id ?? [])).toEqual(calls);
    expect(calls).toEqual(["c3"]);
  });
});
