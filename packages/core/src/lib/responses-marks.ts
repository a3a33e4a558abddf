/** Marks that tie a reasoning item to what followed it, so that an edited history leaves it out in time. */

import { defined } from "./defined.ts";
import { sha256 } from "./digest.ts";
import { canonicalJson, isPlainObject, type Json, type JsonObject } from "./json.ts";

/**
 * A mark travels as an opaque part directly behind the text or call it describes and is never sent. The API
 * refuses a reasoning item whose following item was changed ("provided without its required following item",
 * recorded in openai/test_openai_responses_thinking_with_modified_history), it wants the message's id after a
 * reasoning item, and it asks for a message's phase back (openai 7.59.0, EasyInputMessage).
 */
export interface PartnerMark {
  /** The reasoning item this followed. */
  readonly after?: string;
  /** The message item's id. */
  readonly id?: string;
  readonly phase?: string;
  readonly callId?: string;
  /** Of the text or of the arguments, as they went into the history. */
  readonly digest: string;
}

const MARK = "openfunctions.partner";

/** Writes a mark as the data of an opaque part. */
export function toMarkData(mark: PartnerMark): JsonObject {
  return { type: MARK, ...mark };
}

/** Reads a mark, or undefined for any other opaque data. */
export function fromMarkData(data: Json): PartnerMark | undefined {
  if (!isPlainObject(data) || data["type"] !== MARK || typeof data["digest"] !== "string") return undefined;
  const text = (name: string): string | undefined =>
    typeof data[name] === "string" ? data[name] : undefined;
  return defined({
    digest: data["digest"],
    after: text("after"),
    id: text("id"),
    phase: text("phase"),
    callId: text("callId"),
  });
}

/** The digest of a text or of arguments, equal for equal values whatever their key order. */
export function partnerDigest(value: string | JsonObject): string {
  if (typeof value === "string") return sha256(value);
  try {
    return sha256(canonicalJson(value));
  } catch {
    return sha256(JSON.stringify(value)); // Arguments with a lone surrogate have no canonical form.
  }
}
