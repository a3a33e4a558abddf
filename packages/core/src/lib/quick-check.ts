/** A small checker for schemas that are still cold, so that a few valid calls never load ajv. */

import { isPlainObject, type Json } from "./json.ts";
import type { JsonSchema, JsonSchemaObject } from "./schema.ts";

/**
 * `"valid"` only when ajv would say so too and would change nothing (no default to fill in); `"unsure"` for all else:
 * an invalid value, or a keyword that is not done here exactly as ajv does it. Never throws, changes nothing.
 */
export function quickCheck(schema: JsonSchema, value: Json): "valid" | "unsure" {
  return fits(schema, value) ? "valid" : "unsure";
}

function fits(schema: JsonSchema, value: Json): boolean {
  if (typeof schema === "boolean") return schema;
  for (const keyword of Object.keys(schema)) {
    const check = CHECKS.get(keyword);
    if (check === undefined ? !keyword.startsWith("x-") : !check(schema, value)) return false;
  }
  return true;
}

type Check = (schema: JsonSchemaObject, value: Json) => boolean;

const ANNOTATIONS =
  "title description default examples $comment $schema $defs definitions deprecated readOnly writeOnly";

// A keyword that is missing here makes the answer "unsure", which is always right, only slower.
const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...ANNOTATIONS.split(" ").map((keyword): [string, Check] => [keyword, () => true]),
  [
    "type",
    ({ type = [] }, value) =>
      typeof type === "string" ? isType(type, value) : type.some((name) => isType(name, value)),
  ],
  ["enum", (schema, value) => isPrimitive(value) && schema.enum?.includes(value) === true],
  ["const", (schema, value) => isPrimitive(value) && schema.const === value],
  ["properties", ({ properties = {} }, value) => !isObject(value) || propertiesFit(properties, value)],
  [
    "required",
    ({ required = [] }, value) => !isObject(value) || required.every((name) => Object.hasOwn(value, name)),
  ],
  ["additionalProperties", (schema, value) => !isObject(value) || restFits(schema, value)],
  // With prefixItems beside it `items` means the rest; but prefixItems is not known here, so that is "unsure".
  [
    "items",
    ({ items = true }, value) => !Array.isArray(value) || value.every((item: Json) => fits(items, item)),
  ],
  ["anyOf", ({ anyOf = [] }, value) => anyOf.some((branch) => fits(branch, value))],
  ["minLength", ({ minLength = 0 }, value) => typeof value !== "string" || codePoints(value) >= minLength],
  ["maxLength", ({ maxLength = 0 }, value) => typeof value !== "string" || codePoints(value) <= maxLength],
  ["minimum", ({ minimum = 0 }, value) => typeof value !== "number" || value >= minimum],
  ["maximum", ({ maximum = 0 }, value) => typeof value !== "number" || value <= maximum],
]);

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return isPlainObject(value);
}

function isPrimitive(value: Json): boolean {
  return typeof value !== "object" || value === null;
}

function isType(name: string, value: Json): boolean {
  if (name === "integer") return Number.isInteger(value);
  if (name === "null") return value === null;
  if (name === "array") return Array.isArray(value);
  return name === "object" ? isObject(value) : typeof value === name;
}

function propertiesFit(
  properties: Readonly<Record<string, JsonSchema>>,
  value: { readonly [key: string]: Json },
): boolean {
  return Object.entries(properties).every(([name, schema]) => {
    const item = Object.hasOwn(value, name) ? value[name] : undefined;
    // ajv would fill in the default of a missing property
    return item === undefined
      ? typeof schema !== "object" || schema.default === undefined
      : fits(schema, item);
  });
}

function restFits(schema: JsonSchemaObject, value: { readonly [key: string]: Json }): boolean {
  const { properties = {}, additionalProperties = true } = schema;
  if (additionalProperties === true) return true;
  return Object.entries(value).every(
    ([name, item]) => Object.hasOwn(properties, name) || fits(additionalProperties, item),
  );
}

/** JSON Schema counts characters, not UTF-16 code units. */
function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}
