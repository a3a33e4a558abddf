/** What is sent. */

import type { JsonObject, Message, ModelEvent, ModelRequest, Part } from "@openfunctions/core";
import { ConfigError } from "@openfunctions/core";
import { MODEL_POLICY, type WireTarget } from "@openfunctions/core/wire";
import { describe, expect, it } from "vitest";
import { MESSAGES, UNLISTED } from "./quirks.ts";
import { type BodyOptions, toMessagesBody } from "./to-messages.ts";

const targetOf = (model: string): WireTarget => {
  const { can, confirmed, reasoning } = MODEL_POLICY.find((row) => row.model === model) ?? UNLISTED;
  return { provider: "anthropic", model, can, confirmed, reasoning, quirks: MESSAGES };
};

const MODELS = {
  haiku: "claude-haiku-5-5",
  sonnet: "claude-sonnet-5-5",
  opus: "claude-opus-5-5",
  other: "m",
} as const;

interface Sent {
  readonly body: JsonObject;
  readonly codes: readonly string[];
}

function send(
  request: ModelRequest,
  model: keyof typeof MODELS = "other",
  more: Partial<BodyOptions> = {},
): Sent {
  const { body, warnings } = toMessagesBody(request, {
    target: targetOf(MODELS[model]),
    maxOutputTokens: 999,
    ...more,
  });
  return {
    body,
    codes: warnings.flatMap((event: ModelEvent) => (event.type === "warning" ? [event.code] : [])),
  };
}

const hi: ModelRequest = { messages: [{ role: "user", content: "hi" }] };
const add = {
  name: "add",
  description: "Adds numbers.",
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
} as const;
const noop = {
  name: "noop",
  description: "Nothing.",
  inputSchema: { type: "object", properties: {} },
} as const;
const history = (messages: readonly Message[], more: Partial<BodyOptions> = {}): unknown =>
  send({ messages }, "other", more).body["messages"];
const said = (content: readonly Part[], more: Partial<BodyOptions> = {}): unknown =>
  history([{ role: "assistant", content }], more);
const own = (data: JsonObject, model: string = "m"): Part => ({
  type: "provider",
  provider: "anthropic",
  model,
  data,
});
const think = own({ type: "thinking", thinking: "Hm\u2028", signature: "sig==" });

