/** What reaches the server, through the real SDK: history, tools, choices, formats. */

import type { Message, ModelReply, ModelRequest, Part, ToolResultPart } from "@openfunctions/core";
import { geminiFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { createGeminiAdapter } from "./adapter.ts";
import { chunk, CLOCK, heard, HI, KEY, sent, WEATHER } from "./__fixtures__/ask.ts";

const call = (callId: string, name = "get_weather"): Part => ({
  type: "tool_call",
  callId,
  name,
  args: { city: callId },
});
const result = (callId: string, text: string, more: Partial<ToolResultPart> = {}): ToolResultPart => ({
  type: "tool_result",
  callId,
  name: "get_weather",
  result: text,
  ...more,
});
const turn = (calls: readonly Part[], results: readonly Part[]): Message[] => [
  { role: "user", content: "go" },
  { role: "assistant", content: calls },
  { role: "tool", content: results },
];

async function contentsOf(messages: readonly Message[], options = {}): Promise<unknown[]> {
  const { body } = await sent({ messages, tools: [WEATHER] }, options);
  return Object(body).contents;
}

async function responseOf(text: string, more: Partial<ToolResultPart> = {}): Promise<unknown> {
  const contents = await contentsOf(turn([call("a")], [result("a", text, more)]));
  return Object(contents[2]).parts[0].functionResponse.response;
}

describe("the body", () => {
  it("names its fields: instructions, tools, choice, settings, history", async () => {
    const request: ModelRequest = {
      system: "Be brief.",
      messages: [
        ...turn(
          [{ type: "text", text: "Let me look." }, call("a"), call("b")],
          [result("a", "sunny"), result("b", "no such city", { isError: true })],
        ),
        { role: "user", content: "And now?" },
      ],
      tools: [WEATHER, CLOCK],
      toolChoice: "auto",
      maxOutputTokens: 99,
      sampling: { temperature: 0.5, topP: 0.9, seed: 7, stop: ["END"] },
    };
    expect((await sent(request)).body).toMatchInlineSnapshot(`
      {
        "contents": [
          {
            "parts": [
              {
                "text": "go",
              },
            ],
            "role": "user",
          },
          {
            "parts": [
              {
                "text": "Let me look.",
              },
              {
                "functionCall": {
                  "args": {
                    "city": "a",
                  },
                  "id": "a",
                  "name": "get_weather",
                },
              },
              {
                "functionCall": {
                  "args": {
                    "city": "b",
                  },
                  "id": "b",
                  "name": "get_weather",
                },
              },
            ],
            "role": "model",
          },
          {
            "parts": [
              {
                "functionResponse": {
                  "id": "a",
                  "name": "get_weather",
                  "response": {
                    "result": "sunny",
                  },
                },
              },
              {
                "functionResponse": {
                  "id": "b",
                  "name": "get_weather",
                  "response": {
                    "error": "no such city",
                  },
                },
              },
            ],
            "role": "user",
          },
          {
            "parts": [
              {
                "text": "And now?",
              },
            ],
            "role": "user",
          },
        ],
        "generationConfig": {
          "maxOutputTokens": 99,
          "seed": 7,
          "stopSequences": [
            "END",
          ],
          "temperature": 0.5,
          "topP": 0.9,
        },
        "systemInstruction": {
          "parts": [
            {
              "text": "Be brief.",
            },
          ],
        },
        "toolConfig": {
          "functionCallingConfig": {
            "mode": "AUTO",
          },
        },
        "tools": [
          {
            "functionDeclarations": [
              {
                "description": "The weather of a city.",
                "name": "get_weather",
                "parametersJsonSchema": {
                  "properties": {
                    "city": {
                      "type": "string",
                    },
                  },
                  "required": [
                    "city",
                  ],
                  "type": "object",
                },
              },
              {
                "description": "The time now.",
                "name": "get_time",
              },
            ],
          },
        ],
      }
    `);
  });

  it("adapters F2: a tool without parameters has no field for them, and no tools are no field at all", async () => {
    const { body } = await sent({ ...HI, tools: [CLOCK] });
    expect(Object(body).tools).toEqual([
      { functionDeclarations: [{ name: "get_time", description: "The time now." }] },
    ]);
    const { request } = await sent({ ...HI, tools: [], toolChoice: "auto" });
    expect(request.text).not.toMatch(/tools|toolConfig/);
  });

  it.each([
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [{ name: "get_time" }, { mode: "ANY", allowedFunctionNames: ["get_time"] }],
  ] as const)("adapters A16: tool choice %j", async (toolChoice, functionCallingConfig) => {
    const { body } = await sent({ ...HI, tools: [WEATHER, CLOCK], toolChoice });
    expect(Object(body).toolConfig).toEqual({ functionCallingConfig });
  });

  it("sends parameters as JSON Schema, and gives the original's arguments back", async () => {
    const inputSchema = {
      type: "object",
      properties: { n: { type: "integer", exclusiveMinimum: 0 } },
    } as const;
    const { body } = await sent({ ...HI, tools: [{ ...WEATHER, inputSchema }] });
    expect(Object(body).tools[0].functionDeclarations[0].parametersJsonSchema).toEqual({
      type: "object",
      properties: { n: { type: "integer", minimum: 1 } },
    });
  });

  it("asks for an answer by schema, but not beside tools, where the model is known not to take both", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", exclusiveMinimum: 0 } } } as const;
    const responseFormat = { type: "json_schema", name: "answer", schema } as const;
    const model = "gemini-3.8-flash";
    const alone = await sent({ ...HI, responseFormat }, { model });
    expect(Object(alone.body).generationConfig).toEqual({
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object", properties: { n: { type: "integer", minimum: 1 } } },
    });
    const beside = await sent({ ...HI, responseFormat, tools: [WEATHER] }, { model });
    expect(beside.request.text).not.toContain("responseJsonSchema");
    expect(beside.reply.warnings.map(({ code }) => code)).toEqual(["format_left_out"]);
  });

  it.each([
    ["gemini-3.8-flash", "none", { thinkingLevel: "LOW", includeThoughts: true }, ["reasoning_changed"]],
    ["gemini-3.8-flash", "medium", { thinkingLevel: "MEDIUM", includeThoughts: true }, []],
    ["gemini-3.8-flash", "max", { thinkingLevel: "HIGH", includeThoughts: true }, ["reasoning_changed"]],
    ["unknown", "none", { thinkingBudget: 0 }, ["model_unconfirmed"]],
    ["unknown", "minimal", { thinkingLevel: "MINIMAL", includeThoughts: true }, ["model_unconfirmed"]],
    ["unknown", "max", { thinkingLevel: "HIGH", includeThoughts: true }, ["model_unconfirmed"]],
  ] as const)("%s: effort %s", async (model, reasoning, thinkingConfig, codes) => {
    const { body, reply } = await sent({ ...HI, reasoning }, { model });
    expect(Object(body).generationConfig).toEqual({ thinkingConfig });
    expect(reply.warnings.map(({ code }) => code)).toEqual(codes);
  });

  it("says that calls cannot be kept apart, and that an empty history is nothing to send", async () => {
    const { reply } = await sent({ ...HI, tools: [WEATHER], parallelToolCalls: false });
    expect(reply.warnings.map(({ code }) => code)).toContain("parallel_unchanged");
    await expect(sent({ messages: [] })).rejects.toMatchObject({ code: "unsupported" });
    await expect(sent({ messages: [{ role: "user", content: "" }] })).rejects.toMatchObject({
      code: "unsupported",
    });
  });
});

