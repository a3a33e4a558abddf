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
import { isContent, isOwnPart, isRecord, type WireTarget } from "@openfunctions/core/wire";
import { FOREIGN_CALL_SIGNATURE, OUTPUT_KEYS, REFERENCE_KEYS } from "./quirks.ts";
import { fromSignatureMark, isJsonObject } from "./signature-mark.ts";

/** Contents, and how many opaque parts were left out and why. */
export interface GeminiHistory {
  readonly contents: JsonObject[];
  /** Parts that another provider or model made. */
  readonly foreign: number;
  /** Signatures whose call or text was edited or dropped. */
  readonly orphaned: number;
}

/**
 * Writes the whole history. All results of a turn are one content, in call order, what they show beside their text
 * after them (@google/genai 3.3.0, Content, Part).
 */
export function toGeminiContents(messages: readonly Message[], target: WireTarget): GeminiHistory {
  const contents: JsonObject[] = [];
  const left = { foreign: 0, orphaned: 0 };
  for (const { role, parts } of turnsOf(messages)) {
    let written: readonly JsonObject[];
    if (role === "assistant") {
      const turn = new ModelTurn(target);
      for (const part of parts) turn.add(part);
      written = turn.finish();
      left.foreign += turn.foreign;
      left.orphaned += turn.orphaned;
    } else {
      const results = parts.filter((part) => part.type === "tool_result");
      const shown = [...results.flatMap(attachmentsOf), ...parts.filter(isContent)];
      written = [...results.map(toResponse), ...shown.map(toContent)];
    }
    if (written.length > 0) contents.push({ role: role === "assistant" ? "model" : "user", parts: written });
  }
  return { contents, ...left };
}

interface Turn {
  readonly role: Message["role"];
  readonly parts: Part[];
}

/** One turn per message, but results that stand in several messages belong together. */
function turnsOf(messages: readonly Message[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.role === "tool" && message.role === "tool") last.parts.push(...partsOf(message));
    else turns.push({ role: message.role, parts: [...partsOf(message)] });
  }
  return turns;
}

class ModelTurn {
  foreign = 0;
  orphaned = 0;
  readonly #target: WireTarget;
  readonly #parts: JsonObject[] = [];
  readonly #calls = new Map<string, number>();

  constructor(target: WireTarget) {
    this.#target = target;
  }

  add(part: Part): void {
    if (part.type === "text" && part.text !== "") this.#parts.push({ text: part.text });
    else if (part.type === "image" || part.type === "file") this.#parts.push(toContent(part));
    else if (part.type === "tool_call") {
      const { callId: id, name, args } = part;
      this.#calls.set(id, this.#parts.push({ functionCall: { id, name, args } }) - 1);
    } else if (part.type === "provider") {
      if (!isOwnPart(part, this.#target)) this.foreign += 1;
      else if (isJsonObject(part.data)) this.#addOwn(part.data);
    }
  }

  finish(): readonly JsonObject[] {
    const first = Math.min(...this.#calls.values());
    const call = this.#parts[first];
    const { confirmed, reasoning } = this.#target;
    const isWanted = confirmed && reasoning !== "none" && call !== undefined && !("thoughtSignature" in call);
    if (isWanted) this.#parts[first] = { ...call, thoughtSignature: FOREIGN_CALL_SIGNATURE };
    return this.#parts;
  }

  #addOwn(data: JsonObject): void {
    const mark = fromSignatureMark(data);
    if (mark !== undefined) {
      const at = this.#calls.get(mark.callId) ?? -1;
      const call = this.#parts[at];
      if (call === undefined) this.orphaned += 1;
      else this.#parts[at] = { ...call, thoughtSignature: mark.thoughtSignature };
    } else if (typeof data["text"] === "string" && data["thought"] !== true) {
      this.#addSigned(data, data["text"]);
    } else if (!("groundingMetadata" in data)) {
      this.#parts.push(data); // Grounding is told beside the content and has no place in it.
    }
  }

  /** A signed text is the end of the text before it, which was one part with it in the history. */
  #addSigned(data: JsonObject, text: string): void {
    const before = this.#parts.at(-1);
    if (text === "" && before !== undefined) {
      this.#parts.push(data);
      return;
    }
    const all = before?.["text"];
    if (
      typeof all !== "string" ||
      text === "" ||
      !all.endsWith(text) ||
      "thoughtSignature" in Object(before)
    ) {
      this.orphaned += 1;
      return;
    }
    this.#parts.pop();
    if (all.length > text.length) this.#parts.push({ text: all.slice(0, -text.length) });
    this.#parts.push(data);
  }
}

function toResponse(part: ToolResultPart): JsonObject {
  return { functionResponse: { id: part.callId, name: part.name, response: responseOf(part) } };
}

/** Text that is JSON, written as we write it, travels as what it says; everything else as text. Always an object. */
function responseOf({ result, isError }: ToolResultPart): JsonObject {
  const text =
    typeof result === "string"
      ? result
      : result.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  if (isError === true) return { error: text };
  const value = parse(text);
  if (value === undefined || holdsReference(value)) return { result: text };
  if (isJsonObject(value) && !OUTPUT_KEYS.some((key) => key in value)) return value;
  return { result: value };
}

/** Undefined for text that is not JSON, or that would read differently when written again (large numbers). */
function parse(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return JSON.stringify(value) === text ? value : undefined;
  } catch {
    return undefined; // Plain text, as most results are.
  }
}

function holdsReference(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return Object.entries(value).some(
    ([key, below]) => (!Array.isArray(value) && REFERENCE_KEYS.includes(key)) || holdsReference(below),
  );
}

function attachmentsOf({ result }: ToolResultPart): readonly ContentPart[] {
  return typeof result === "string" ? [] : result.filter((part) => part.type !== "text");
}

function toContent(part: ContentPart): JsonObject {
  if (part.type === "text") return { text: part.text };
  if (part.url !== undefined) return { fileData: { mimeType: part.mediaType, fileUri: part.url } };
  return { inlineData: { mimeType: part.mediaType, data: part.data ?? "" } };
}
