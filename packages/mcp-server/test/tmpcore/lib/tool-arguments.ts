/** A model's argument text becomes an object, a cut, or an error that names what is wrong. */

import type { Json, JsonObject } from "./json.ts";
import { isPlainObject } from "./json.ts";
import { isJsonObjectPrefix } from "./json-prefix.ts";

/** What argument text means. `truncated` marks text that more characters could have finished. */
export interface ToolArguments {
  readonly args: JsonObject;
  /** The text as it came; for arguments that came as an object, their JSON. */
  readonly argsText: string;
  /** Why there is no object; then `args` is `{}`. */
  readonly argsError?: string;
  readonly truncated?: true;
}

/**
 * Reads the arguments of one tool call. Nothing, white space and `null` are `{}`, because models and servers
 * send each of them for a tool without parameters (cases field A1, A2). An object instead of text is taken as
 * it is (some chat-completions servers send one). Text that is a cut-off but otherwise valid JSON object sets
 * `truncated` and `argsError`; other text that is not a JSON object sets `argsError` alone. Never throws.
 */
export function parseToolArguments(raw: unknown): ToolArguments {
  if (raw === undefined || raw === null) return { args: {}, argsText: "" };
  if (typeof raw !== "string") return fromValue(raw);
  const text = raw.trim();
  if (text === "" || text === "null") return { args: {}, argsText: raw };
  const parsed = parseJson(text);
  if (parsed === undefined) {
    if (isJsonObjectPrefix(text)) {
      return {
        args: {},
        argsText: raw,
        argsError: "The arguments were cut off before their JSON was complete.",
        truncated: true,
      };
    }
    return { args: {}, argsText: raw, argsError: "The arguments are not valid JSON." };
  }
  if (!isJsonObject(parsed)) {
    return { args: {}, argsText: raw, argsError: `The arguments are ${nameOf(parsed)}, not a JSON object.` };
  }
  return { args: parsed, argsText: raw };
}

function fromValue(raw: unknown): ToolArguments {
  const argsText = JSON.stringify(raw) ?? "";
  if (isPlainObject(raw)) return parseToolArguments(argsText);
  return { args: {}, argsText, argsError: `The arguments are ${nameOf(raw)}, not a JSON object.` };
}

function parseJson(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined; // The caller says whether this is a cut or a mistake.
  }
}

function isJsonObject(value: Json): value is JsonObject {
  return isPlainObject(value);
}

function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  return value === null ? "null" : `a ${typeof value}`;
}
