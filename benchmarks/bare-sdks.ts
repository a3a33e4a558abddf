/** One run and one streamed answer, written by hand on each provider's own SDK: what an adapter is compared with. */

import { Anthropic } from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { OpenAI } from "openai";
import { TASK } from "./adapter-task.ts";

/** What is measured: a run of one tool round, and the text of an answer by its deltas. */
export interface ProviderAgent {
  run(model: string): Promise<string>;
  stream(model: string, onDelta: (text: string) => void): Promise<string>;
}

const addUp = (args: unknown): string =>
  String(Reflect.get(Object(args), "a") + Reflect.get(Object(args), "b"));

/** Claude on `@anthropic-ai/sdk`. */
export function anthropicSdk(baseUrl: string): ProviderAgent {
  const client = new Anthropic({ apiKey: "none", baseURL: baseUrl, maxRetries: 0 });
  const tools = [{ name: TASK.name, description: TASK.description, input_schema: TASK.schema }];
  const ask = async (
    model: string,
    messages: Anthropic.MessageParam[],
    onDelta?: (text: string) => void,
  ): Promise<Anthropic.ContentBlockParam[]> => {
    const { maxTokens: max_tokens, system } = TASK;
    const stream = await client.messages.create({ model, max_tokens, system, tools, messages, stream: true });
    const blocks: Anthropic.ContentBlockParam[] = [];
    let json = "";
    for await (const event of stream) {
      const last = blocks.at(-1);
      if (event.type === "content_block_start") {
        json = "";
        if (event.content_block.type === "text") blocks.push({ type: "text", text: "" });
        if (event.content_block.type === "tool_use")
          blocks.push({
            type: "tool_use",
            id: event.content_block.id,
            name: event.content_block.name,
            input: {},
          });
      } else if (event.type === "content_block_delta" && event.delta.type === "text_delta") {
        if (last?.type === "text") last.text += event.delta.text;
        onDelta?.(event.delta.text);
      } else if (event.type === "content_block_delta" && event.delta.type === "input_json_delta") {
        json += event.delta.partial_json;
      } else if (event.type === "content_block_stop" && last?.type === "tool_use")
        last.input = JSON.parse(json);
    }
    return blocks;
  };
  const textOf = (blocks: readonly Anthropic.ContentBlockParam[]): string =>
    blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  return {
    async run(model) {
      const messages: Anthropic.MessageParam[] = [{ role: "user", content: TASK.question }];
      for (;;) {
        const content = await ask(model, messages);
        const calls = content.filter((block) => block.type === "tool_use");
        if (calls.length === 0) return textOf(content);
        messages.push({ role: "assistant", content });
        messages.push({
          role: "user",
          content: calls.map(({ id, input }) => ({
            type: "tool_result",
            tool_use_id: id,
            content: addUp(input),
          })),
        });
      }
    },
    async stream(model, onDelta) {
      return textOf(await ask(model, [{ role: "user", content: TASK.question }], onDelta));
    },
  };
}

type Content = NonNullable<
  Extract<Parameters<GoogleGenAI["models"]["generateContentStream"]>[0]["contents"], object[]>
>;

/** Gemini on `@google/genai`. */
export function geminiSdk(baseUrl: string): ProviderAgent {
  const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl } });
  const { name, description, schema, system: systemInstruction } = TASK;
  const tools = [{ functionDeclarations: [{ name, description, parametersJsonSchema: schema }] }];
  const ask = async (
    model: string,
    contents: object[],
    onDelta?: (text: string) => void,
  ): Promise<{ readonly text: string; readonly parts: Readonly<Record<string, unknown>>[] }> => {
    const stream = await client.models.generateContentStream({
      model,
      contents: contents as Content, // Proof: built below from the SDK's own parts
      config: { systemInstruction, tools },
    });
    const parts: Readonly<Record<string, unknown>>[] = [];
    let text = "";
    for await (const chunk of stream) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        if (part.text === undefined) parts.push({ ...part });
        else {
          text += part.text;
          onDelta?.(part.text);
        }
      }
    }
    return { text, parts };
  };
  return {
    async run(model) {
      const contents: object[] = [{ role: "user", parts: [{ text: TASK.question }] }];
      for (;;) {
        const { text, parts } = await ask(model, contents);
        if (parts.length === 0) return text;
        contents.push({ role: "model", parts });
        contents.push({
          role: "user",
          parts: parts.map(({ functionCall }) => ({
            functionResponse: {
              name,
              response: { result: addUp(Reflect.get(Object(functionCall), "args")) },
            },
          })),
        });
      }
    },
    stream: async (model, onDelta) =>
      (await ask(model, [{ role: "user", parts: [{ text: TASK.question }] }], onDelta)).text,
  };
}

