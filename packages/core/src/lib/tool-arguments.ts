/** A model's argument text becomes an object, a cut, or an error that names what is wrong. */

import { isJsonObject, type Json, type JsonObject } from "./json.ts";
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
  const argsText =
    typeof raw === "string" ? raw : raw === undefined || raw === null ? "" : JSON.stringify(raw);
  const text = argsText.trim();
  if (text === "" || text === "null") return { args: {}, argsText };
  const failed = (why: string): ToolArguments => ({ args: {}, argsText, argsError: `The arguments ${why}.` });
  let parsed: Json;
  try {
    parsed = JSON.parse(text);
  } catch {
    if (!isJsonObjectPrefix(text)) return failed("are not valid JSON");
    return { ...failed("were cut off before their JSON was complete"), truncated: true };
  }
  if (isJsonObject(parsed)) return { args: parsed, argsText };
  return failed(`are ${Array.isArray(parsed) ? "an array" : `a ${typeof parsed}`}, not a JSON object`);
}
