/** Messages as input items of the Responses API; opaque items go back verbatim or not at all. */

import { isPlainObject, type Json, type JsonObject } from "./json.ts";
import {
  type ContentPart,
  type Message,
  type Part,
  partsOf,
  type ProviderPart,
  type ToolResultPart,
} from "./message.ts";
import { fromMarkData, partnerDigest, type PartnerMark } from "./responses-marks.ts";
import { contentUrl, isOwnPart, type WireTarget } from "./wire-request.ts";

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
  target: Pick<WireTarget, "provider" | "model">,
): ResponsesInput {
  const items: JsonObject[] = [];
  const left = { foreign: 0, orphaned: 0 };
  for (const message of messages) {
    const parts = partsOf(message);
    if (message.role === "assistant") {
      const turn = new AssistantTurn();
      for (const part of parts) {
        if (part.type === "provider" && !isOwnPart(part, target)) left.foreign += 1;
        else turn.add(part);
      }
      const kept = turn.finish();
      left.orphaned += kept.orphaned;
      items.push(...kept.items);
      continue;
    }
    for (const part of parts) if (part.type === "tool_result") items.push(toOutput(part));
    const content = parts.filter(isContent);
    if (content.length > 0) items.push({ role: "user", content: toInputContent(content) });
  }
  return { items, ...left };
}

type Item =
  | { readonly kind: "text"; readonly text: string; mark?: PartnerMark }
  | { readonly kind: "call"; readonly body: JsonObject }
  | { readonly kind: "opaque"; readonly body: JsonObject };

class AssistantTurn {
  readonly #items: Item[] = [];
  readonly #broken = new Set<Json>();
  #lastArgs: { readonly callId: string; readonly args: JsonObject } | undefined;

  add(part: Part): void {
    if (part.type === "text") return this.#addText(part.text);
    if (part.type === "provider") return this.#addOpaque(part);
    if (part.type !== "tool_call") return;
    const body = {
      type: "function_call",
      call_id: part.callId,
      name: part.name,
      arguments: JSON.stringify(part.args),
    };
    this.#items.push({ kind: "call", body });
    this.#lastArgs = { callId: part.callId, args: part.args };
  }

  finish(): { readonly items: readonly JsonObject[]; readonly orphaned: number } {
    const kept = this.#items.filter(
      (item, index) => !isReasoning(item) || this.#hasPartner(item, this.#items[index + 1]),
    );
    const items = kept.map((item, index) => toItem(item, kept[index - 1]));
    return { items, orphaned: this.#items.length - kept.length };
  }

  #addText(text: string): void {
    if (text === "") return;
    const last = this.#items.at(-1);
    if (last?.kind === "text" && last.mark === undefined)
      this.#items[this.#items.length - 1] = { kind: "text", text: last.text + text };
    else this.#items.push({ kind: "text", text });
  }

  #addOpaque(part: ProviderPart): void {
    const mark = fromMarkData(part.data);
    if (mark !== undefined) return this.#applyMark(mark);
    if (isJsonObject(part.data)) this.#items.push({ kind: "opaque", body: part.data });
  }

  #applyMark(mark: PartnerMark): void {
    const last = this.#items.at(-1);
    const isText =
      last?.kind === "text" && mark.callId === undefined && partnerDigest(last.text) === mark.digest;
    const call = this.#lastArgs;
    const isCall =
      last?.kind === "call" &&
      mark.callId !== undefined &&
      call?.callId === mark.callId &&
      partnerDigest(call.args) === mark.digest;
    if (isText) last.mark = mark;
    else if (!isCall && mark.after !== undefined) this.#broken.add(mark.after);
  }

  #hasPartner(reasoning: Extract<Item, { kind: "opaque" }>, next: Item | undefined): boolean {
    if (next === undefined || isReasoning(next)) return false;
    const id = reasoning.body["id"];
    if (id !== undefined && this.#broken.has(id)) return false;
    // A message must follow with its own id, which only its mark knows.
    return next.kind !== "text" || (next.mark?.id !== undefined && next.mark.after === id);
  }
}

function toItem(item: Item, before: Item | undefined): JsonObject {
  if (item.kind !== "text") return item.body;
  const { text, mark } = item;
  const phase = mark?.phase === undefined ? {} : { phase: mark.phase };
  if (mark?.id === undefined || before === undefined || !isReasoning(before))
    return { role: "assistant", content: text, ...phase };
  const content = [{ type: "output_text", text, annotations: [] }];
  return { type: "message", id: mark.id, role: "assistant", status: "completed", content, ...phase };
}

function isReasoning(item: Item): item is Extract<Item, { kind: "opaque" }> {
  return item.kind === "opaque" && item.body["type"] === "reasoning";
}

function toOutput(part: ToolResultPart): JsonObject {
  const output = typeof part.result === "string" ? part.result : toInputContent(part.result);
  return { type: "function_call_output", call_id: part.callId, output };
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

function isContent(part: Part): part is ContentPart {
  return part.type === "text" || part.type === "image" || part.type === "file";
}

function isJsonObject(data: Json): data is JsonObject {
  return isPlainObject(data);
}
