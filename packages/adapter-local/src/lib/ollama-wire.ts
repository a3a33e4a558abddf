/** Ollama's own chat endpoint, which keeps thinking apart and takes the context length: requests out, lines in. */

import {
  ConfigError,
  isPlainObject,
  type JsonObject,
  type Message,
  type ModelEvent,
  type ModelRequest,
  type Part,
  partsOf,
} from "@openfunctions/core";
import {
  chatCodec,
  defined,
  DONE,
  type EncodedRequest,
  type ModelAbilities,
  type ReasoningLevels,
  type StreamDecoder,
  UNKNOWN_ABILITIES,
  type WireCodec,
  wireName,
} from "@openfunctions/core/wire";
import { LOCAL_SERVERS } from "./quirks.ts";

/** What Ollama alone can be told. */
export interface OllamaOptions {
  /** The context window to load the model with, in tokens. Default: the server's, which may be far below the model's. */
  readonly contextTokens?: number;
  /** How long the model stays loaded: seconds, or text as in "10m"; negative for ever. Default: the server's. */
  readonly keepAlive?: number | string;
  /** False asks for one JSON body. Default true. */
  readonly stream?: boolean;
}

/** There is no `tool_choice`, and `format` takes a schema (ChatRequest of ollama 0.6.4, npm). Checked 2026-11-30. */
export const OLLAMA_ABILITIES: ModelAbilities = {
  ...UNKNOWN_ABILITIES,
  forcedChoice: false,
  jsonSchema: true,
};

/** `think` is true, false or one of three levels (ChatRequest of ollama 0.6.4, npm). Checked 2026-11-30. */
export const OLLAMA_EFFORTS: ReasoningLevels = {
  levels: ["none", "low", "medium", "high"],
  default: "medium",
};

/** The address of the chat endpoint, whether the base is the server's or that of its OpenAI-compatible API. */
export function ollamaUrl(baseUrl: string): string {
  return `${baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")}/api/chat`;
}

/** Bodies and lines of `/api/chat`. Fields as in ChatRequest, Message and ChatResponse of ollama 0.6.4 (npm). */
export function ollamaCodec(options: OllamaOptions): WireCodec {
  const chat = chatCodec(LOCAL_SERVERS.ollama.quirks);
  return {
    encode: (request, target) => toOllamaRequest(request, { ...chat.encode(request, target) }, options),
    decoder: (decoding, encoded) => new OllamaDecoder(chat.decoder(decoding, encoded)),
  };
}

/** The request, settled already, in Ollama's words. What stays the same comes first, parameters last. */
function toOllamaRequest(
  request: ModelRequest,
  { body, plan, warnings }: EncodedRequest,
  { contextTokens, keepAlive, stream = true }: OllamaOptions,
): EncodedRequest {
  const { temperature, topP, seed, stop } = plan.sampling;
  const settings = defined({
    num_ctx: contextTokens,
    num_predict: request.maxOutputTokens,
    temperature,
    top_p: topP,
    seed,
    stop,
  });
  const history = request.messages.flatMap(toMessages);
  const tools = plan.toolChoice === "none" ? undefined : body["tools"];
  const native = defined({
    model: body["model"],
    stream,
    tools,
    messages: request.system ? [{ role: "system", content: request.system }, ...history] : history,
    think: plan.effort === "none" ? false : plan.effort,
    format: plan.format?.schema,
    keep_alive: keepAlive,
    options: Object.keys(settings).length === 0 ? undefined : settings,
  });
  const serial: ModelEvent = {
    type: "warning",
    code: "parallel_left_out",
    detail: "Ollama cannot be told to make one call at a time.",
  };
  return { body: native, plan, warnings: plan.parallel === undefined ? warnings : [...warnings, serial] };
}

function toMessages(message: Message): JsonObject[] {
  const parts = partsOf(message);
  if (message.role === "assistant") return assistantMessages(parts);
  const results = parts.filter((part) => part.type === "tool_result");
  const shown = results.flatMap(({ result }) => (typeof result === "string" ? [] : result));
  const content = [...shown.filter(({ type }) => type !== "text"), ...parts];
  const messages: JsonObject[] = results.map(({ name, result }) => ({
    role: "tool",
    tool_name: wireName(name),
    content: typeof result === "string" ? result : textOf(result, "\n"),
  }));
  const images = content.flatMap(imageOf);
  const text = textOf(content, "\n");
  if (text !== "" || images.length > 0 || results.length === 0)
    messages.push(defined({ role: "user", content: text, images: images.length === 0 ? undefined : images }));
  return messages;
}

/** Thinking goes back with the calls it led to. */
function assistantMessages(parts: readonly Part[]): JsonObject[] {
  const calls = parts.flatMap((part) =>
    part.type === "tool_call" ? [{ function: { name: wireName(part.name), arguments: part.args } }] : [],
  );
  const content = textOf(parts, "");
  if (content === "" && calls.length === 0) return [];
  const thought = parts.map((part) => (part.type === "reasoning" ? (part.text ?? "") : "")).join("");
  const thinking = calls.length > 0 && thought !== "" ? thought : undefined;
  return [
    defined({ role: "assistant", content, thinking, tool_calls: calls.length === 0 ? undefined : calls }),
  ];
}

function textOf(parts: readonly Part[], separator: string): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(separator);
}

function imageOf(part: Part): string[] {
  if (part.type !== "image" && part.type !== "file") return [];
  if (part.type === "image" && part.data !== undefined) return [part.data];
  throw new ConfigError(
    `Ollama takes images as data; it was given ${part.type === "file" ? "a file" : "a URL"}.`,
    {
      code: "unsupported",
      hint: "Load the image and pass its base64 data.",
    },
  );
}

/** Reads Ollama's lines as the chunks that core decodes. */
class OllamaDecoder implements StreamDecoder {
  readonly #chat: StreamDecoder;
  #calls = 0;

  constructor(chat: StreamDecoder) {
    this.#chat = chat;
  }

  get finished(): boolean {
    return this.#chat.finished;
  }

  push(line: unknown, out: ModelEvent[]): void {
    if (!isPlainObject(line) || line["error"] !== undefined) return this.#chat.push(line, out);
    const message = isPlainObject(line["message"]) ? line["message"] : {};
    const { content, thinking, tool_calls: calls } = message;
    const [input, output] = [line["prompt_eval_count"], line["eval_count"]];
    const delta = {
      content,
      reasoning: thinking,
      tool_calls: Array.isArray(calls) ? this.#indexed(calls) : [],
    };
    const chunk = { model: line["model"], choices: [{ index: 0, delta }] };
    // A prompt that was cached whole has no count; then usage is estimated.
    const isCounted = typeof input === "number" && typeof output === "number";
    this.#chat.push(
      isCounted ? { ...chunk, usage: { prompt_tokens: input, completion_tokens: output } } : chunk,
      out,
    );
    if (line["done"] !== true) return;
    this.#chat.push({ choices: [{ index: 0, finish_reason: line["done_reason"] ?? "stop" }] }, out);
    this.#chat.push(DONE, out);
  }

  end(out: ModelEvent[]): void {
    this.#chat.end(out);
  }

  /** Every call comes whole, and each is another one. */
  #indexed(calls: readonly unknown[]): readonly object[] {
    return calls.filter(isPlainObject).map((call) => ({ ...call, index: this.#calls++ }));
  }
}
