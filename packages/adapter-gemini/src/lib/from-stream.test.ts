/** What replies mean that only Gemini's wire has, through the real SDK. */

import { describe, expect, it } from "vitest";
import { chunk, heard } from "./__fixtures__/ask.ts";
import { fromUsageMetadata } from "./from-stream.ts";

const weather = { functionCall: { name: "get_weather", args: { city: "Oslo" } } };

describe("a reply", () => {
  it("has thoughts, text, and who answered", async () => {
    const first = chunk([{ text: "Hm.", thought: true }, { text: "Hi" }]);
    const reply = await heard([{ ...first, responseId: "r1", modelVersion: "gemini-x" }, chunk([], "STOP")]);
    expect(reply.parts).toEqual([
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "Hi" },
    ]);
    expect(reply).toMatchObject({ responseId: "r1", reportedModel: "gemini-x", finishReason: "stop" });
  });

  it("keeps ids that were given and makes others, never twice the same", async () => {
    const given = { functionCall: { ...weather.functionCall, id: "abc" } };
    const { toolCalls, finishReason } = await heard([chunk([given, weather, weather], "STOP")]);
    expect(toolCalls[0]?.callId).toBe("abc");
    expect(toolCalls[1]?.callId).toMatch(/^call_[0-9a-f]{32}$/);
    expect(new Set(toolCalls.map(({ callId }) => callId)).size).toBe(3);
    expect(finishReason).toBe("tool_calls");
  });

  it("field A1: a call without arguments has none", async () => {
    const { toolCalls } = await heard([chunk([{ functionCall: { name: "get_time" } }], "STOP")]);
    expect(toolCalls).toMatchObject([{ name: "get_time", args: {} }]);
    expect(toolCalls[0]?.argsError).toBeUndefined();
  });

  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["CONTINUATION", "length"],
    ["RECITATION", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["MODEL_ARMOR", "content_filter"],
    ["TOO_MANY_TOOL_CALLS", "unknown"],
    ["OTHER", "unknown"],
    ["A_REASON_OF_TOMORROW", "unknown"],
  ])("that ends with %s finishes %s", async (finishReason, meant) => {
    const reply = await heard([chunk([{ text: "a" }], finishReason)]);
    expect([reply.text, reply.finishReason]).toEqual(["a", meant]);
  });

  it("that was filtered says by what", async () => {
    const safetyRatings = [
      { category: "HARM_CATEGORY_HARASSMENT", probability: "HIGH", blocked: true },
      { category: "HARM_CATEGORY_HATE_SPEECH", probability: "LOW" },
    ];
    const reply = await heard([chunk([], "SAFETY", { finishMessage: "No!", safetyRatings })]);
    expect(reply.finishReason).toBe("content_filter");
    expect(reply.warnings.at(-1)).toEqual({
      code: "content_filtered",
      detail: "The reply was stopped: SAFETY: No! (HARM_CATEGORY_HARASSMENT).",
    });
  });

  it("to a blocked prompt is content_filter with its reason, not an empty success", async () => {
    const usageMetadata = { promptTokenCount: 8, totalTokenCount: 8 };
    const reply = await heard([{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata }]);
    expect(reply).toMatchObject({ text: "", finishReason: "content_filter", usage: { input: 8, total: 8 } });
    expect(reply.warnings.at(-1)).toEqual({
      code: "content_filtered",
      detail: "The prompt was blocked: PROHIBITED_CONTENT.",
    });
  });

  it("without a candidate and without a reason is a protocol failure", async () => {
    const usageMetadata = { promptTokenCount: 8, totalTokenCount: 8 };
    for (const body of [{ usageMetadata }, { candidates: [], promptFeedback: {} }])
      await expect(heard([body])).rejects.toMatchObject({ kind: "protocol", code: "protocol_error" });
  });

  it("to a history without its signatures is a mistake of the request", async () => {
    await expect(heard([chunk([], "MISSING_THOUGHT_SIGNATURE")])).rejects.toMatchObject({
      kind: "invalid_request",
      retryable: false,
    });
  });

  it("grounded by a search keeps its sources as an opaque part that is never sent", async () => {
    const groundingMetadata = { webSearchQueries: ["weather"], groundingChunks: [] };
    const reply = await heard([
      chunk([{ text: "Sunny." }], undefined, { groundingMetadata: {} }),
      chunk([{ text: "" }], "STOP", { groundingMetadata }),
    ]);
    expect(reply.parts).toEqual([
      { type: "text", text: "Sunny." },
      { type: "provider", provider: "gemini", model: "m", data: { groundingMetadata }, executor: "provider" },
    ]);
  });
});

