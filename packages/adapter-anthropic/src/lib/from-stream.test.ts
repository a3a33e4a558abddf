/** What the events of a reply mean. */

import { collect, type ModelEvent, type ModelReply, ProviderError } from "@openfunctions/core";
import { createRedactor } from "@openfunctions/core/wire";
import { describe, expect, it } from "vitest";
import { messageEvents, type Said, search, text, thinking, toolUse } from "./__fixtures__/events.ts";
import { MessagesDecoder } from "./from-stream.ts";
import { MAX_PAUSES } from "./quirks.ts";

const failures = { provider: "anthropic", redactor: createRedactor(), now: () => 0 };

function decodeAll(messages: readonly (readonly unknown[])[]): {
  events: ModelEvent[];
  decoder: MessagesDecoder;
} {
  const decoder = new MessagesDecoder({ model: "m", failures });
  const events: ModelEvent[] = [];
  for (const event of messages.flat()) if (!decoder.finished) decoder.push(event, events);
  decoder.end();
  return { events, decoder };
}

async function decode(...messages: readonly (readonly unknown[])[]): Promise<ModelReply> {
  const { events } = decodeAll(messages);
  return collect(
    (async function* () {
      yield* events;
    })(),
  );
}

describe("usage", () => {
  it("field A16: takes start and end as one set of counts, the last value of each", async () => {
    const counts = { input_tokens: 2, cache_read_input_tokens: 47_119, cache_creation_input_tokens: 0 };
    const { usage } = await decode(
      messageEvents([text("x")], {
        startUsage: { ...counts, output_tokens: 1 },
        endUsage: { ...counts, output_tokens: 64 },
      }),
    );
    expect(usage).toEqual({
      input: 2,
      cacheRead: 47_119,
      cacheWrite: 0,
      output: 64,
      reasoning: 0,
      total: 47_185,
    });
  });

  it("field A17: believes the end where it tells another story than the start", async () => {
    const { usage } = await decode(
      messageEvents([text("x")], {
        startUsage: { input_tokens: 8834, output_tokens: 1 },
        endUsage: {
          input_tokens: 18,
          cache_read_input_tokens: 8831,
          cache_creation_input_tokens: null,
          output_tokens: 9,
        },
      }),
    );
    expect(usage).toEqual({
      input: 18,
      cacheRead: 8831,
      cacheWrite: 0,
      output: 9,
      reasoning: 0,
      total: 8858,
    });
  });

  it("adapters Z23: five counts that share no token and add up, thinking apart from the answer", async () => {
    const { usage } = await decode(
      messageEvents([text("x")], {
        startUsage: {
          input_tokens: 6,
          cache_creation_input_tokens: 3337,
          cache_read_input_tokens: 6289,
          output_tokens: 69,
        },
        endUsage: { output_tokens: 198, output_tokens_details: { thinking_tokens: 120 } },
      }),
    );
    expect(usage).toEqual({
      input: 6,
      cacheRead: 6289,
      cacheWrite: 3337,
      output: 78,
      reasoning: 120,
      total: 9830,
    });
  });

  it("reports what the start counted, for a stream that is left early", () => {
    const decoder = new MessagesDecoder({ model: "m", failures });
    const out: ModelEvent[] = [];
    decoder.push(messageEvents([])[0], out);
    expect(out).toContainEqual({ type: "usage", usage: expect.objectContaining({ input: 5, total: 6 }) });
  });
});

