/** Messages as contents of generateContent; a signature goes back on the part it came with, or not at all. */

import {
  type ContentPart,
  type Json,
  type JsonObject,
  type Message,
  type Part,
  partsOf,
  type ToolResultPart,
} from "@openfunctions/core";
import { isContent, isJsonObject, isOwnPart, wireName, type WireTarget } from "@openfunctions/core/wire";
import { FOREIGN_CALL_SIGNATURE, OUTPUT_KEYS, REFERENCE_KEY } from "./quirks.ts";

/** Contents, and how many opaque parts were left out: another model's, or without the text or call they signed. */
export interface GeminiHistory {
  readonly contents: JsonObject[];
  readonly foreign: number;
  readonly orphaned: number;
}

/** The opaque part beside a signed call, since a call in our history has no room for its signature. Never sent. */
export function toSignatureMark(callId: string, thoughtSignature: string): JsonObject {
  return { callId, thoughtSignature };
}

/** Writes the whole history; all results of a turn are one content, in call order (@google/genai 3.3.0, Content). */
export function toGeminiContents(messages: readonly Message[], target: WireTarget): GeminiHistory {
  const contents: { role: string; parts: JsonObject[] }[] = [];
  const left = { foreign: 0, orphaned: 0 };
  for (const [index, message] of messages.entries()) {
    const parts = message.role === "assistant" ? toModelParts(message, target, left) : toUserParts(message);
    const last = contents.at(-1);
    const goesOn = message.role === "tool" && messages[index - 1]?.role === "tool";
    if (goesOn && last !== undefined) last.parts = resultsFirst([...last.parts, ...parts]);
    else if (parts.length > 0)
      contents.push({ role: message.role === "assistant" ? "model" : "user", parts });
  }
  return { contents: contents.map(({ role, parts }) => ({ role, parts })), ...left };
}

type Left = { foreign: number; orphaned: number };

function toModelParts(message: Message, target: WireTarget, left: Left): JsonObject[] {
  const turn = new ModelTurn();
  for (const part of partsOf(message)) {
    if (part.type !== "provider") turn.add(part);
    else if (!isOwnPart(part, target)) left.foreign += 1;
    else if (isJsonObject(part.data)) turn.addOwn(part.data);
  }
  left.orphaned += turn.orphaned;
  if (target.confirmed && target.reasoning !== "none") turn.signFirstCall(FOREIGN_CALL_SIGNATURE);
  return turn.parts;
}

class ModelTurn {
  orphaned = 0;
  readonly parts: JsonObject[] = [];
  readonly #calls = new Map<unknown, number>();

  add(part: Part): void {
    if (part.type === "tool_call") {
      const { callId: id, args } = part;
      const functionCall = { id, name: wireName(part.name), args };
      this.#calls.set(id, this.parts.push({ functionCall }) - 1);
    } else if (isContent(part) && !(part.type === "text" && part.text === ""))
      this.parts.push(toContent(part));
  }

  addOwn(data: JsonObject): void {
    const { callId, text, thought } = data;
    if ("groundingMetadata" in data) return;
    if (callId !== undefined) this.#sign(this.#calls.get(callId), data["thoughtSignature"]);
    else if (typeof text === "string" && thought !== true) this.#addSignedText(data, text);
    else this.parts.push(data);
  }

  signFirstCall(signature: string): void {
    const first = this.parts.findIndex((part) => "functionCall" in part);
    if (first >= 0 && this.parts[first]?.["thoughtSignature"] === undefined) this.#sign(first, signature);
  }

  #sign(at: number | undefined, thoughtSignature: Json | undefined): void {
    const call = at === undefined ? undefined : this.parts[at];
    if (at === undefined || call === undefined || thoughtSignature === undefined) this.orphaned += 1;
    else this.parts[at] = { ...call, thoughtSignature };
  }

  /** A signed text is the end of the text before it, which was one part with it in the history. */
  #addSignedText(data: JsonObject, text: string): void {
    const { text: all, thoughtSignature } = this.parts.at(-1) ?? {};
    const isEnd = typeof all === "string" && thoughtSignature === undefined && all.endsWith(text);
    if (text === "" ? this.parts.length === 0 : !isEnd) {
      this.orphaned += 1;
      return;
    }
    if (text !== "" && isEnd) {
      this.parts.pop();
      if (all.length > text.length) this.parts.push({ text: all.slice(0, -text.length) });
    }
    this.parts.push(data);
  }
}

/** Results first, what they show beside their text and everything else after them. */
function toUserParts(message: Message): JsonObject[] {
  const parts = partsOf(message);
  const results = parts.filter((part) => part.type === "tool_result");
  const shown = results.flatMap(({ result }) => (typeof result === "string" ? [] : result));
  const others = [...shown.filter(({ type }) => type !== "text"), ...parts.filter(isContent)];
  return [...results.map(toResponse), ...others.map(toContent)];
}

function resultsFirst(parts: readonly JsonObject[]): JsonObject[] {
  const isResult = (part: JsonObject): boolean => "functionResponse" in part;
  return [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))];
}

function toResponse(part: ToolResultPart): JsonObject {
  const { callId: id, result, isError } = part;
  const name = wireName(part.name);
  const texts =
    typeof result === "string" ? [result] : result.map((one) => (one.type === "text" ? one.text : ""));
  const text = texts.filter((one, index) => one !== "" || index === 0).join("\n");
  return { functionResponse: { id, name, response: isError ? { error: text } : responseOf(text) } };
}

/** Text that is JSON as we write it travels as what it says, all else (large numbers too) as text. Always an object. */
function responseOf(text: string): JsonObject {
  let value: Json = text;
  try {
    const parsed: Json = JSON.parse(text);
    if (JSON.stringify(parsed) === text && !REFERENCE_KEY.test(text)) value = parsed;
  } catch {
    // Plain text, as most results are.
  }
  return isJsonObject(value) && !OUTPUT_KEYS.some((key) => Object.hasOwn(Object(value), key))
    ? value
    : { result: value };
}

function toContent(part: ContentPart): JsonObject {
  if (part.type === "text") return { text: part.text };
  if (part.url !== undefined) return { fileData: { mimeType: part.mediaType, fileUri: part.url } };
  return { inlineData: { mimeType: part.mediaType, data: part.data ?? "" } };
}
