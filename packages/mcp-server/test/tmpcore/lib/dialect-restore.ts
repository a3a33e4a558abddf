/** Arguments that fit a dialect's schema become arguments for the original one. */

import { planOf, refusesNull, removeNulls, shapesOf } from "./argument-plan.ts";
import { copyJson, isPlainObject, type Json, type JsonObject } from "./json.ts";
import { quickCheck } from "./quick-check.ts";
import { type Keywords, ownValue } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";

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
 * A copy of the arguments without the nulls of optional properties, with enumeration values of the type they had, with
 * the empty objects that could not be asked for, and out of the wrapper. Validation against the original schema follows.
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

function isObject(value: Json): value is JsonObject {
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

function restoreBelow(shape: Keywords, value: Json, state: RestoreState): Json {
  const { properties, required, prefixItems, items } = shape;
  if (Array.isArray(value)) {
    return value.map((item: Json, index) => restoreValue(ownValue(prefixItems, index) ?? items, item, state));
  }
  if (!isObject(value) || !isPlainObject(properties)) return value;
  const restored: Record<string, Json> = { ...value };
  for (const [name, property] of Object.entries(properties)) {
    const item = Object.hasOwn(value, name) ? value[name] : undefined;
    if (item !== undefined) restored[name] = restoreValue(property, item, state);
    else if (
      state.omitsEmptyObjects &&
      Array.isArray(required) &&
      required.includes(name) &&
      isEmptyObject(property, state)
    )
      restored[name] = {};
  }
  return restored;
}

function isEmptyObject(schema: unknown, { root }: RestoreState): boolean {
  return shapesOf(schema, root).some(
    ({ type, properties = {} }) => type === "object" && Object.keys(Object(properties)).length === 0,
  );
}

/** A text that fits nothing but stands for one of the values which may be sent only as text. */
function restoreChoice(schema: unknown, value: string, state: RestoreState): Json {
  const meant = choicesOf(schema, state).find(
    (choice) => typeof choice !== "string" && choice !== null && JSON.stringify(choice) === value,
  );
  const isText = isPlainObject(schema) && quickCheck(schema, value) === "valid";
  return meant === undefined || isText ? value : copyJson(meant).copy;
}

function choicesOf(schema: unknown, state: RestoreState): readonly unknown[] {
  return shapesOf(schema, state.root).flatMap((shape) => {
    const own = [shape["enum"] ?? [], shape["const"] ?? []].flat();
    const branches = [shape["anyOf"] ?? [], shape["oneOf"] ?? []].flat();
    const closed = branches.filter((branch) => refusesNull(branch, state.root)); // one that takes anything needs no help
    return [...own, ...closed.flatMap((branch) => choicesOf(branch, state))];
  });
}
