/** Reading fields of parsed wire JSON without trusting its shape. */

import { hash, randomUUID } from "node:crypto";
import type { Json, JsonObject } from "./json.ts";

/** A parsed JSON object of unknown shape. */
export type WireRecord = Readonly<Record<string, unknown>>;

/** True for any JSON object (or array); fields are then read one by one. */
export function isRecord(value: unknown): value is WireRecord {
  return typeof value === "object" && value !== null;
}

/** The field as an object, or undefined. */
export function recordAt(record: WireRecord | undefined, name: string): WireRecord | undefined {
  const value = record?.[name];
  return isRecord(value) ? value : undefined;
}

/** The field as a list, empty where it is none. */
export function listAt(record: WireRecord | undefined, name: string): readonly unknown[] {
  const value = record?.[name];
  return Array.isArray(value) ? value : [];
}

/** The field as a string, empty where it is none. */
export function stringAt(record: WireRecord | undefined, name: string): string {
  const value = record?.[name];
  return typeof value === "string" ? value : "";
}

/** The field as a count, zero where it is none: a number that is neither negative nor endless. */
export function countAt(record: WireRecord | undefined, name: string): number {
  const value = record?.[name];
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
}

/** The entry of a table of ours under a key from the wire, which may be the name of something all objects have. */
export function entryOf<T>(table: Readonly<Record<string, T>>, key: unknown): T | undefined {
  return typeof key === "string" && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Wire JSON as our JSON type, untouched, for opaque parts. */
export function asJson(value: WireRecord): Json {
  return value as JsonObject; // Proof: wire records are made by JSON.parse (wire-source.ts) and never changed
}

/** The provider's call id, or a new one: `call_` and a UUID without its dashes, so that it fits into 40 characters. */
export function callIdOf(...candidates: readonly string[]): string {
  return candidates.find((id) => id !== "") ?? `call_${randomUUID().replaceAll("-", "")}`;
}

/**
 * The name of a call in a history, as every provider takes it back. A model may have made it up; characters out of
 * place, or none at all, are answered 400 from then on (anomalyco/opencode #48750, mcp-use/mcp-use #90).
 */
export function wireName(name: string): string {
  if (/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(name)) return name;
  return `_${name.replace(/[^a-zA-Z0-9_-]/gu, "_")}`.slice(0, 64);
}

/** The id of a call in a history, for a server that refuses ids longer than `maxChars`: a digest in its place. */
export function wireId(id: string, maxChars: number = Number.POSITIVE_INFINITY): string {
  return id.length <= maxChars ? id : `call_${hash("sha256", id, "hex").slice(0, 32)}`;
}
