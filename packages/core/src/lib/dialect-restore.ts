/** Arguments that fit a dialect's schema become arguments for the original one. */

import { planOf, removeNulls, shapesOf } from "./argument-plan.ts";
import { copyJson, isPlainObject, type Json, type JsonObject } from "./json.ts";
import type { JsonSchemaObject } from "./schema.ts";

/**
 * A copy of the arguments without the nulls of optional properties and, with `fillsEmpty`, with the empty objects that
 * could not be asked for. Validation against the original schema follows.
 */
export function restoreArguments(
  schema: JsonSchemaObject,
  args: JsonObject,
  fillsEmpty: boolean,
): JsonObject {
  const { copy } = copyJson(args);
  removeNulls(copy, planOf(schema).nulls);
  const restored = fillsEmpty ? withEmptyObjects(schema, copy, schema) : copy;
  return isObject(restored) ? restored : args;
}

function isObject(value: Json): value is JsonObject {
  return isPlainObject(value);
}

function withEmptyObjects(schema: unknown, value: Json, root: JsonSchemaObject): Json {
  if (typeof value !== "object" || value === null) return value;
  return shapesOf(schema, root).reduce<Json>((current, { properties, required, items }) => {
    if (Array.isArray(current)) return current.map((item: Json) => withEmptyObjects(items, item, root));
    const restored: Record<string, Json> = { ...Object(current) };
    for (const [name, property] of Object.entries(isPlainObject(properties) ? properties : {})) {
      const item = Object.hasOwn(restored, name) ? restored[name] : undefined;
      const isEmpty = shapesOf(property, root).some(
        (shape) => shape["type"] === "object" && Object.keys(Object(shape["properties"])).length === 0,
      );
      if (item !== undefined) restored[name] = withEmptyObjects(property, item, root);
      else if (isEmpty && Array.isArray(required) && required.includes(name)) restored[name] = {};
    }
    return restored;
  }, value);
}