describe("results", () => {
  it("adapters A17: an array is wrapped into an object, beside the call it answers", async () => {
    const contents = await contentsOf(turn([call("a")], [result("a", "[1,2]")]));
    expect(contents.slice(1)).toEqual([
      { role: "model", parts: [{ functionCall: { id: "a", name: "get_weather", args: { city: "a" } } }] },
      {
        role: "user",
        parts: [{ functionResponse: { id: "a", name: "get_weather", response: { result: [1, 2] } } }],
      },
    ]);
  });

  it.each([
    ["plain text", { result: "plain text" }],
    ["", { result: "" }],
    ["null", { result: null }],
    ["7", { result: 7 }],
    ['{"a":[1]}', { a: [1] }],
    ['{"error":"x","a":1}', { result: { error: "x", a: 1 } }],
    ['{"output":"x","a":1}', { result: { output: "x", a: 1 } }],
    // Read and written again this would be another number, or other white space.
    ['{"id":12345678901234567890}', { result: '{"id":12345678901234567890}' }],
    ['{ "a": 1 }', { result: '{ "a": 1 }' }],
  ])("%j travels as %j", async (text, response) => {
    expect(await responseOf(text)).toEqual(response);
  });

  it.each(['{"$ref":"#/$defs/a"}', '{"a":[{"$ref":"#/x"}]}', '{"$defs":{}}'])(
    "adapters Z16: %s travels as text, since the API resolves references in a response",
    async (text) => {
      const response = await responseOf(text);
      expect(response).toEqual({ result: text });
      expect(refusedReferences(response)).toEqual([]);
      expect(refusedReferences(JSON.parse(text))).not.toEqual([]);
    },
  );

  it("a failed call's text is its error", async () => {
    expect(await responseOf("Error (not_found): no", { isError: true })).toEqual({
      error: "Error (not_found): no",
    });
  });

  it("of one turn are one content in call order, also from several messages, with images after them", async () => {
    const image = { type: "image", mediaType: "image/png", data: "AAAA" } as const;
    const shown = result("a", "", { result: [{ type: "text", text: "a map" }, image] });
    const [user, assistant] = turn([call("a"), call("b")], []);
    if (user === undefined || assistant === undefined) throw new Error("no turn");
    const messages: Message[] = [
      user,
      assistant,
      { role: "tool", content: [shown] },
      { role: "tool", content: [result("b", "sunny")] },
    ];
    expect((await contentsOf(messages)).slice(2)).toEqual([
      {
        role: "user",
        parts: [
          { functionResponse: { id: "a", name: "get_weather", response: { result: "a map" } } },
          { functionResponse: { id: "b", name: "get_weather", response: { result: "sunny" } } },
          { inlineData: { mimeType: "image/png", data: "AAAA" } },
        ],
      },
    ]);
  });

  it("images and files go inline or by address", async () => {
    const content: Part[] = [
      { type: "text", text: "Look." },
      { type: "image", mediaType: "image/png", data: "AAAA" },
      { type: "file", mediaType: "application/pdf", name: "a.pdf", url: "https://example.com/a.pdf" },
    ];
    expect(await contentsOf([{ role: "user", content }])).toEqual([
      {
        role: "user",
        parts: [
          { text: "Look." },
          { inlineData: { mimeType: "image/png", data: "AAAA" } },
          { fileData: { mimeType: "application/pdf", fileUri: "https://example.com/a.pdf" } },
        ],
      },
    ]);
  });
});

