/** Messages as input items of the Responses API; opaque items go back verbatim or not at all. */

import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import { type ContentPart, type Message, type Part, partsOf, type ToolResultPart } from "./message.ts";
import { fromMarkData, partnerDigest, type PartnerMark } from "./responses-marks.ts";
import { wireId, wireName } from "./wire-fields.ts";
import { contentUrl, isContent, isOwnPart, type WireTarget } from "./wire-request.ts";

/** Input items, and how many opaque parts were left out and why. */
export interface ResponsesInput {
  readonly items: readonly JsonObject[];
  /** Parts that another provider or model made. */
  readonly foreign: number;
  /** Reasoning items whose following text or call was edited or dropped. */
  readonly orphaned: number;
}

/** Writes the whole history. A reasoning item stays before the item it led to, or leaves with it (case field A22). */
export function toResponsesInput(
  messages: readonly Message[],
  target: Pick<WireTarget, "provider" | "model" | "quirks">,
): ResponsesInput {
  const { maxIdChars } = target.quirks;
  const items: JsonObject[] = [];
  const left = { foreign: 0, orphaned: 0 };
  for (const message of messages) {
    const parts = partsOf(message);
    if (message.role === "assistant") {
      const turn = new AssistantTurn(maxIdChars);
      for (const part of parts) {
        if (part.type === "provider" && !isOwnPart(part, target)) left.foreign += 1;
        else turn.add(part);
      }
      const kept = turn.finish();
      left.orphaned += kept.orphaned;
      items.push(...kept.items);
      continue;
    }
    for (const part of parts) if (part.type === "tool_result") items.push(toOutput(part, maxIdChars));
    const content = parts.filter(isContent);
    if (content.length > 0) items.push({ role: "user", content: toInputContent(content) });
  }
  return { items, ...left };
}

interface Item {
  readonly body: JsonObject;
  /** The text or the arguments, which a mark's digest is of; absent for an opaque item. */
  readonly value?: string | JsonObject;
  readonly callId?: string;
  mark?: PartnerMark;
}

class AssistantTurn {
  readonly #items: Item[] = [];
  readonly #broken = new Set<Json>();
  readonly #maxIdChars: number | undefined;

  constructor(maxIdChars: number | undefined) {
    this.#maxIdChars = maxIdChars;
  }

  add(part: Part): void {
    if (part.type === "text") this.#addText(part.text);
    else if (part.type === "tool_call") {
      const { callId, name, args } = part;
      const body = {
        type: "function_call",
        call_id: wireId(callId, this.#maxIdChars),
        name: wireName(name),
        arguments: JSON.stringify(args),
      };
      this.#items.push({ body, value: args, callId });
    } else if (part.type === "provider") {
      const mark = fromMarkData(part.data);
      if (mark !== undefined) this.#applyMark(mark);
      else if (isJsonObject(part.data)) this.#items.push({ body: part.data });
    }
  }

  finish(): { readonly items: readonly JsonObject[]; readonly orphaned: number } {
    const kept = this.#items.filter(
      (item, index) => !isReasoning(item) || this.#hasPartner(item, this.#items[index + 1]),
    );
    const items = kept.map((item, index) => toItem(item, kept[index - 1]));
    return { items, orphaned: this.#items.length - kept.length };
  }

  #addText(added: string): void {
    if (added === "") return;
    const last = this.#items.at(-1);
    const before = last?.mark === undefined && typeof last?.value === "string" ? last.value : undefined;
    if (before !== undefined) this.#items.pop();
    const text = (before ?? "") + added;
    this.#items.push({ body: { role: "assistant", content: text }, value: text });
  }

  #applyMark(mark: PartnerMark): void {
    const last = this.#items.at(-1);
    const isUnchanged =
      last?.value !== undefined && last.callId === mark.callId && partnerDigest(last.value) === mark.digest;
    if (isUnchanged) last.mark = mark;
    else if (mark.after !== undefined) this.#broken.add(mark.after);
  }

  #hasPartner({ body: { id } }: Item, next: Item | undefined): boolean {
    if (next === undefined || isReasoning(next) || (id !== undefined && this.#broken.has(id))) return false;
    // A message must follow with its own id, which only its mark knows.
    return typeof next.value !== "string" || (next.mark?.id !== undefined && next.mark.after === id);
  }
}

function toItem({ body, value, mark }: Item, before: Item | undefined): JsonObject {
  if (typeof value !== "string") return body;
  const phase = mark?.phase === undefined ? {} : { phase: mark.phase };
  if (mark?.id === undefined || before === undefined || !isReasoning(before)) return { ...body, ...phase };
  const content = [{ type: "output_text", text: value, annotations: [] }];
  return { type: "message", id: mark.id, role: "assistant", status: "completed", content, ...phase };
}

function isReasoning({ body, value }: Item): boolean {
  return value === undefined && body["type"] === "reasoning";
}

function toOutput(part: ToolResultPart, maxIdChars: number | undefined): JsonObject {
  const output = typeof part.result === "string" ? part.result : toInputContent(part.result);
  return { type: "function_call_output", call_id: wireId(part.callId, maxIdChars), output };
}

function toInputContent(parts: readonly ContentPart[]): Json {
  const [only] = parts;
  if (parts.length === 1 && only?.type === "text") return only.text;
  return parts.map((part) => {
    if (part.type === "text") return { type: "input_text", text: part.text };
    if (part.type === "image") return { type: "input_image", image_url: contentUrl(part), detail: "auto" };
    if (part.url !== undefined) return { type: "input_file", file_url: part.url };
    return { type: "input_file", filename: part.name ?? "file", file_data: contentUrl(part) };
  });
}
