/** The Responses codec: bodies out, events in. */

import { describe, expect, it } from "vitest";
import type { ModelEvent, ModelReply, ModelRequest } from "./adapter.ts";
import { collect } from "./collect.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Message } from "./message.ts";
import { UNKNOWN_ABILITIES } from "./model-policy.ts";
import { createRedactor } from "./redactor.ts";
import { toResponsesBody } from "./responses-request.ts";
import { createResponsesDecoder, type DecoderOptions } from "./responses-stream.ts";
import type { WireTarget } from "./wire-request.ts";

const able = {
  parallelCalls: true,
  forcedChoice: true,
  forcedChoiceWithReasoning: true,
  jsonSchema: true,
  jsonSchemaWithTools: true,
  images: true,
};
const target: WireTarget = {
  provider: "openai",
  model: "m",
  can: able,
  confirmed: true,
  reasoning: { levels: ["low", "medium", "high"], default: "medium" },
  quirks: { dialect: "openai-strict", samplingWithReasoning: false, seed: false, stop: false },
};
const tool = {
  name: "add",
  description: "Adds numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a"],
  },
} as const;
const hi: ModelRequest = { messages: [{ role: "user", content: "hi" }] };

function decode(events: readonly object[], options: Partial<DecoderOptions> = {}): Promise<ModelReply> {
  const decoder = createResponsesDecoder({
    model: "m",
    failures: { provider: "openai", redactor: createRedactor(), now: () => 0 },
    ...options,
  });
  const out: ModelEvent[] = [];
  for (const event of events) if (!decoder.finished) decoder.push(event, out);
  decoder.end(out);
  return collect(
    (async function* () {
      yield* out;
    })(),
  );
}

const codes = (warnings: readonly ModelEvent[]): string[] =>
  warnings.flatMap((event) => (event.type === "warning" ? [event.code] : []));

