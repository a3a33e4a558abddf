/** Arguments that fit a dialect's schema become arguments for the original one. */

import { planOf, refusesNull, removeNulls, shapesOf } from "./argument-plan.ts";
import { copyJson, isPlainObject, type Json, type JsonObject } from "./json.ts";
import { quickCheck } from "./quick-check.ts";
import type { JsonSchema, JsonSchemaObject } from "./schema.ts";

/** Where a schema went whose root the dialect refuses. */
export const WRAPPER_PROPERTY = "input";

/** What compiling did that has to be undone. */
export interface RestoreOptions {
  /** The root went under one property. */
  readonly wrapped: boolean;
  /** Required objects without properties were left out. */
  readonly omitsEmptyObjects: boolean;
}

/**
 * A copy of the arguments without the nulls of optional properties, with enumeration values of the type they had, with the
 * empty objects that could not be asked for, and out of the wrapper. Validation against the original schema follows.
 */
export function restoreArguments(
  schema: JsonSchemaObject,
  args: JsonObject,
  options: RestoreOptions,
): JsonObject {
  const inner = options.wrapped ? args[WRAPPER_PROPERTY] : args;
  const { copy } = copyJson(isPlainObject(inner) ? inner : args);
  removeNulls(copy, planOf(schema).nulls);
  const restored = restoreValue(schema, copy, { root: schema, ...options });
  return isObject(restored) ? restored : args;
}

interface RestoreState extends RestoreOptions {
  readonly root: JsonSchemaObject;
}

function isObject(value: Json | undefined): value is JsonObject {
  return isPlainObject(value);
}

function restoreValue(schema: unknown, value: Json, state: RestoreState): Json {
  if (typeof value === "string") return restoreChoice(schema, value, state);
  if (typeof value !== "object" || value === null) return value;
  return shapesOf(schema, state.root).reduce<Json>(
    (current, shape) => restoreBelow(shape, current, state),
    value,
  );
}

function restoreBelow(shape: Readonly<Record<string, unknown>>, value: Json, state: RestoreState): Json {
  if (Array.isArray(value)) {
    const parts = Array.isArray(shape["prefixItems"]) ? shape["prefixItems"] : [];
    return value.map((item: Json, index) => restoreValue(parts[index] ?? shape["items"], item, state));
  }
  if (!isObject(value) || !isPlainObject(shape["properties"])) return value;
  const restored: Record<string, Json> = { ...value };
  for (const [name, property] of Object.entries(shape["properties"])) {
    const item = value[name];
    if (item !== undefined && Object.hasOwn(value, name))
      restored[name] = restoreValue(property, item, state);
    else if (state.omitsEmptyObjects && isNeededEmptyObject(shape, name, state)) restored[name] = {};
  }
  return restored;
}

function isNeededEmptyObject(
  shape: Readonly<Record<string, unknown>>,
  name: string,
  state: RestoreState,
): boolean {
  const { properties, required } = shape;
  if (!Array.isArray(required) || !required.includes(name) || !isPlainObject(properties)) return false;
  return shapesOf(properties[name], state.root).some(
    (part) => part["type"] === "object" && Object.keys(part["properties"] ?? {}).length === 0,
  );
}

/** A text that fits nothing but stands for one of the values which may be sent only as text. */
function restoreChoice(schema: unknown, value: string, state: RestoreState): Json {
  const choices = choicesOf(schema, state).filter((choice) => typeof choice !== "string" && choice !== null);
  const meant = choices.find((choice) => JSON.stringify(choice) === value);
  if (meant === undefined || (isSchema(schema) && quickCheck(schema, value) === "valid")) return value;
  return copyJson(meant).copy;
}

function isSchema(schema: unknown): schema is JsonSchema {
  return typeof schema === "boolean" || isPlainObject(schema);
}

function choicesOf(schema: unknown, state: RestoreState): readonly unknown[] {
  return shapesOf(schema, state.root).flatMap((shape) => {
    const own = [shape["enum"], shape["const"] === undefined ? [] : [shape["const"]]].flatMap((list) =>
      Array.isArray(list) ? list : [],
    );
    const unions = [shape["anyOf"], shape["oneOf"]].flatMap((list) => (Array.isArray(list) ? list : []));
    return [
      ...own,
      ...unions
        .filter((branch) => refusesNull(branch, state.root))
        .flatMap((branch) => choicesOf(branch, state)),
    ];
  });
}