/** The Responses API on `openai`, at whatever address. */
export function responsesSdk(baseUrl: string): ProviderAgent {
  const client = new OpenAI({ apiKey: "none", baseURL: baseUrl, maxRetries: 0 });
  const { name, description, schema, system } = TASK;
  const tools: OpenAI.Responses.Tool[] = [
    { type: "function", name, description, parameters: schema, strict: true },
  ];
  const ask = async (
    model: string,
    input: OpenAI.Responses.ResponseInputItem[],
    onDelta?: (text: string) => void,
  ): Promise<{ readonly text: string; readonly calls: OpenAI.Responses.ResponseFunctionToolCall[] }> => {
    const stream = await client.responses.create({
      model,
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      instructions: system,
      tools,
      input,
    });
    const calls: OpenAI.Responses.ResponseFunctionToolCall[] = [];
    let text = "";
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") {
        text += event.delta;
        onDelta?.(event.delta);
      } else if (event.type === "response.output_item.done" && event.item.type === "function_call")
        calls.push(event.item);
    }
    return { text, calls };
  };
  return {
    async run(model) {
      const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: TASK.question }];
      for (;;) {
        const { text, calls } = await ask(model, input);
        if (calls.length === 0) return text;
        for (const call of calls) {
          const output = addUp(JSON.parse(call.arguments));
          input.push(call, { type: "function_call_output", call_id: call.call_id, output });
        }
      }
    },
    stream: async (model, onDelta) =>
      (await ask(model, [{ role: "user", content: TASK.question }], onDelta)).text,
  };
}

/** Chat completions on `openai`, at whatever address. */
export function chatSdk(baseUrl: string): ProviderAgent {
  const client = new OpenAI({ apiKey: "none", baseURL: baseUrl, maxRetries: 0 });
  const { name, description, schema: parameters, system } = TASK;
  const tools: OpenAI.Chat.ChatCompletionTool[] = [
    { type: "function", function: { name, description, parameters } },
  ];
  const ask = async (
    model: string,
    messages: OpenAI.Chat.ChatCompletionMessageParam[],
    onDelta?: (text: string) => void,
  ): Promise<{
    readonly text: string;
    readonly calls: OpenAI.Chat.ChatCompletionMessageFunctionToolCall[];
  }> => {
    const stream_options = { include_usage: true };
    const stream = await client.chat.completions.create({
      model,
      stream: true,
      stream_options,
      tools,
      messages,
    });
    const calls: OpenAI.Chat.ChatCompletionMessageFunctionToolCall[] = [];
    let text = "";
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta;
      if (typeof delta?.content === "string" && delta.content !== "") {
        text += delta.content;
        onDelta?.(delta.content);
      }
      for (const { index, id = "", function: fn } of delta?.tool_calls ?? []) {
        const call = (calls[index] ??= { type: "function", id, function: { name: "", arguments: "" } });
        call.function.name ||= fn?.name ?? "";
        call.function.arguments += fn?.arguments ?? "";
      }
    }
    return { text, calls };
  };
  const start = (): OpenAI.Chat.ChatCompletionMessageParam[] => [
    { role: "system", content: system },
    { role: "user", content: TASK.question },
  ];
  return {
    async run(model) {
      const messages = start();
      for (;;) {
        const { text, calls } = await ask(model, messages);
        if (calls.length === 0) return text;
        messages.push({ role: "assistant", content: null, tool_calls: calls });
        for (const { id, function: fn } of calls)
          messages.push({ role: "tool", tool_call_id: id, content: addUp(JSON.parse(fn.arguments)) });
      }
    },
    stream: async (model, onDelta) => (await ask(model, start(), onDelta)).text,
  };
}
