/** The reasoning of a turn as OpenRouter gives it: gathered from the stream, kept as one opaque part, sent back. */

import { isPlainObject, type Json, type JsonObject, type Part, type ProviderPart } from "@openfunctions/core";
import {
  entryOf,
  isOwnPart,
  type ModelTarget,
  type OpaqueFields,
  partnerDigest,
} from "@openfunctions/core/wire";

/** Where the text of a streamed detail is. Other details, such as encrypted ones, come whole. */
const TEXT_FIELDS: Readonly<Record<string, string>> = {
  "reasoning.text": "text",
  "reasoning.summary": "summary",
};
const KIND = "openrouter.reasoning_details";

/**
 * Gathers the details of one reply. A text is streamed in pieces of one type and index, its signature last;
 * sent back in pieces it is refused (agno-agi/agno #8794). A detail that came in one piece stays as it came.
 */
export class ReasoningDetails {
  readonly #details: JsonObject[] = [];

  add(pieces: unknown): void {
    if (!Array.isArray(pieces)) return;
    for (const piece of pieces) if (isDetail(piece)) this.#addPiece(piece);
  }

  /** The opaque part, or undefined where the reply had no details. `turn` is what they led to. */
  toPart(
    turn: readonly Part[],
    { provider, model }: Pick<ModelTarget, "provider" | "model">,
  ): ProviderPart | undefined {
    if (this.#details.length === 0) return undefined;
    const data = { type: KIND, details: this.#details, digest: turnDigest(turn) };
    return { type: "provider", provider, model, data };
  }

  #addPiece(piece: JsonObject): void {
    const last = this.#details.at(-1);
    const field = entryOf(TEXT_FIELDS, piece["type"]);
    if (last === undefined || field === undefined || !continues(last, piece)) {
      this.#details.push(piece);
      return;
    }
    const stated = Object.entries(piece).filter(([, value]) => value !== null);
    this.#details[this.#details.length - 1] = {
      ...last,
      ...Object.fromEntries(stated),
      [field]: `${textAt(last, field)}${textAt(piece, field)}`,
    };
  }
}

/** The fields of an assistant turn's message. A turn whose text or calls were changed since goes without. */
export function toReasoningFields(
  parts: readonly Part[],
  target: Pick<ModelTarget, "provider" | "model">,
): OpaqueFields {
  const details: Json[] = [];
  let [foreign, orphaned] = [0, 0];
  for (const part of parts) {
    if (part.type !== "provider") continue;
    const kept = isOwnPart(part, target) && part.data;
    if (!isPlainObject(kept) || kept["type"] !== KIND || !Array.isArray(kept["details"])) foreign += 1;
    else if (kept["digest"] !== turnDigest(parts)) orphaned += 1;
    else details.push(...kept["details"].filter(isDetail));
  }
  return { fields: details.length === 0 ? {} : { reasoning_details: details }, foreign, orphaned };
}

/** Equal for equal texts and calls, however the text was streamed. */
function turnDigest(parts: readonly Part[]): string {
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = parts.flatMap((part) =>
    part.type === "tool_call" ? [{ callId: part.callId, name: part.name, args: part.args }] : [],
  );
  return partnerDigest({ text, calls });
}

function continues(last: JsonObject, piece: JsonObject): boolean {
  const isSame = (name: string): boolean => last[name] === piece[name];
  const isOther = (name: string): boolean => Boolean(last[name]) && Boolean(piece[name]) && !isSame(name);
  // Every block of a stream may have index 0 (OpenRouterTeam/ai-sdk-provider #520); a signature ends one.
  return isSame("type") && isSame("index") && !isOther("id") && !last["signature"];
}

function textAt(detail: JsonObject, field: string): string {
  const text = detail[field];
  return typeof text === "string" ? text : "";
}

/** True for a JSON object; details are what JSON.parse made of the wire or of a record. */
function isDetail(value: unknown): value is JsonObject {
  return isPlainObject(value);
}
