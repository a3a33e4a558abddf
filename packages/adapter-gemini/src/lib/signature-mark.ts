/** Marks that keep a call's signature beside the call, since a call in our history has no room for it. */

import type { Json, JsonObject } from "@openfunctions/core";
import { isRecord } from "@openfunctions/core/wire";

/** The signature of one call, byte for byte as it came. */
export interface SignatureMark {
  readonly callId: string;
  readonly thoughtSignature: string;
}

const MARK = "openfunctions.signature";

/** Writes a mark as the data of an opaque part, which is never sent itself. */
export function toSignatureMark(mark: SignatureMark): JsonObject {
  return { type: MARK, callId: mark.callId, thoughtSignature: mark.thoughtSignature };
}

/** Reads a mark, or undefined for any other opaque data. */
export function fromSignatureMark(data: JsonObject): SignatureMark | undefined {
  const { type, callId, thoughtSignature } = data;
  if (type !== MARK || typeof callId !== "string" || typeof thoughtSignature !== "string") return undefined;
  return { callId, thoughtSignature };
}

/** True for a JSON object. */
export function isJsonObject(value: Json): value is JsonObject {
  return isRecord(value) && !Array.isArray(value);
}