describe("the body", () => {
  it("names every field it sends, what stays the same first", () => {
    const { body, codes } = send(
      {
        messages: [{ role: "user", content: "hi" }],
        system: "Be brief.",
        tools: [add, noop],
        toolChoice: "auto",
        parallelToolCalls: false,
        reasoning: "high",
        maxOutputTokens: 9,
        sampling: { stop: ["END"] },
      },
      "sonnet",
    );
    expect(body).toMatchInlineSnapshot(`
      {
        "cache_control": {
          "type": "ephemeral",
        },
        "max_tokens": 9,
        "messages": [
          {
            "content": [
              {
                "text": "hi",
                "type": "text",
              },
            ],
            "role": "user",
          },
        ],
        "model": "claude-sonnet-5-5",
        "output_config": {
          "effort": "high",
        },
        "stop_sequences": [
          "END",
        ],
        "stream": true,
        "system": [
          {
            "cache_control": {
              "type": "ephemeral",
            },
            "text": "Be brief.",
            "type": "text",
          },
        ],
        "thinking": {
          "display": "summarized",
          "type": "adaptive",
        },
        "tool_choice": {
          "disable_parallel_tool_use": true,
          "type": "auto",
        },
        "tools": [
          {
            "description": "Adds numbers.",
            "input_schema": {
              "properties": {
                "a": {
                  "type": "number",
                },
              },
              "required": [
                "a",
              ],
              "type": "object",
            },
            "name": "add",
          },
          {
            "cache_control": {
              "type": "ephemeral",
            },
            "description": "Nothing.",
            "input_schema": {
              "additionalProperties": false,
              "properties": {},
              "type": "object",
            },
            "name": "noop",
          },
        ],
      }
    `);
    expect(Object.keys(body).slice(0, 6)).toEqual([
      "model",
      "stream",
      "cache_control",
      "tools",
      "system",
      "messages",
    ]);
    expect(codes).toEqual([]);
  });

  it("adapters F4: zero tools and a tool choice give neither tools nor tool_choice", () => {
    for (const toolChoice of ["auto", "required", "none"] as const) {
      const { body } = send({ ...hi, tools: [], toolChoice, parallelToolCalls: false });
      expect(body).not.toHaveProperty("tools");
      expect(body).not.toHaveProperty("tool_choice");
    }
    expect(() => send({ ...hi, toolChoice: { name: "add" } })).toThrow(ConfigError);
  });

  it("always states a largest answer", () => {
    expect(send(hi).body["max_tokens"]).toBe(999);
    expect(send({ ...hi, maxOutputTokens: 5 }).body["max_tokens"]).toBe(5);
  });

  it("turns parallel calls off only where the request asks", () => {
    const choice = (more: Partial<ModelRequest>): unknown =>
      send({ ...hi, tools: [add], ...more }).body["tool_choice"];
    expect(choice({})).toBeUndefined();
    expect(choice({ parallelToolCalls: true, toolChoice: "auto" })).toEqual({ type: "auto" });
    expect(choice({ parallelToolCalls: false })).toEqual({ type: "auto", disable_parallel_tool_use: true });
    expect(choice({ parallelToolCalls: false, toolChoice: "none" })).toEqual({ type: "none" });
    expect(choice({ parallelToolCalls: false, toolChoice: { name: "add" } })).toEqual({
      type: "tool",
      name: "add",
      disable_parallel_tool_use: true,
    });
    expect(choice({ toolChoice: "required" })).toEqual({ type: "any" });
  });

  it("has at most four cache marks: the last tool, the instructions, and the whole request", () => {
    const { body } = send({ ...hi, system: "S", tools: [add, noop] });
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(3);
    expect(body).toMatchObject({
      cache_control: { type: "ephemeral" },
      tools: [{ name: "add" }, { name: "noop", cache_control: { type: "ephemeral" } }],
      system: [{ type: "text", text: "S", cache_control: { type: "ephemeral" } }],
    });
    expect(JSON.stringify(body["messages"])).not.toContain("cache_control");
  });

  it("keeps every byte of the prefix over many turns, whatever is added", () => {
    const turns: Message[] = Array.from({ length: 60 }, (_, index): Message[] => [
      { role: "user", content: `question ${index}` },
      {
        role: "assistant",
        content: [
          think,
          { type: "text", text: "Let me." },
          { type: "tool_call", callId: `c${index}`, name: "add", args: { a: index } },
        ],
      },
      {
        role: "tool",
        content: [{ type: "tool_result", callId: `c${index}`, name: "add", result: `${index}` }],
      },
      ...(index % 3 === 0 ? [{ role: "user" as const, content: "by the way" }] : []),
      { role: "assistant", content: "Done." },
    ]).flat();
    let before: string | undefined;
    for (let length = 1; length <= turns.length; length += 1) {
      const { body } = send({ messages: turns.slice(0, length), system: "S", tools: [add] }, "sonnet");
      const bytes = JSON.stringify(body);
      // A turn may still grow, so its closing brackets are not yet settled.
      if (before !== undefined) expect(bytes.startsWith(before), `turn ${length}`).toBe(true);
      before = bytes.slice(0, bytes.indexOf(',"max_tokens"')).replace(/\]\}\]$/, "");
    }
  });
});