describe("blocks", () => {
  it("adapters A14: joins two text blocks in order", async () => {
    const reply = await decode(messageEvents([text("One. "), text("Two", ".")]));
    expect([reply.text, reply.finishReason]).toEqual(["One. Two.", "stop"]);
  });

  it("gives thinking as it comes, and the signed block whole, in its place", async () => {
    const reply = await decode(
      messageEvents([thinking("sig==", "Hm\u2028", "m."), text("So.")], { stop: "stop_sequence" }),
    );
    expect(reply.parts).toEqual([
      { type: "reasoning", text: "Hm\u2028m." },
      {
        type: "provider",
        provider: "anthropic",
        model: "m",
        data: { type: "thinking", thinking: "Hm\u2028m.", signature: "sig==" },
      },
      { type: "text", text: "So." },
    ]);
  });

  it("keeps no thinking without a signature, and keeps a signature without text", async () => {
    const cut = {
      block: { type: "thinking", thinking: "", signature: "" },
      deltas: [{ type: "thinking_delta", thinking: "Hm" }],
    };
    expect((await decode(messageEvents([cut], { stop: "max_tokens" }))).parts).toEqual([
      { type: "reasoning", text: "Hm" },
    ]);
    expect((await decode(messageEvents([thinking("sig"), text("x")]))).parts[0]).toMatchObject({
      data: { type: "thinking", thinking: "", signature: "sig" },
    });
  });

  it("gives what Anthropic ran as opaque parts, the input parsed, and says which is call and which result", async () => {
    const reply = await decode(messageEvents([...search("srv_1"), text("Found.")]));
    expect(reply.toolCalls).toEqual([]);
    expect(reply.parts).toMatchObject([
      {
        executor: "provider",
        providerCall: { id: "srv_1", stage: "call" },
        data: { name: "web_search", input: { query: "é" } },
      },
      {
        providerCall: { id: "srv_1", stage: "result" },
        data: { content: [{ encrypted_content: "x\u2028" }] },
      },
      { type: "text", text: "Found." },
    ]);
  });

  it("closes the account of a provider's call whose result comes after ours, and of no other", async () => {
    const [call] = search("srv_1");
    if (call === undefined) throw new Error("there is no call");
    const stages = async (stop: string, ...more: Parameters<typeof messageEvents>[0]): Promise<unknown[]> =>
      (await decode(messageEvents([call, ...more], { stop }))).parts.flatMap((part) =>
        part.type === "provider" ? [part.providerCall?.stage] : [],
      );
    expect(await stages("tool_use", toolUse("t", "add", "{}"))).toEqual(["call", "result"]);
    expect(await stages("refusal")).toEqual(["call"]);
  });

  it("keeps citations with their text", async () => {
    const citation = { type: "web_search_result_location", encrypted_index: "e", cited_text: "c" };
    const cited = {
      block: { type: "text", text: "" },
      deltas: [
        { type: "text_delta", text: "It is so" },
        { type: "citations_delta", citation },
      ],
    };
    const reply = await decode(messageEvents([text("Well. "), cited, text(".")]));
    expect(reply.text).toBe("Well. It is so.");
    expect(reply.parts[1]).toMatchObject({ data: { type: "text", text: "It is so", citations: [citation] } });
  });

  it("takes an input that came whole, and blocks of unknown kinds as they are", async () => {
    const whole = { block: { type: "tool_use", id: "t", name: "add", input: { a: 1 } } };
    const odd = { block: { type: "something_new", payload: [1, { deep: "é" }] } };
    const reply = await decode(messageEvents([odd, whole], { stop: "tool_use" }));
    expect(reply.toolCall).toMatchObject({ callId: "t", args: { a: 1 }, argsText: '{"a":1}' });
    expect(reply.parts[0]).toMatchObject({ type: "provider", data: odd.block });
  });

  it("does not stumble over events and deltas it does not know", async () => {
    const events = messageEvents([
      {
        block: { type: "text", text: "Hel" },
        deltas: [{ type: "later_delta" }, { type: "text_delta", text: "lo" }],
      },
    ]);
    const odd = [
      null,
      7,
      { type: "ping" },
      { type: "later_event" },
      { type: "content_block_delta", index: 9, delta: { type: "text_delta", text: "lost" } },
    ];
    expect((await decode([...odd, ...events])).text).toBe("Hello");
  });

  it("adds no delta to a block of another kind: text never becomes arguments", async () => {
    const strays = [
      { type: "text_delta", text: "stray" },
      { type: "thinking_delta", thinking: "stray" },
      { type: "input_json_delta", partial_json: "stray" },
    ];
    const stray = ({ block, deltas = [] }: Said, kept: number): Said => ({
      block,
      deltas: [...strays.filter((_, index) => index !== kept), ...deltas],
    });
    const reply = await decode(
      messageEvents([
        stray(text("Hi"), 0),
        stray(thinking("sig", "Hm"), 1),
        stray(toolUse("t", "look", '{"n":1}'), 2),
      ]),
    );
    expect(JSON.stringify(reply.parts)).not.toContain("stray");
    expect(reply).toMatchObject({ text: "Hi", toolCall: { args: { n: 1 } } });
  });
});