describe("a call in pieces", () => {
  const piece = (jsonPath: string, value: object, willContinue = false): object => ({
    jsonPath,
    ...value,
    ...(willContinue ? { willContinue } : {}),
  });
  const part = (partialArgs: readonly object[], more: object = { willContinue: true }): object => ({
    functionCall: { partialArgs, ...more },
  });

  it("is one call, its text joined per place", async () => {
    const reply = await heard([
      chunk([{ functionCall: { name: "get_weather", id: "c", willContinue: true }, thoughtSignature: "s" }]),
      chunk([part([piece("$.city", { stringValue: "Os" }, true)])]),
      chunk([part([piece("$.city", { stringValue: "lo" })])]),
      chunk([part([piece("$.days[0].n", { numberValue: 1 }), piece("$.days[1].n", { boolValue: true })])]),
      chunk([part([piece("$['a b']", { nullValue: "NULL_VALUE" })])]),
      chunk([{ functionCall: {} }], "STOP"),
    ]);
    expect(reply.toolCalls).toMatchObject([
      { callId: "c", args: { city: "Oslo", days: [{ n: 1 }, { n: true }], "a b": null } },
    ]);
    expect(reply.parts.at(-1)).toMatchObject({ data: { callId: "c", thoughtSignature: "s" } });
  });

  it("reaches no prototype and makes no giant list", async () => {
    const reply = await heard([
      chunk([{ functionCall: { name: "get_weather", willContinue: true } }]),
      chunk([
        part([
          piece("$.__proto__.polluted", { boolValue: true }),
          piece("$.a[999999999]", { numberValue: 1 }),
        ]),
      ]),
      chunk([{ functionCall: {} }], "STOP"),
    ]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(JSON.stringify(reply.toolCall?.args)).toBe('{"__proto__":{"polluted":true},"a":[]}');
  });

  it("field A13: field A14: that is cut is truncation, never a finished call", async () => {
    const reply = await heard([
      chunk([{ functionCall: { name: "get_weather", willContinue: true } }]),
      chunk([part([piece("$.city", { stringValue: "Os" }, true)])], "STOP"),
    ]);
    expect(reply.finishReason).toBe("length");
    expect(reply.toolCalls).toMatchObject([{ args: {}, argsError: expect.stringContaining("cut off") }]);
  });
});

describe("usage", () => {
  it.each([
    // Bodies as in fixtures google/test_google_model_web_search_tool_stream, google-reasoning, and with cached tokens.
    [
      {
        promptTokenCount: 17,
        candidatesTokenCount: 241,
        totalTokenCount: 772,
        toolUsePromptTokenCount: 102,
        thoughtsTokenCount: 412,
      },
      { input: 119, cacheRead: 0, output: 241, reasoning: 412 },
    ],
    [
      { promptTokenCount: 9, candidatesTokenCount: 29, totalTokenCount: 294, thoughtsTokenCount: 256 },
      { input: 9, cacheRead: 0, output: 29, reasoning: 256 },
    ],
    [
      {
        promptTokenCount: 2000,
        cachedContentTokenCount: 1800,
        candidatesTokenCount: 10,
        totalTokenCount: 2010,
      },
      { input: 200, cacheRead: 1800, output: 10, reasoning: 0 },
    ],
    [
      { promptTokenCount: 15, thoughtsTokenCount: 2, totalTokenCount: 17 },
      { input: 15, cacheRead: 0, output: 0, reasoning: 2 },
    ],
  ])("adapters Z23: %j is disjoint and adds up", (body, expected) => {
    const usage = fromUsageMetadata(body);
    expect(usage).toEqual({ ...expected, cacheWrite: 0, total: body.totalTokenCount });
    const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0, reasoning = 0 } = usage ?? {};
    expect(input + cacheRead + cacheWrite + output + reasoning).toBe(usage?.total);
  });

  it("field A16: field A17: counts repeated in every chunk are one set, the last is valid", async () => {
    const counts = (candidatesTokenCount: number): object => ({
      usageMetadata: {
        promptTokenCount: 18,
        candidatesTokenCount,
        totalTokenCount: 18 + candidatesTokenCount,
      },
    });
    const reply = await heard([
      { ...chunk([{ text: "a" }]), ...counts(10) },
      { ...chunk([{ text: "b" }]), usageMetadata: { trafficType: "ON_DEMAND" } },
      { ...chunk([{ text: "c" }], "STOP"), ...counts(80) },
    ]);
    expect(reply.usage).toMatchObject({ input: 18, output: 80, total: 98 });
  });

  it("has a price where the table has one", async () => {
    const usageMetadata = {
      promptTokenCount: 1_000_000,
      cachedContentTokenCount: 400_000,
      candidatesTokenCount: 100_000,
      thoughtsTokenCount: 100_000,
    };
    const { usage } = await heard([{ ...chunk([], "STOP"), usageMetadata }], { model: "gemini-3.8-flash" });
    expect(usage.costUsd).toBeCloseTo(0.6 * 0.75 + 0.4 * 0.075 + 0.2 * 3.75, 10);
  });
});
