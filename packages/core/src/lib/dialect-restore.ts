/** Arguments that fit a dialect's schema become arguments for the original one. */

import { refusesNull, shapesOf } from "./argument-plan.ts";
import { valuesOf } from "./dialect-rewrites.ts";
import { copyJson, isPlainObject, type Json, type JsonObject } from "./json.ts";
import { type Keywords, ownValue, resolveLocalReference } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";

/** What the dialect made of the schema. */
export interface RestoreOptions {
  /** True when listed values were sent as text, and empty objects could not be asked for. */
  readonly isOpenApi: boolean;
  /** Parameters that were sent under another name, with that name. */
  readonly names: ReadonlyMap<string, string>;
}

/**
 * A copy of the arguments under their own names, without the nulls of optional properties, with the values whose JSON
 * text was sent, and with the empty objects that could not be. Validation against the original schema follows.
 */
export function restoreArguments(
  schema: JsonSchemaObject,
  args: JsonObject,
  { isOpenApi, names }: RestoreOptions,
): JsonObject {
  const own = new Map([...names].map(([name, sent]) => [sent, name]));
  const named: Record<string, Json> = {};
  for (const [name, item] of Object.entries(args)) named[own.get(name) ?? name] = copyJson(item).copy;
  const restored = restore([schema], named, { root: schema, isOpenApi });
  return isObject(restored) ? restored : args;
}

function isObject(value: Json): value is JsonObject {
  return isPlainObject(value);
}

interface RestoreState {
  readonly root: JsonSchemaObject;
  readonly isOpenApi: boolean;
}

/** `schemas`: all that are known to be for this value. */
function restore(schemas: readonly unknown[], value: Json, state: RestoreState): Json {
  const shapes = schemas.flatMap((schema) => applying(schema, value, state));
  if (typeof value === "string") return state.isOpenApi ? meantBy(value, shapes) : value;
  if (Array.isArray(value))
    return value.map((item: Json, index) =>
      restore(
        shapes.map(({ prefixItems, items }) => ownValue(prefixItems, index) ?? items),
        item,
        state,
      ),
    );
  if (!isObject(value)) return value;
  const declared = (name: string): readonly unknown[] =>
    shapes.map(({ properties }) => ownValue(properties, name)).filter((property) => property !== undefined);
  const restored: [string, Json][] = Object.entries(value)
    .filter(([name, item]) => item !== null || !declared(name).some((one) => refusesNull(one, state.root)))
    .map(([name, item]) => [name, restore(declared(name), item, state)]);
  const required = shapes.flatMap((shape) =>
    Array.isArray(shape["required"]) ? shape["required"].map(String) : [],
  );
  const empty = required.filter(
    (name) =>
      state.isOpenApi &&
      !Object.hasOwn(value, name) &&
      declared(name).some((one) => isEmpty(one, state.root)),
  );
  return Object.fromEntries([...restored, ...empty.map((name): [string, Json] => [name, {}])]);
}

/** The schema, what it refers to, and those of its alternatives that are for this value. */
function applying(schema: unknown, value: Json, state: RestoreState): readonly Keywords[] {
  if (!isPlainObject(schema)) return [];
  const { $ref, allOf, ...rest } = schema;
  const chosen = unionsOf(rest).flatMap((branches) => {
    const exact = branches.filter((branch) => isFor(branch, value, { ...state, asText: false }));
    return exact.length > 0
      ? exact
      : branches.filter((branch) => isFor(branch, value, { ...state, asText: true }));
  });
  const parts = [resolveLocalReference(state.root, $ref), allOf, chosen].flat();
  return [schema, ...parts.flatMap((part) => applying(part, value, state))];
}

function unionsOf({ anyOf, oneOf }: Keywords): readonly (readonly unknown[])[] {
  return [anyOf, oneOf].filter((branches) => Array.isArray(branches));
}

const TEXT_RULES = ["minLength", "maxLength", "pattern", "format"];

/**
 * False when type, listed values or properties rule the value out. `asText`: the JSON text of a listed value is fine,
 * and so is text that has rules nobody checks here.
 */
function isFor(schema: unknown, value: Json, how: RestoreState & { readonly asText: boolean }): boolean {
  if (!isPlainObject(schema)) return schema !== false;
  const { type, allOf = [], $ref, properties = {}, required = [], additionalProperties } = schema;
  const values = listedBy(schema);
  if (!how.asText && typeof value === "string" && TEXT_RULES.some((keyword) => keyword in schema))
    return false;
  if (values.length > 0 && !values.some((one) => isListed(value, one, how.asText))) return false;
  const isTyped = type === undefined || (values.length > 0 && how.asText);
  if (!isTyped && ![type].flat().some((name) => isOfType(value, name))) return false;
  const whole = [resolveLocalReference(how.root, $ref) ?? true, allOf].flat();
  if (!whole.every((part) => isFor(part, value, how))) return false;
  if (!unionsOf(schema).every((branches) => branches.some((branch) => isFor(branch, value, how))))
    return false;
  if (Array.isArray(value))
    return "prefixItems" in schema || value.every((item: Json) => isFor(schema["items"] ?? true, item, how));
  if (!isObject(value)) return true;
  const isMissing = (name: unknown): boolean =>
    !Object.hasOwn(value, String(name)) &&
    !(how.isOpenApi && isEmpty(ownValue(properties, String(name)), how.root));
  if (Array.isArray(required) && required.some(isMissing)) return false;
  return Object.entries(value).every(([name, item]) => {
    const property = ownValue(properties, name);
    if (property === undefined) return additionalProperties !== false;
    // Null for what has to be there is a value; only of what may be missing it means that it is.
    const mayBeMissing = !(Array.isArray(required) && required.includes(name));
    const isLeftOut = item === null && mayBeMissing && refusesNull(property, how.root);
    return isLeftOut || isFor(property, item, how);
  });
}

function listedBy(shape: Keywords): readonly unknown[] {
  return shape["type"] === "null" ? [null] : valuesOf(shape);
}

function isListed(value: Json, listed: unknown, asText: boolean): boolean {
  const text = JSON.stringify(listed);
  return JSON.stringify(value) === text || (asText && value === text);
}

function isOfType(value: Json, type: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  return type === (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
}

/** The listed value whose JSON text this is, unless the text itself is listed or fine. */
function meantBy(text: string, shapes: readonly Keywords[]): Json {
  const values = shapes.map(listedBy).find((list) => list.length > 0) ?? [];
  const isText = shapes.every(({ type = "string" }) => [type].flat().includes("string"));
  if (isText && values.includes(text)) return text;
  const meant = values.find((value) => JSON.stringify(value) === text);
  return meant === undefined ? text : copyJson(meant).copy;
}

function isEmpty(schema: unknown, root: JsonSchemaObject): boolean {
  return shapesOf(schema, root).some(
    (shape) => shape["type"] === "object" && Object.keys(Object(shape["properties"])).length === 0,
  );
}
