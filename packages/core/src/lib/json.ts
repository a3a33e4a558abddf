/** JSON values: what counts as one, how to copy, freeze and write one in canonical form. */

import { InputError } from "./errors.ts";

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** The deepest nesting an argument or result may have. */
export const MAX_JSON_DEPTH = 32;

/** True for an object literal (or one without prototype); false for arrays, maps, dates and instances. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** True for the JSON values that are objects. */
export function isJsonObject(value: Json): value is JsonObject {
  return isPlainObject(value);
}

/** Where and why a value is not JSON. */
export interface JsonProblem {
  /** Dotted path from the root, "" for the root itself: `o.k`, `list[2]`. */
  readonly path: string;
  readonly problem: string;
}

/** The dotted form of one more step below `path`. */
export function joinPath(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return path === "" ? key : `${path}.${key}`;
}

type CopyState = { readonly problems: JsonProblem[]; readonly open: object[]; readonly maxDepth: number };

/**
 * A deep copy of a JSON value, listing every place that is not JSON (function, BigInt, NaN, Infinity, a
 * cycle, an instance, nesting over `maxDepth`). Own enumerable keys only; `undefined` properties are left out
 * and `__proto__` is always dropped.
 */
export function copyJson(
  value: unknown,
  maxDepth: number = MAX_JSON_DEPTH,
): { readonly copy: Json; readonly problems: readonly JsonProblem[] } {
  const state: CopyState = { problems: [], open: [], maxDepth };
  try {
    return { copy: copyValue(value, "", state), problems: state.problems };
  } catch {
    return { copy: null, problems: [{ path: "", problem: "throws when it is read, so it is not JSON" }] };
  }
}

function copyValue(value: unknown, path: string, state: CopyState): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      state.problems.push({ path, problem: `is ${String(value)}, which is not a JSON number` });
    return value;
  }
  if (typeof value === "object") return copyContainer(value, path, state);
  state.problems.push({ path, problem: `is a ${typeof value}, which is not JSON` });
  return null;
}

function copyContainer(value: object, path: string, state: CopyState): Json {
  if (state.open.includes(value)) {
    state.problems.push({ path, problem: "refers to itself, which is not JSON" });
    return null;
  }
  if (state.open.length >= state.maxDepth) {
    state.problems.push({ path, problem: `is nested deeper than ${state.maxDepth} levels` });
    return null;
  }
  state.open.push(value);
  const copy = Array.isArray(value) ? copyArray(value, path, state) : copyObject(value, path, state);
  state.open.pop();
  return copy;
}

function copyArray(value: readonly unknown[], path: string, state: CopyState): Json {
  return value.map((item, index) => copyValue(item, joinPath(path, index), state));
}

function copyObject(value: object, path: string, state: CopyState): Json {
  if (!isPlainObject(value)) {
    const kind = value.constructor?.name ?? "object";
    state.problems.push({ path, problem: `is a ${kind}, which is not plain JSON` });
    return null;
  }
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    if (key === "__proto__" || value[key] === undefined) continue;
    copy[key.toWellFormed()] = copyValue(value[key], joinPath(path, key), state);
  }
  return copy;
}

/** Freezes a value and everything below it, in place. Functions and instances are left as they are. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

/**
 * The RFC 8785 canonical text of a JSON value: keys sorted by UTF-16 code unit, no white space, ECMAScript
 * numbers. Undefined keys are dropped. Throws `InputError` (`not_json`) for a Date, function, BigInt, NaN,
 * Infinity, undefined in an array, a cycle, or a lone surrogate.
 */
export function canonicalJson(value: unknown, reduce?: ReduceObject): string {
  return writeCanonical(value, 0, reduce);
}

/** The same JSON with every half of a surrogate pair replaced, so that it has a canonical form. */
export function wellFormedJson(value: Json): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => wellFormedJson(item));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormedJson(item)]),
  );
}

/** What stands for an object in canonical text, such as a sealed leaf without its value. */
export type ReduceObject = (object: Record<string, unknown>) => Record<string, unknown>;

// A cycle has no depth limit of its own, so canonical text gives up where no honest value goes.
const MAX_CANONICAL_DEPTH = 512;

/** True where parsed JSON has a canonical form but for its text: no endless number (`1e999`), and no nesting over 256 levels, so that a message of it has one too. */
export function isWritable(value: Json, depth: number = 0): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  return (
    depth <= MAX_CANONICAL_DEPTH / 2 &&
    Object.values(value).every((item: Json) => isWritable(item, depth + 1))
  );
}

function writeCanonical(value: unknown, depth: number, reduce?: ReduceObject): string {
  if (typeof value === "string") return writeString(value);
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw notJson(String(value));
    return String(value);
  }
  if (depth > MAX_CANONICAL_DEPTH) throw notJson("a cycle or nesting over 512 levels");
  if (Array.isArray(value)) return writeArray(value, depth, reduce);
  if (isPlainObject(value)) return writeObject(reduce === undefined ? value : reduce(value), depth, reduce);
  throw notJson(typeof value === "object" ? (value.constructor?.name ?? "an instance") : `a ${typeof value}`);
}

// Printable ASCII without quote and backslash is its own JSON text; most keys and ids are.
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

function writeString(value: string): string {
  if (value.length < 100 && PLAIN_TEXT.test(value)) return `"${value}"`;
  if (!value.isWellFormed()) throw notJson("a string with a lone surrogate");
  return JSON.stringify(value);
}

function writeArray(value: readonly unknown[], depth: number, reduce?: ReduceObject): string {
  let text = "[";
  for (let index = 0; index < value.length; index += 1) {
    if (index > 0) text += ",";
    text += writeCanonical(value[index], depth + 1, reduce);
  }
  return `${text}]`;
}

function writeObject(value: Record<string, unknown>, depth: number, reduce?: ReduceObject): string {
  let text = "{";
  for (const key of sortedKeysOf(value)) {
    const item = value[key];
    if (item === undefined) continue;
    if (text.length > 1) text += ",";
    text += writeKey(key) + writeCanonical(item, depth + 1, reduce);
  }
  return `${text}}`;
}

/** The keys by UTF-16 code unit (RFC 8785 section 3.2.3), which is how JavaScript compares strings. */
function sortedKeysOf(value: Record<string, unknown>): readonly string[] {
  const keys = Object.keys(value);
  if (keys.length > FEW_KEYS) return keys.sort();
  // Insertion: the few keys of a record are nearly in order, and a sort would allocate.
  for (let index = 1; index < keys.length; index += 1) {
    const key = keys[index] ?? "";
    let place = index;
    for (let before = keys[place - 1]; before !== undefined && before > key; before = keys[place - 1]) {
      keys[place] = before;
      place -= 1;
    }
    keys[place] = key;
  }
  return keys;
}

const FEW_KEYS = 24;

// The keys of one program are few, and the text of each is always the same.
const KEY_TEXTS = new Map<string, string>();
const MAX_KEY_TEXTS = 1_000;

function writeKey(key: string): string {
  const known = KEY_TEXTS.get(key);
  if (known !== undefined) return known;
  const text = `${writeString(key)}:`;
  if (KEY_TEXTS.size < MAX_KEY_TEXTS) KEY_TEXTS.set(key, text);
  return text;
}

function notJson(what: string): InputError {
  return new InputError(`Canonical JSON cannot hold ${what}.`, {
    code: "not_json",
    hint: "Pass plain JSON: null, booleans, finite numbers, strings, arrays and object literals.",
  });
}