/** Stands in for the API's refusal: "The referenced name ... does not match to a display_name". */
function refusedReferences(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => [
    ...(key === "$ref" || key === "$defs" ? [key] : []),
    ...refusedReferences(below),
  ]);
}

describe("signatures", () => {
  const SIGNATURE = "EqUCCqICAb4+9vsh8Pd5taZVoPzSvjWWwzBrvhEQWBLCGa7IdY8=";
  const functionCall = { name: "get_weather", args: { city: "Oslo" }, id: "call_1" };

  /** The model's content in a second request, after `edit` was done to the first reply. */
  async function sentBack(
    chunks: readonly object[],
    edit: (parts: ModelReply["parts"]) => readonly Part[] = (parts) => parts,
  ): Promise<unknown> {
    const reply = await heard(chunks);
    const contents = await contentsOf([
      { role: "user", content: "go" },
      { role: "assistant", content: edit(reply.parts) },
      { role: "tool", content: reply.toolCalls.map(({ callId }) => result(callId, "sunny")) },
      { role: "user", content: "and?" },
    ]);
    return contents.find((content) => Object(content).role === "model");
  }

  it("adapters A19: of a call return on that call, and only there", async () => {
    const parts = [
      { functionCall, thoughtSignature: SIGNATURE },
      { functionCall: { ...functionCall, id: "call_2" } },
    ];
    expect(await sentBack([chunk([{ text: "Let me look." }]), chunk(parts, "STOP")])).toEqual({
      role: "model",
      parts: [{ text: "Let me look." }, ...parts],
    });
  });

  it("of a text return on the end of the text they came with, though the history has one text", async () => {
    const chunks = [
      chunk([{ text: "Hel" }]),
      chunk([{ text: "lo" }]),
      chunk([{ text: " wo", thoughtSignature: "s1" }]),
      chunk([{ text: "rld", thoughtSignature: "s2" }]),
      chunk([{ text: "", thoughtSignature: SIGNATURE }], "STOP"),
    ];
    const reply = await heard(chunks);
    expect(reply.text).toBe("Hello world");
    const parts = [
      { text: "Hello" },
      { text: " wo", thoughtSignature: "s1" },
      { text: "rld", thoughtSignature: "s2" },
      { text: "", thoughtSignature: SIGNATURE },
    ];
    expect(await sentBack(chunks)).toEqual({ role: "model", parts });
  });

  it("leave with a text that was edited, and with a call that was dropped, and this is said", async () => {
    const chunks = [
      chunk(
        [
          { text: "Hello", thoughtSignature: "s1" },
          { functionCall, thoughtSignature: SIGNATURE },
        ],
        "STOP",
      ),
    ];
    const edited = await sentBack(chunks, (parts) =>
      parts.map((part) => (part.type === "text" ? { type: "text", text: "Bye" } : part)),
    );
    expect(edited).toEqual({
      role: "model",
      parts: [{ text: "Bye" }, { functionCall, thoughtSignature: SIGNATURE }],
    });
    const { parts } = await heard(chunks);
    const messages: Message[] = [
      { role: "user", content: "go" },
      { role: "assistant", content: parts.filter((part) => part.type !== "tool_call") },
      { role: "user", content: "and?" },
    ];
    const { body, reply } = await sent({ messages });
    expect(JSON.stringify(body)).not.toContain(SIGNATURE);
    expect(reply.warnings.map(({ code }) => code)).toContain("signatures_left_out");
  });

  it("of signed thoughts and of tools that Google ran return as they came, with what else they hold", async () => {
    const parts = [
      { text: "Hm.", thought: true, thoughtSignature: "s0" },
      { executableCode: { language: "PYTHON", code: "print(1)", id: "x" }, thoughtSignature: "s1" },
      { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1\n", id: "x" } },
      { text: "One." },
    ];
    expect(await sentBack([chunk(parts, "STOP")])).toEqual({ role: "model", parts });
    const reply = await heard([chunk(parts, "STOP")]);
    expect(reply.parts.map((part) => [part.type, Reflect.get(part, "executor")])).toEqual([
      ["reasoning", undefined],
      ["provider", undefined],
      ["provider", "provider"],
      ["provider", "provider"],
      ["text", undefined],
    ]);
    expect(reply.text).toBe("One.");
  });

  it("of another model stay away; a model that thinks is told so on the first call of such a turn", async () => {
    const history = turn([call("a"), call("b")], [result("a", "x"), result("b", "y")]);
    const signatures = async (model: string): Promise<unknown[]> =>
      Object((await contentsOf(history, { model }))[1]).parts.map((part: object) =>
        Reflect.get(part, "thoughtSignature"),
      );
    expect(await signatures("gemini-3.8-flash")).toEqual(["skip_thought_signature_validator", undefined]);
    expect(await signatures("unknown")).toEqual([undefined, undefined]);
  });
});

describe("the prefix", () => {
  it("adapters Z22: stays the same, byte for byte, when a turn of another model is followed by more turns", async () => {
    const server = await startFakeModelServer(
      [1, 2].map(() => ({ blocks: geminiFixtures.stream({ text: ["ok"] }) })),
    );
    const adapter = createGeminiAdapter({ apiKey: KEY, baseUrl: server.url });
    const before = turn([call("a")], [result("a", "x")]);
    await adapter.chat({ messages: before, tools: [WEATHER] });
    await adapter.chat({ messages: [...before, { role: "user", content: "on" }], tools: [WEATHER] });
    const [first, second] = server.requests.map((request) => JSON.stringify(Object(request.body).contents));
    expect(second?.startsWith(first?.slice(0, -1) ?? "none")).toBe(true);
    await server.close();
  });
});