describe("thinking and effort", () => {
  it("asks for adaptive thinking with the nearest effort, and its text", () => {
    expect(send({ ...hi, reasoning: "max" }, "opus").body).toMatchObject({
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "max" },
    });
    expect(send({ ...hi, reasoning: "minimal" }, "opus")).toMatchObject({
      body: { output_config: { effort: "low" } },
      codes: ["reasoning_changed"],
    });
    expect(send(hi, "opus").body).not.toHaveProperty("thinking");
  });

  it("turns thinking off in the model's own word, and lowers it where it cannot be turned off", () => {
    expect(send({ ...hi, reasoning: "none" }, "haiku").body["thinking"]).toEqual({ type: "disabled" });
    expect(send({ ...hi, reasoning: "none" }, "sonnet").body["thinking"]).toEqual({ type: "between_tools" });
    expect(send({ ...hi, reasoning: "none" }, "opus")).toMatchObject({
      body: { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
      codes: ["reasoning_changed"],
    });
  });

  it("drops thinking for a forced choice, also what the model does by itself, with a warning", () => {
    const forced = { ...hi, tools: [add], toolChoice: "required" } as const;
    expect(send({ ...forced, reasoning: "high" }, "haiku")).toMatchObject({
      body: { thinking: { type: "disabled" }, tool_choice: { type: "any" } },
      codes: ["reasoning_left_out"],
    });
    expect(send({ ...forced, reasoning: "high" }, "haiku").body).not.toHaveProperty("output_config");
    expect(send(forced, "haiku")).toMatchObject({
      body: { thinking: { type: "disabled" } },
      codes: ["reasoning_left_out"],
    });
    expect(send({ ...hi, tools: [add] }, "haiku").codes).toEqual([]);
  });

  it("only offers the tools where a model cannot be made to call one", () => {
    const { body, codes } = send({ ...hi, tools: [add], toolChoice: { name: "add" } }, "sonnet");
    expect([body["tool_choice"], codes]).toEqual([{ type: "auto" }, ["forced_choice_left_out"]]);
  });

  it("leaves sampling out where it is refused, and takes it elsewhere", () => {
    const sampling = { temperature: 0.2, topP: 0.9, seed: 1, stop: ["x"] };
    const refused = send({ ...hi, sampling, reasoning: "none" }, "haiku");
    expect(refused.body).not.toHaveProperty("temperature");
    expect([refused.body["stop_sequences"], refused.codes]).toEqual([["x"], ["sampling_left_out"]]);
    expect(send({ ...hi, sampling: { temperature: 0.2 } }).body["temperature"]).toBe(0.2);
  });

  it("asks for an answer in JSON beside the effort, in the dialect of answers", () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer", minimum: 1 }, tags: { type: "array", items: { type: "string" } } },
      required: ["n"],
    } as const;
    const { body } = send(
      { ...hi, reasoning: "low", responseFormat: { type: "json_schema", name: "x", schema } },
      "sonnet",
    );
    expect(body["output_config"]).toEqual({
      effort: "low",
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: {
            n: { type: "integer", description: "minimum: 1" },
            tags: { type: "array", items: { type: "string" } },
          },
          required: ["n"],
          additionalProperties: false,
        },
      },
    });
  });
});

describe("the history", () => {
  it("is one turn for neighbours of one role, results first", () => {
    const call = (callId: string): Part => ({ type: "tool_call", callId, name: "add", args: { a: 1 } });
    const result = (callId: string, given: string): Part => ({
      type: "tool_result",
      callId,
      name: "add",
      result: given,
    });
    expect(
      history([
        { role: "user", content: "one" },
        { role: "user", content: "two" },
        { role: "assistant", content: [{ type: "text", text: "Both." }, call("c1"), call("c2")] },
        { role: "tool", content: [result("c1", "1"), { ...result("c2", "no"), isError: true } as Part] },
        { role: "user", content: "and?" },
      ]),
    ).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "two" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Both." },
          { type: "tool_use", id: "c1", name: "add", input: { a: 1 } },
          { type: "tool_use", id: "c2", name: "add", input: { a: 1 } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: "1" },
          { type: "tool_result", tool_use_id: "c2", content: "no", is_error: true },
          { type: "text", text: "and?" },
        ],
      },
    ]);
  });

  it("holds images and documents, also inside results", () => {
    const image: Part = { type: "image", mediaType: "image/png", data: "AAAA" };
    const pdf: Part = { type: "file", mediaType: "application/pdf", name: "a.pdf", data: "BBBB" };
    const note: Part = {
      type: "file",
      mediaType: "text/markdown",
      data: Buffer.from("# é").toString("base64"),
    };
    const link: Part = { type: "image", mediaType: "image/png", url: "https://x.test/y.png" };
    const blocks = [
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
      {
        type: "document",
        title: "a.pdf",
        source: { type: "base64", media_type: "application/pdf", data: "BBBB" },
      },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "# é" } },
      { type: "image", source: { type: "url", url: "https://x.test/y.png" } },
    ];
    expect(history([{ role: "user", content: [image, pdf, note, link] }])).toEqual([
      { role: "user", content: blocks },
    ]);
    const result = {
      type: "tool_result",
      callId: "c",
      name: "shot",
      result: [{ type: "text", text: "t" }, image, pdf],
    } as const;
    expect(history([{ role: "tool", content: [result as Part] }])).toEqual([
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "c",
            content: [{ type: "text", text: "t" }, blocks[0], blocks[1]],
          },
        ],
      },
    ]);
  });

  it("leaves out what Claude does not read, and says so", () => {
    const odd: Part[] = [
      { type: "image", mediaType: "image/svg+xml", data: "AA" },
      { type: "file", mediaType: "application/zip", data: "AA" },
      { type: "text", text: "hi" },
    ];
    const { body, codes } = send({ messages: [{ role: "user", content: odd }] });
    expect([body["messages"], codes]).toEqual([
      [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      ["content_left_out"],
    ]);
  });

  it("leaves out text without anything to read, and turns without anything", () => {
    expect(
      history([
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: [
            { type: "text", text: " \n" },
            { type: "tool_call", callId: "c", name: "noop", args: {} },
          ],
        },
        { role: "tool", content: [{ type: "tool_result", callId: "c", name: "noop", result: "" }] },
        { role: "assistant", content: "" },
      ]),
    ).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "noop", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c" }] },
    ]);
  });

  it("field B7: keeps ids of other providers legal and apart", () => {
    const ids = ["functions.get:0", "functions_get_0", "a.b", "a_b", "a|b", "北"];
    const turns = said(ids.map((callId) => ({ type: "tool_call", callId, name: "noop", args: {} })));
    const sent = [...JSON.stringify(turns).matchAll(/"id":"([^"]*)"/g)].map(([, id]) => id ?? "");
    expect(sent.every((id) => /^[a-zA-Z0-9_-]+$/.test(id))).toBe(true);
    expect(new Set(sent).size).toBe(ids.length);
    expect(sent).toContain("functions_get_0");
  });
});

