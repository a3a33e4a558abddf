/** Sealed leaves: content whose digest is in the chain, so that the content itself can be removed later. */

import { type Digest, sha256 } from "./digest.ts";
import { type Json, canonicalJson } from "./json.ts";
import { createRandomHex } from "./random-hex.ts";

/** `$sealed` is `sha256(salt bytes || canonical(value))`; `salt` is hexadecimal (spec runs.md section 2). */
export interface Sealed<T> {
  readonly $sealed: Digest;
  readonly salt?: string;
  readonly value?: T;
}

/** How much a stored record keeps: value and salt, the salt only, or neither. */
export type Capture = "full" | "digest" | "off";

/** Makes sealed leaves for one record. */
export type Sealer = <T>(value: T) => Sealed<T>;

/** Prepares a value before it is sealed: removes secrets. */
export type Redact = (value: Json) => Json;

const SALT_BYTES = 16;
/** About as many as a short run has leaves. */
const SALTS_AT_ONCE = 16;

/** A sealer for one record. Values pass `redact` first; `salt` makes fresh hexadecimal salts. */
export function createSealer(
  capture: Capture,
  options: { readonly redact: Redact; readonly salt?: () => string },
): Sealer {
  const salt = options.salt ?? createRandomHex(SALT_BYTES, SALTS_AT_ONCE);
  return <T>(value: T): Sealed<T> => {
    const clean = options.redact(sealable(value as Json)) as T; // Proof: only JSON is sealed, and redaction keeps its shape
    const used = salt();
    const $sealed = commitment(used, clean);
    if (capture === "full") return { $sealed, salt: used, value: clean };
    return capture === "digest" ? { $sealed, salt: used } : { $sealed };
  };
}

/** Model and tool text may hold half a surrogate pair, which has no canonical form. */
function sealable(value: Json): Json {
  return typeof value !== "string" || value.isWellFormed() ? value : value.toWellFormed();
}

/** The commitment of a value under a salt. */
function commitment(salt: string, value: unknown): Digest {
  const text = canonicalJson(value);
  const bytes = Buffer.allocUnsafe(salt.length / 2 + Buffer.byteLength(text));
  bytes.write(salt, "hex");
  bytes.write(text, salt.length / 2, "utf8");
  return sha256(bytes);
}
