/** Reading fields of parsed wire JSON without trusting its shape. */

import { randomUUID } from "node:crypto";
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

/** Wire JSON as our JSON type, untouched, for opaque parts. */
export function asJson(value: WireRecord): Json {
  return value as JsonObject; // Proof: wire records are made by JSON.parse (wire-source.ts) and never changed
}

/** The provider's call id, or a new one: `call_<uuid>`. */
export function callIdOf(...candidates: readonly string[]): string {
  return candidates.find((id) => id !== "") ?? `call_${randomUUID()}`;
}