describe("opaque parts", () => {
  const call: Part = { type: "tool_call", callId: "c", name: "add", args: { a: 1 } };
  const use = { type: "tool_use", id: "c", name: "add", input: { a: 1 } };

  it("go back as they came, in their place, and reasoning text does not", () => {
    const redacted = own({ type: "redacted_thinking", data: "\u2028é" });
    expect(
      said([{ type: "reasoning", text: "Hm" }, think, redacted, { type: "text", text: "I add." }, call]),
    ).toEqual([
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm\u2028", signature: "sig==" },
          { type: "redacted_thinking", data: "\u2028é" },
          { type: "text", text: "I add." },
          use,
        ],
      },
    ]);
  });

  it("of another model or provider stay behind, with a warning", () => {
    const foreign = [
      own({ type: "thinking", thinking: "x", signature: "s" }, "another"),
      { ...think, provider: "openai" } as Part,
    ];
    const { body, codes } = send({ messages: [{ role: "assistant", content: [...foreign, call] }] });
    expect([body["messages"], codes]).toEqual([
      [{ role: "assistant", content: [use] }],
      ["provider_parts_left_out"],
    ]);
  });

  it("field A22: thinking leaves with the call it led to", () => {
    const { body, codes } = send({
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: [think, think] },
        { role: "user", content: "b" },
      ],
    });
    expect(body["messages"]).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
    ]);
    expect(codes).toEqual(["reasoning_items_left_out"]);
  });

  it("hold citations, which go back with their text and not with another", () => {
    const cited = { type: "text", text: "It is so", citations: [{ encrypted_index: "e" }] };
    expect(said([{ type: "text", text: "Well. It is so" }, own(cited), { type: "text", text: "." }])).toEqual(
      [
        {
          role: "assistant",
          content: [{ type: "text", text: "Well. " }, cited, { type: "text", text: "." }],
        },
      ],
    );
    expect(said([{ type: "text", text: "It is so" }, own(cited)])).toEqual([
      { role: "assistant", content: [cited] },
    ]);
    expect(said([{ type: "text", text: "Edited." }, own(cited)])).toEqual([
      { role: "assistant", content: [{ type: "text", text: "Edited." }] },
    ]);
    expect(said([call, own(cited)])).toEqual([{ role: "assistant", content: [use] }]);
  });

  it("are left out where they are only marks", () => {
    expect(said([call, own({ type: "openfunctions.pending" })])).toEqual([
      { role: "assistant", content: [use] },
    ]);
  });

  it("can be sent without thinking, when the API refused it", () => {
    const server = own({ type: "server_tool_use", id: "s", name: "web_search", input: {} });
    expect(said([think, server, call], { withoutThinking: true })).toEqual([
      {
        role: "assistant",
        content: [{ type: "server_tool_use", id: "s", name: "web_search", input: {} }, use],
      },
    ]);
  });

  it("of a paused turn are its last turn, with the container it ran in", () => {
    const turn = {
      blocks: [{ type: "server_tool_use", id: "s", name: "code_execution", input: {} }],
      container: "c_1",
    };
    expect(send(hi, "other", { turn }).body).toMatchObject({
      messages: [{ role: "user" }, { role: "assistant", content: turn.blocks }],
      container: "c_1",
    });
  });
});