describe("how a reply ends", () => {
  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "refusal"],
    ["tool_use", "unknown"],
    ["something_new", "unknown"],
    [null, "unknown"],
  ])("%s without a call is %s", async (stop, reason) => {
    expect((await decode(messageEvents([text("x")], { stop }))).finishReason).toBe(reason);
  });

  it("calls are calls, whatever is claimed", async () => {
    const reply = await decode(messageEvents([toolUse("t", "add", '{"a":', "1}")], { stop: "end_turn" }));
    expect([reply.finishReason, reply.toolCall?.args]).toEqual(["tool_calls", { a: 1 }]);
  });

  it("field A14: a call cut at the limit is marked, and never shown as finished", async () => {
    const events = messageEvents([text("I write."), toolUse("t", "write", '{"path":"a', "bc")], {
      stop: "max_tokens",
    });
    const open = events.filter(
      (event) => JSON.stringify(event) !== '{"type":"content_block_stop","index":1}',
    );
    const reply = await decode(open);
    expect(reply.finishReason).toBe("length");
    expect(reply.toolCall).toMatchObject({
      args: {},
      argsText: '{"path":"abc',
      argsError: expect.stringContaining("cut off"),
    });
  });

  it("says why Claude refused", async () => {
    const delta = { stop_details: { type: "refusal", category: "cyber", explanation: "Not this." } };
    const reply = await decode(messageEvents([], { stop: "refusal", delta }));
    expect([reply.text, reply.finishReason]).toEqual(["", "refusal"]);
    expect(reply.warnings).toEqual([{ code: "refusal_details", detail: "cyber Not this." }]);
  });

  it("an error event is the provider's failure, which may pass or not", () => {
    const failureOf = (type: string, message: string): ProviderError => {
      try {
        decodeAll([[{ type: "error", error: { type, message } }]]);
      } catch (error) {
        if (error instanceof ProviderError) return error;
      }
      throw new Error("nothing was thrown");
    };
    expect(failureOf("overloaded_error", "Overloaded")).toMatchObject({
      kind: "overloaded",
      retryable: true,
    });
    expect(failureOf("api_error", "Internal")).toMatchObject({ kind: "overloaded", retryable: true });
    expect(failureOf("timeout_error", "Slow")).toMatchObject({ kind: "timeout", retryable: true });
    expect(failureOf("rate_limit_error", "Slow down")).toMatchObject({ kind: "rate_limit", retryable: true });
    expect(failureOf("billing_error", "Pay")).toMatchObject({ kind: "quota", retryable: false });
    expect(failureOf("invalid_request_error", "No")).toMatchObject({
      kind: "invalid_request",
      retryable: false,
    });
  });

  it("a message that starts inside another takes its place", async () => {
    const half = messageEvents([thinking("old", "a"), toolUse("old", "add", '{"a')]).slice(0, -4);
    const { events } = decodeAll([
      half,
      messageEvents([toolUse("new", "add", "{}")], { id: "msg_2", stop: "tool_use" }),
    ]);
    expect(events.filter(({ type }) => type === "reset")).toHaveLength(1);
    const reply = await decode(
      half,
      messageEvents([toolUse("new", "add", "{}")], { id: "msg_2", stop: "tool_use" }),
    );
    expect(reply.parts).toEqual([{ type: "tool_call", callId: "new", name: "add", args: {} }]);
    expect([reply.responseId, reply.finishReason]).toEqual(["msg_2", "tool_calls"]);
  });
});

describe("a paused turn", () => {
  it("is not finished, and hands over what was said, as it came", () => {
    const decoder = new MessagesDecoder({ model: "m", failures });
    const container = { container: { id: "c_1", expires_at: "2026-12-01" } };
    for (const event of messageEvents([text("Looking. "), ...search("srv_1")], {
      stop: "pause_turn",
      delta: container,
    }))
      decoder.push(event, []);
    expect(decoder.finished).toBe(false);
    expect(() => decoder.end()).toThrow("was cut before its end");
    expect(decoder.takePause()).toEqual({
      container: "c_1",
      blocks: [
        { type: "text", text: "Looking. " },
        { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "é" } },
        { type: "web_search_tool_result", tool_use_id: "srv_1", content: [{ encrypted_content: "x\u2028" }] },
      ],
    });
    expect(decoder.takePause()).toBeUndefined();
  });

  it("goes on as one reply, whose requests are added up", async () => {
    const paused = messageEvents([text("One. ")], { stop: "pause_turn" });
    const reply = await decode(paused, messageEvents([text("Two.")], { id: "msg_2" }));
    expect([reply.text, reply.finishReason, reply.responseId]).toEqual(["One. Two.", "stop", "msg_1"]);
    expect(reply.usage).toMatchObject({ input: 10, output: 14, total: 24 });
  });

  it("ends as a reply that was cut when it is paused too often", async () => {
    const paused = Array.from({ length: MAX_PAUSES + 1 }, () =>
      messageEvents([text("x")], { stop: "pause_turn" }),
    );
    const reply = await decode(...paused);
    expect([reply.text, reply.finishReason]).toEqual(["x".repeat(MAX_PAUSES + 1), "length"]);
  });
});