describe("toResponsesBody", () => {
  it("names every field it sends", () => {
    const { body, warnings } = toResponsesBody(
      {
        ...hi,
        system: "Be brief.",
        tools: [tool],
        toolChoice: { name: "add" },
        parallelToolCalls: false,
        reasoning: "max",
        maxOutputTokens: 9,
      },
      target,
    );
    expect(body).toMatchInlineSnapshot(`
      {
        "include": [
          "reasoning.encrypted_content",
        ],
        "input": [
          {
            "content": "hi",
            "role": "user",
          },
        ],
        "instructions": "Be brief.",
        "max_output_tokens": 9,
        "model": "m",
        "parallel_tool_calls": false,
        "reasoning": {
          "effort": "high",
        },
        "store": false,
        "stream": true,
        "tool_choice": {
          "name": "add",
          "type": "function",
        },
        "tools": [
          {
            "description": "Adds numbers.",
            "name": "add",
            "parameters": {
              "additionalProperties": false,
              "properties": {
                "a": {
                  "type": "number",
                },
                "b": {
                  "type": [
                    "number",
                    "null",
                  ],
                },
              },
              "required": [
                "a",
                "b",
              ],
              "type": "object",
            },
            "strict": true,
            "type": "function",
          },
        ],
      }
    `);
    expect(codes(warnings)).toEqual(["reasoning_changed"]);
  });

  it("writes parallel calls and their results, images and files", () => {
    const messages: Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", mediaType: "image/png", data: "AAAA" },
          { type: "file", mediaType: "application/pdf", name: "a.pdf", data: "BBBB" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I will." },
          { type: "tool_call", callId: "c1", name: "add", args: { a: 1 } },
          { type: "tool_call", callId: "c2", name: "add", args: {} },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool_result", callId: "c1", name: "add", result: "3" },
          {
            type: "tool_result",
            callId: "c2",
            name: "add",
            result: [
              { type: "text", text: "t" },
              { type: "image", mediaType: "image/png", url: "https://x/y.png" },
            ],
          },
        ],
      },
    ];
    expect(toResponsesBody({ messages }, target).body["input"]).toEqual([
      {
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,BBBB" },
        ],
      },
      { role: "assistant", content: "I will." },
      { type: "function_call", call_id: "c1", name: "add", arguments: '{"a":1}' },
      { type: "function_call", call_id: "c2", name: "add", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "3" },
      {
        type: "function_call_output",
        call_id: "c2",
        output: [
          { type: "input_text", text: "t" },
          { type: "input_image", image_url: "https://x/y.png", detail: "auto" },
        ],
      },
    ]);
  });

  it("adapters Z19: sends a tool that strict mode cannot say with strict false", () => {
    const loose = {
      ...tool,
      inputSchema: { type: "object", properties: {}, patternProperties: { "^x": { type: "string" } } },
    } as const;
    expect(toResponsesBody({ ...hi, tools: [loose] }, target).body["tools"]).toMatchObject([
      { strict: false },
    ]);
  });

  it("leaves out what the model cannot take, with warnings", () => {
    const { body, warnings } = toResponsesBody(
      { ...hi, sampling: { temperature: 0.5, topP: 1, seed: 1, stop: ["x"] } },
      target,
    );
    expect(body).not.toHaveProperty("temperature");
    expect(warnings).toMatchObject([
      { code: "sampling_left_out", detail: expect.stringContaining("temperature, topP, seed, stop") },
    ]);
    const off = toResponsesBody(
      { ...hi, sampling: { temperature: 0.5 }, reasoning: "none" },
      { ...target, reasoning: { levels: ["none", "low"], default: "low" } },
    );
    expect(off.body).toMatchObject({ temperature: 0.5, reasoning: { effort: "none" } });
    const forced = toResponsesBody(
      { ...hi, tools: [tool], toolChoice: "required" },
      { ...target, can: { ...able, forcedChoice: false } },
    );
    expect([forced.body["tool_choice"], ...codes(forced.warnings)]).toEqual([
      "auto",
      "forced_choice_left_out",
    ]);
    const format = {
      type: "json_schema",
      name: "x",
      schema: { type: "object", properties: {}, additionalProperties: false },
    } as const;
    const both = toResponsesBody(
      { ...hi, tools: [tool], responseFormat: format },
      { ...target, can: { ...able, jsonSchemaWithTools: false } },
    );
    expect([both.body["text"], ...codes(both.warnings)]).toEqual([undefined, "format_left_out"]);
  });

  it("refuses what cannot work before anything is sent", () => {
    const image: ModelRequest = {
      messages: [{ role: "user", content: [{ type: "image", mediaType: "image/png", data: "A" }] }],
    };
    expect(() => toResponsesBody(image, { ...target, can: { ...able, images: false } })).toThrow(
      "does not take images",
    );
    expect(() => toResponsesBody({ ...hi, tools: [tool], toolChoice: { name: "other" } }, target)).toThrow(
      'names "other"',
    );
    const unknown = { ...target, can: UNKNOWN_ABILITIES, confirmed: false, reasoning: "none" } as const;
    const format = { type: "json_schema", name: "x", schema: { type: "object", properties: {} } } as const;
    expect(codes(toResponsesBody({ ...hi, responseFormat: format }, unknown).warnings)).toEqual([
      "ability_unconfirmed",
    ]);
  });

  it("asks for no encrypted reasoning of a model said not to reason", () => {
    const plain = { ...target, reasoning: "none", confirmed: false } as const;
    expect(toResponsesBody({ ...hi, reasoning: "none" }, plain).body).not.toHaveProperty("include");
    expect(toResponsesBody(hi, plain).body).toHaveProperty("include");
  });

  it("sends a strict format only where the answer needs no way back", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    } as const;
    const send = (given: object): Json | undefined =>
      toResponsesBody(
        { ...hi, responseFormat: { type: "json_schema", name: "x", schema: { ...schema, ...given } } },
        target,
      ).body["text"];
    expect(send({})).toMatchObject({ format: { strict: true } });
    expect(send({ required: [] })).toMatchObject({
      format: { strict: false, schema: { required: [], properties: { a: { type: "string" } } } },
    });
  });
});

