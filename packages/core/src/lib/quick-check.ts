/** A small checker for schemas that are still cold, so that a few valid calls never load ajv. */

import type { Json } from "./json.ts";
import type { JsonSchema, JsonSchemaObject } from "./schema.ts";

/**
 * `"valid"` only when ajv would say so too and would change nothing (no default to fill in); `"unsure"` for everything
 * else: an invalid value, or a keyword that is not implemented here exactly as ajv does. Never throws, changes nothing.
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

const annotation: Check = () => true;

// A keyword that is missing here makes the answer "unsure", which is always right, only slower.
const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ...["title", "description", "default", "examples", "$comment", "$schema", "$defs", "definitions", "deprecated"].map(
    (keyword) => [keyword, annotation] as const,
  ),
  ["readOnly", annotation],
  ["writeOnly", annotation],
  ["type", ({ type = [] }, value) => (typeof type === "string" ? isType(type, value) : type.some((name) => isType(name, value)))],
  ["enum", (schema, value) => isPrimitive(value) && schema.enum?.includes(value) === true],
  ["const", (schema, value) => isPrimitive(value) && schema.const === value],
  ["properties", (schema, value) => !isObject(value) || propertiesFit(schema.properties ?? {}, value)],
  ["required", (schema, value) => !isObject(value) || (schema.required ?? []).every((name) => Object.hasOwn(value, name))],
  ["additionalProperties", (schema, value) => !isObject(value) || restFits(schema, value)],
  // With prefixItems beside it `items` means the rest; prefixItems is not known here, so that is "unsure" anyway.
  ["items", ({ items = true }, value) => !Array.isArray(value) || value.every((item: Json) => fits(items, item))],
  ["anyOf", ({ anyOf = [] }, value) => anyOf.some((branch) => fits(branch, value))],
  ["minLength", ({ minLength = 0 }, value) => typeof value !== "string" || codePoints(value) >= minLength],
  ["maxLength", ({ maxLength = Infinity }, value) => typeof value !== "string" || codePoints(value) <= maxLength],
  ["minimum", ({ minimum = -Infinity }, value) => typeof value !== "number" || value >= minimum],
  ["maximum", ({ maximum = Infinity }, value) => typeof value !== "number" || value <= maximum],
  ["exclusiveMinimum", ({ exclusiveMinimum = -Infinity }, value) => typeof value !== "number" || value > exclusiveMinimum],
  ["exclusiveMaximum", ({ exclusiveMaximum = Infinity }, value) => typeof value !== "number" || value < exclusiveMaximum],
  ["minItems", ({ minItems = 0 }, value) => !Array.isArray(value) || value.length >= minItems],
  ["maxItems", ({ maxItems = Infinity }, value) => !Array.isArray(value) || value.length <= maxItems],
]);

type JsonRecord = { readonly [key: string]: Json };

function isObject(value: Json): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPrimitive(value: Json): boolean {
  return typeof value !== "object" || value === null;
}

function isType(name: string, value: Json): boolean {
  if (name === "integer") return Number.isInteger(value);
  if (name === "number") return Number.isFinite(value);
  if (name === "null") return value === null;
  if (name === "array") return Array.isArray(value);
  if (name === "object") return isObject(value);
  return typeof value === name && (name === "string" || name === "boolean");
}

function propertiesFit(properties: Readonly<Record<string, JsonSchema>>, value: JsonRecord): boolean {
  for (const name of Object.keys(properties)) {
    const schema = properties[name];
    if (schema === undefined) return false;
    const item = Object.hasOwn(value, name) ? value[name] : undefined;
    if (item === undefined) {
      if (typeof schema === "object" && schema.default !== undefined) return false; // ajv would fill it in
    } else if (!fits(schema, item)) return false;
  }
  return true;
}

function restFits({ properties = {}, additionalProperties = true }: JsonSchemaObject, value: JsonRecord): boolean {
  if (additionalProperties === true) return true;
  return Object.entries(value).every(([name, item]) => Object.hasOwn(properties, name) || fits(additionalProperties, item));
}

/** JSON Schema counts characters, not UTF-16 code units. */
function codePoints(text: string): number {
  let count = 0;
  for (const _character of text) count += 1;
  return count;
}
