/** What a model meant: JSON text where a structure belongs, `"5"` where a number belongs. Nothing is guessed. */

import { copyJson, type Json, isPlainObject } from "./json.ts";
import type { ValidationProblem } from "./validate.ts";

/**
 * A copy of the value with every string decoded that a problem wants as something else, where that loses nothing; undefined
 * when there is nothing to decode or the result would not be JSON. The caller validates the whole result.
 */
export function repairArguments(value: Json, problems: readonly ValidationProblem[]): Json | undefined {
  const { copy } = copyJson(value);
  let changed = false;
  for (const problem of problems) {
    const name = problem.segments.at(-1);
    if (name === undefined || !(problem.keyword in WANTED)) continue;
    const parent = problem.segments.slice(0, -1).reduce<unknown>(below, copy);
    const text = below(parent, name);
    const decoded = typeof text === "string" ? decodeText(text, wantedBy(problem)) : undefined;
    if (decoded === undefined || typeof parent !== "object" || parent === null) continue;
    changed = Reflect.set(parent, name, decoded) || changed;
  }
  const repaired = copyJson(copy); // what was decoded may be too deep or hold __proto__
  return changed && repaired.problems.length === 0 ? repaired.copy : undefined;
}

function below(here: unknown, step: string | number): unknown {
  return typeof here === "object" && here !== null && Object.hasOwn(here, step)
    ? Reflect.get(here, step)
    : undefined;
}

type Wanted = (decoded: unknown) => boolean;

/** The keywords whose failure says what would be right, and the name under which ajv tells it. */
const WANTED = { type: "type", enum: "allowedValues", const: "allowedValue" };

function wantedBy({ keyword, params }: ValidationProblem): Wanted {
  if (keyword === "type")
    return (decoded) =>
      [params["type"]].flat().includes(typeName(decoded)) || isIntegerFor(params["type"], decoded);
  const allowed = [params["allowedValues"], params["allowedValue"]].flat();
  return (decoded) => typeof decoded !== "object" && allowed.includes(decoded);
}

function isIntegerFor(types: unknown, decoded: unknown): boolean {
  return [types].flat().includes("integer") && Number.isInteger(decoded);
}

function typeName(value: unknown): string {
  return Array.isArray(value) ? "array" : typeof value;
}

/** The JSON value a text stands for, when it is wanted and the text says exactly that. */
export function decodeText(text: string, wanted: Wanted): unknown {
  let decoded: unknown;
  try {
    decoded = JSON.parse(text);
  } catch {
    return undefined; // plain text
  }
  if (typeof decoded === "number" && !isExact(text, decoded)) return undefined;
  const scalar = typeof decoded === "number" || typeof decoded === "boolean";
  return (scalar || Array.isArray(decoded) || isPlainObject(decoded)) && wanted(decoded)
    ? decoded
    : undefined;
}

/** True when writing the number gives the text again, zeros at the end of a fraction aside. */
function isExact(text: string, value: number): boolean {
  const plain = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  return String(value) === plain;
}
