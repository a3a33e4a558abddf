/** Sealed leaves: content whose digest is in the chain, so that the content itself can be removed later. */

import { randomUUID } from "node:crypto";
import { type Digest, sha256 } from "./digest.ts";
import { type Json, canonicalJson, deepFreeze, wellFormedJson } from "./json.ts";

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

/** What a sealer needs. */
export interface SealerOptions {
  readonly redact: Redact;
  /** Makes fresh hexadecimal salts. */
  readonly salt?: () => string;
  /** Hears of a redaction that threw. */
  readonly onFailure?: (cause: unknown) => void;
}

/**
 * A sealer for one record. Values pass `redact` first. What cannot be redacted or written gives a leaf without its
 * value: a record rather lacks a value than keeps a secret or its run.
 */
export function createSealer(capture: Capture, options: SealerOptions): Sealer {
  const nextSalt = options.salt ?? freshSalt;
  return <T>(value: T): Sealed<T> => {
    const salt = nextSalt();
    try {
      const { clean, text } = prepare(value as Json, options.redact); // Proof: only JSON is sealed
      const $sealed = commitment(salt, text);
      if (capture === "full") return { $sealed, salt, value: clean as T }; // Proof: redaction keeps the shape
      return capture === "digest" ? { $sealed, salt } : { $sealed };
    } catch (cause) {
      options.onFailure?.(cause);
      return { $sealed: commitment(salt, "null") };
    }
  };
}

/** 16 bytes, 122 of their bits random: a version 4 UUID without its dashes, which Node draws in blocks. */
function freshSalt(): string {
  return randomUUID().replaceAll("-", "");
}

/** A value as it is sealed: without secrets, and in canonical text. */
interface Prepared {
  readonly clean: Json;
  readonly text: string;
}

const PREPARED = new WeakMap<object, WeakMap<Redact, Prepared>>(); // a cache by identity: its keys are deep frozen

/** Freezes a value that many runs seal, so that it is prepared once. */
export function unchanging<T extends object>(value: T): T {
  PREPARED.set(deepFreeze(value), new WeakMap());
  return value;
}

function prepare(value: Json, redact: Redact): Prepared {
  const known = typeof value === "object" && value !== null ? PREPARED.get(value) : undefined;
  const prepared = known?.get(redact) ?? canonical(redact(value));
  known?.set(redact, prepared);
  return prepared;
}

/** Model and tool text may hold half a surrogate pair, which has no canonical form; it is replaced then. */
function canonical(value: Json): Prepared {
  try {
    return { clean: value, text: canonicalJson(value) };
  } catch {
    const clean = wellFormedJson(value);
    return { clean, text: canonicalJson(clean) };
  }
}

/** A whole leaf under a salt that is known. */
export function resealed<T>(value: T, salt: string): Sealed<T> {
  return { $sealed: commitment(salt, canonicalJson(value)), salt, value };
}

/** The commitment of a canonical text under a salt. */
function commitment(salt: string, text: string): Digest {
  const bytes = Buffer.allocUnsafe(salt.length / 2 + Buffer.byteLength(text));
  bytes.write(salt, "hex");
  bytes.write(text, salt.length / 2, "utf8");
  return sha256(bytes);
}
