/** What a model meant: JSON text where a structure belongs, `"5"` where a number belongs. Nothing is guessed. */

import { copyJson, isPlainObject, type Json } from "./json.ts";
import { ownValue } from "./schema-walk.ts";
import type { ValidationProblem } from "./validate.ts";

/**
 * A copy of the value with every string decoded that a problem wants as something else, where that loses nothing;
 * undefined when there is nothing to decode or the result would not be JSON. The caller validates the whole result.
 */
export function repairArguments(value: Json, problems: readonly ValidationProblem[]): Json | undefined {
  const { copy } = copyJson(value);
  let changed = false;
  for (const { keyword, params, segments } of problems) {
    const name = segments.at(-1);
    const parent = segments.slice(0, -1).reduce<unknown>(ownValue, copy);
    if (name === undefined || typeof parent !== "object" || parent === null) continue;
    const decoded = decodeText(ownValue(parent, name), (meant) => isWanted(meant, keyword, params));
    if (decoded !== undefined) changed = Reflect.set(parent, name, decoded) || changed;
  }
  const repaired = copyJson(copy); // what was decoded may be too deep or hold __proto__
  return changed && repaired.problems.length === 0 ? repaired.copy : undefined;
}

/** True when a failed keyword says that this value would be right. */
function isWanted(meant: unknown, keyword: string, params: ValidationProblem["params"]): boolean {
  if (keyword === "enum" || keyword === "const") {
    return (
      typeof meant !== "object" && [params["allowedValues"], params["allowedValue"]].flat().includes(meant)
    );
  }
  const types = keyword === "type" ? [params["type"]].flat() : [];
  return (
    types.includes(Array.isArray(meant) ? "array" : typeof meant) ||
    (types.includes("integer") && Number.isInteger(meant))
  );
}

/** The JSON value a text stands for, when it is wanted and the text says exactly that; otherwise undefined. */
export function decodeText(text: unknown, wanted: (meant: unknown) => boolean): unknown {
  if (typeof text !== "string") return undefined;
  let meant: unknown;
  try {
    meant = JSON.parse(text);
  } catch {
    return undefined; // plain text
  }
  // A number is exact when writing it gives the text again, zeros at the end of a fraction aside.
  const exact = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  if (typeof meant === "number" && String(meant) !== exact) return undefined;
  const isDecodable =
    typeof meant === "number" || typeof meant === "boolean" || Array.isArray(meant) || isPlainObject(meant);
  return isDecodable && wanted(meant) ? meant : undefined;
}
