/** Arguments that fit a dialect's schema become arguments for the original one. */

import { refusesNull, shapesOf } from "./argument-plan.ts";
import { valuesOf } from "./dialect-rewrites.ts";
import { copyJson, isPlainObject, type Json, type JsonObject } from "./json.ts";
import { type Keywords, ownValue, resolveLocalReference } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";

/** What the dialect made of the schema. */
export interface RestoreOptions {
  /** True when empty objects could not be asked for, so that they are filled in. */
  readonly fillsEmpty: boolean;
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
  { fillsEmpty, names }: RestoreOptions,
): JsonObject {
  const own = new Map([...names].map(([name, sent]) => [sent, name]));
  const named: Record<string, Json> = {};
  for (const [name, item] of Object.entries(args)) named[own.get(name) ?? name] = copyJson(item).copy;
  const restored = restore([schema], named, { root: schema, fillsEmpty });
  return isObject(restored) ? restored : args;
}

function isObject(value: Json): value is JsonObject {
  return isPlainObject(value);
}

interface RestoreState {
  readonly root: JsonSchemaObject;
  readonly fillsEmpty: boolean;
}

/** `schemas`: all that are known to be for this value. */
function restore(schemas: readonly unknown[], value: Json, state: RestoreState): Json {
  const shapes = schemas.flatMap((schema) => applying(schema, value, state.root));
  if (typeof value === "string") return meantBy(value, shapes);
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
      state.fillsEmpty &&
      !Object.hasOwn(value, name) &&
      declared(name).some((one) => isEmpty(one, state.root)),
  );
  return Object.fromEntries([...restored, ...empty.map((name): [string, Json] => [name, {}])]);
}

/** The schema, what it refers to, and those of its alternatives that are for this value. */
function applying(schema: unknown, value: Json, root: JsonSchemaObject): readonly Keywords[] {
  if (!isPlainObject(schema)) return [];
  const { $ref, allOf, anyOf = [], oneOf = [] } = schema;
  const branches = [anyOf, oneOf].flat();
  const exact = branches.filter((branch) => isFor(branch, value, { root, asText: false }));
  const chosen =
    exact.length > 0 ? exact : branches.filter((branch) => isFor(branch, value, { root, asText: true }));
  return [
    schema,
    ...[resolveLocalReference(root, $ref), allOf, chosen]
      .flat()
      .flatMap((part) => applying(part, value, root)),
  ];
}

/** False when the type, the listed values or a property rule the value out. `asText`: a listed value as its JSON text is fine. */
function isFor(
  schema: unknown,
  value: Json,
  how: { readonly root: JsonSchemaObject; readonly asText: boolean },
): boolean {
  return applying(schema, value, how.root).every((shape) => {
    const values = valuesOf(shape);
    const { type, properties, additionalProperties } = shape;
    if (values.length > 0) return values.some((one) => isListed(value, one, how.asText));
    if (type !== undefined && ![type].flat().some((name) => isOfType(value, String(name)))) return false;
    if (!isObject(value) || !isPlainObject(properties)) return true;
    return Object.entries(value).every(([name, item]) => {
      const property = ownValue(properties, name);
      if (property === undefined) return additionalProperties !== false;
      return (item === null && refusesNull(property, how.root)) || isFor(property, item, how);
    });
  });
}

function isListed(value: Json, listed: unknown, asText: boolean): boolean {
  const text = JSON.stringify(listed);
  return JSON.stringify(value) === text || (asText && value === text);
}

function isOfType(value: Json, type: string): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  return type === (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
}

/** The listed value whose JSON text this is, unless the text itself is listed or fine. */
function meantBy(text: string, shapes: readonly Keywords[]): Json {
  const lists = shapes.map((shape) => (shape["type"] === "null" ? [null] : valuesOf(shape)));
  const values = lists.find((list) => list.length > 0) ?? [];
  if (values.includes(text)) return text;
  const meant = values.find((value) => JSON.stringify(value) === text);
  return meant === undefined ? text : copyJson(meant).copy;
}

function isEmpty(schema: unknown, root: JsonSchemaObject): boolean {
  return shapesOf(schema, root).some(
    (shape) => shape["type"] === "object" && Object.keys(Object(shape["properties"])).length === 0,
  );
}