const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "é\u2028x" };
const message = (text: string, more: object = {}): JsonObject => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
  ...more,
});
const done = (item: object, output_index: number): object => ({
  type: "response.output_item.done",
  output_index,
  item,
});
const completed = (more: object = {}): object => ({
  type: "response.completed",
  response: { status: "completed", output: [], ...more },
});
const back = (content: Message["content"]): Json | undefined =>
  toResponsesBody({ messages: [{ role: "assistant", content }] }, target).body["input"];

describe("createResponsesDecoder", () => {
  it("adapters A4: keeps a message before a call as preamble", async () => {
    const reply = await decode([
      done(message("First."), 0),
      done({ type: "function_call", call_id: "c", name: "add", arguments: "{}" }, 1),
      completed(),
    ]);
    expect([reply.text, reply.toolCall?.callId, reply.finishReason]).toEqual(["First.", "c", "tool_calls"]);
  });

  it("adapters A14: joins two messages in order and keeps their phases", async () => {
    const reply = await decode([
      done(message("One. ", { phase: "commentary" }), 0),
      done(message("Two.", { id: "msg_2", phase: "final_answer" }), 1),
      completed(),
    ]);
    expect(reply.text).toBe("One. Two.");
    expect(back(reply.parts)).toEqual([
      { role: "assistant", content: "One. ", phase: "commentary" },
      { role: "assistant", content: "Two.", phase: "final_answer" },
    ]);
  });

  it("field A22: sends reasoning back before its message, with the message's id", async () => {
    const reply = await decode([done(reasoning, 0), done(message("Answer."), 1), completed()]);
    expect(back(reply.parts)).toEqual([reasoning, message("Answer.")]);
  });

  it("field A22: reasoning leaves with an edited or dropped answer", async () => {
    const reply = await decode([done(reasoning, 0), done(message("Answer."), 1), completed()]);
    expect(
      back(reply.parts.map((part) => (part.type === "text" ? { ...part, text: "Edited." } : part))),
    ).toEqual([{ role: "assistant", content: "Edited." }]);
    expect(back(reply.parts.filter((part) => part.type !== "text"))).toEqual([]);
    expect(back(reply.parts.filter((part) => part.type !== "provider" || part.data === reasoning))).toEqual([
      { role: "assistant", content: "Answer." },
    ]);
  });

  it("field A22: reasoning leaves with an edited or dropped call, and stays with one whose keys moved", async () => {
    const calls = [
      done(reasoning, 0),
      done({ type: "function_call", call_id: "c1", name: "add", arguments: '{"a":1,"b":2}' }, 1),
    ];
    const more = [
      done({ ...reasoning, id: "rs_2" }, 2),
      done({ type: "function_call", call_id: "c2", name: "add", arguments: "{}" }, 3),
      completed(),
    ];
    const { parts } = await decode([...calls, ...more]);
    const second = [
      { ...reasoning, id: "rs_2" },
      { type: "function_call", call_id: "c2", name: "add", arguments: "{}" },
    ];
    expect(
      back(
        parts.map((part) =>
          part.type === "tool_call" && part.callId === "c1" ? { ...part, args: { b: 2, a: 1 } } : part,
        ),
      ),
    ).toEqual([
      reasoning,
      { type: "function_call", call_id: "c1", name: "add", arguments: '{"b":2,"a":1}' },
      ...second,
    ]);
    expect(
      back(
        parts.map((part) =>
          part.type === "tool_call" && part.callId === "c1" ? { ...part, args: { a: 9 } } : part,
        ),
      ),
    ).toEqual([{ type: "function_call", call_id: "c1", name: "add", arguments: '{"a":9}' }, ...second]);
    expect(back(parts.filter((part) => part.type !== "tool_call" || part.callId !== "c1"))).toEqual(second);
  });

  it("keeps hand-made history: reasoning before a call needs no mark", () => {
    const own = { type: "provider", provider: "openai", model: "m", data: reasoning } as const;
    expect(back([own, { type: "tool_call", callId: "c", name: "add", args: {} }])).toEqual([
      reasoning,
      { type: "function_call", call_id: "c", name: "add", arguments: "{}" },
    ]);
    expect(
      back([
        { ...own, model: "other" },
        { type: "text", text: "x" },
      ]),
    ).toEqual([{ role: "assistant", content: "x" }]);
  });

  it("gives items the provider ran as opaque parts, and sends them back as they came", async () => {
    const search = {
      type: "web_search_call",
      id: "ws_1",
      status: "completed",
      action: { type: "search", query: "é" },
    };
    const reply = await decode([done(search, 0), done(message("Found."), 1), completed()]);
    expect(reply.parts[0]).toMatchObject({ type: "provider", executor: "provider", data: search });
    expect(back(reply.parts)).toEqual([search, { role: "assistant", content: "Found." }]);
  });

  it("restores arguments that strict mode rewrote", async () => {
    const { plan } = toResponsesBody({ ...hi, tools: [tool] }, target);
    const reply = await decode(
      [
        done({ type: "function_call", call_id: "c", name: "add", arguments: '{"a":1,"b":null}' }, 0),
        completed(),
      ],
      {
        restore: (name, args) => plan.tools.find((planned) => planned.name === name)?.restore(args) ?? args,
      },
    );
    expect(reply.toolCall?.args).toEqual({ a: 1 });
  });

  it("reads incomplete, failed and error", async () => {
    const incomplete = (reason: string): object => ({
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason }, output: [] },
    });
    expect((await decode([incomplete("max_output_tokens")])).finishReason).toBe("length");
    expect((await decode([incomplete("content_filter")])).finishReason).toBe("content_filter");
    await expect(async () =>
      decode([
        { type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "slow" } } },
      ]),
    ).rejects.toMatchObject({ kind: "rate_limit", retryable: true });
    await expect(async () =>
      decode([{ type: "error", code: "server_error", message: "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaa broke" }]),
    ).rejects.toMatchObject({ kind: "overloaded", message: expect.not.stringContaining("sk-proj") });
    await expect(async () =>
      decode([{ type: "error", error: { code: "invalid_prompt", message: "no" } }]),
    ).rejects.toMatchObject({ kind: "invalid_request", retryable: false });
  });

  it("marks a call left open at the end as partial", async () => {
    const open = [
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", call_id: "c", name: "add" },
      },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"a":' },
      {
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      },
    ];
    expect(await decode(open)).toMatchObject({
      finishReason: "length",
      toolCalls: [
        { callId: "c", args: {}, argsText: '{"a":', argsError: expect.stringContaining("cut off") },
      ],
    });
  });

  it("reads a body that was not streamed", async () => {
    const body = {
      object: "response",
      id: "r",
      model: "mm",
      status: "completed",
      output: [
        reasoning,
        message("Hi."),
        { type: "function_call", call_id: "c", name: "add", arguments: "{}" },
      ],
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    };
    expect(await decode([body])).toMatchObject({
      text: "Hi.",
      reportedModel: "mm",
      finishReason: "tool_calls",
      usage: { total: 5 },
    });
  });

  it("separates the parts of a reasoning summary", async () => {
    const delta = (text: string): object => ({ type: "response.reasoning_summary_text.delta", delta: text });
    const part = (summary_index: number): object => ({
      type: "response.reasoning_summary_part.added",
      summary_index,
    });
    const reply = await decode([part(0), delta("a"), part(1), delta("b"), completed()]);
    expect(reply.parts).toEqual([{ type: "reasoning", text: "a\n\nb" }]);
  });
});
