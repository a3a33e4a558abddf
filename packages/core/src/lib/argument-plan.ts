/** What has to be done to arguments before they are validated, worked out once per schema. */

import { type Json, type JsonObject, isPlainObject, joinPath } from "./json.ts";
import { declaredProperties, resolveLocalReference, subschemas } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";

/** The plan of one schema. */
export interface ArgumentPlan {
  /** Top-level names that stay; undefined where the schema itself decides about others. */
  readonly known: ReadonlySet<string> | undefined;
  readonly nulls: NullPlan;
  /** True when validation may fill something in. */
  readonly hasDefaults: boolean;
}

/** Where `null` means "left out". */
export interface NullPlan {
  /** Properties whose schema refuses null. */
  readonly drop: Set<string>;
  readonly properties: Map<string, NullPlan>;
  items?: NullPlan;
}

// Memoised by schema object, which is frozen: the same schema always has the same plan.
const plans = new WeakMap<JsonSchemaObject, ArgumentPlan>();

/** The plan of a (frozen) schema, one per schema object. */
export function planOf(schema: JsonSchemaObject): ArgumentPlan {
  let plan = plans.get(schema);
  if (plan === undefined) {
    const { names, statesRest } = declaredProperties(schema, schema);
    const known = statesRest ? undefined : names;
    plan = { known, nulls: nullPlan(schema, schema, new Map()), hasDefaults: mentionsDefault(schema) };
    plans.set(schema, plan);
  }
  return plan;
}

function mentionsDefault(schema: unknown): boolean {
  if (!isPlainObject(schema)) return false;
  return schema["default"] !== undefined || subschemas(schema).some((at) => mentionsDefault(at.schema));
}

function nullPlan(schema: unknown, root: unknown, made: Map<unknown, NullPlan>): NullPlan {
  const known = made.get(schema);
  if (known !== undefined) return known;
  const plan: NullPlan = { drop: new Set(), properties: new Map() };
  made.set(schema, plan); // before its children, since a schema may refer to itself
  for (const shape of shapesOf(schema, root)) {
    const { properties, items } = shape;
    if (isPlainObject(items)) plan.items = nullPlan(items, root, made);
    if (!isPlainObject(properties)) continue;
    for (const [name, property] of Object.entries(properties)) {
      if (refusesNull(property, root)) plan.drop.add(name);
      plan.properties.set(name, nullPlan(property, root, made));
    }
  }
  return plan;
}

/** The schemas that certainly apply to a value: the schema, what it refers to, `allOf`, the one alternative that is not null. */
export function shapesOf(schema: unknown, root: unknown): readonly Record<string, unknown>[] {
  if (!isPlainObject(schema)) return [];
  const { $ref, allOf, anyOf, oneOf } = schema;
  const target = typeof $ref === "string" ? resolveLocalReference(root, $ref) : undefined;
  const unions = [anyOf, oneOf].flatMap((branches) => {
    const others = Array.isArray(branches)
      ? branches.filter((branch) => !isPlainObject(branch) || branch["type"] !== "null")
      : [];
    return others.length === 1 ? others : [];
  });
  const more = [target, ...(Array.isArray(allOf) ? allOf : []), ...unions];
  return [schema, ...more.flatMap((part) => shapesOf(part, root))];
}

/** True when the schema certainly refuses null; in doubt false. */
export function refusesNull(schema: unknown, root: unknown): boolean {
  if (!isPlainObject(schema)) return schema === false;
  const { type, $ref, allOf, anyOf, oneOf } = schema;
  if (type !== undefined && ![type].flat().includes("null")) return true;
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(null)) return true;
  if (schema["const"] !== undefined && schema["const"] !== null) return true;
  if (typeof $ref === "string" && refusesNull(resolveLocalReference(root, $ref), root)) return true;
  if (Array.isArray(allOf) && allOf.some((part) => refusesNull(part, root))) return true;
  return [anyOf, oneOf].some(
    (branches) => Array.isArray(branches) && branches.every((branch) => refusesNull(branch, root)),
  );
}

/** Removes, in place, each null that means "left out". Nulls inside arrays stay. */
export function removeNulls(value: Json, plan: NullPlan): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    if (plan.items !== undefined) for (const item of value) removeNulls(item, plan.items);
    return;
  }
  for (const [name, item] of Object.entries(value)) {
    if (item === null && plan.drop.has(name)) Reflect.deleteProperty(value, name);
    else if (typeof item === "object") {
      const below = plan.properties.get(name);
      if (below !== undefined) removeNulls(item, below);
    }
  }
}

/** The arguments without unknown top-level names, and those names. */
export function dropUnknown(
  args: JsonObject,
  known: ReadonlySet<string>,
): { readonly kept: JsonObject; readonly unknown: readonly string[] } {
  const unknown = Object.keys(args).filter((name) => !known.has(name));
  if (unknown.length === 0) return { kept: args, unknown };
  return { kept: Object.fromEntries(Object.entries(args).filter(([name]) => known.has(name))), unknown };
}

/** The objects inside a value and the names they have now. */
export type NamesBefore = readonly {
  readonly object: object;
  readonly path: string;
  readonly names: readonly string[];
}[];

/** Notes which names every object inside a value has. */
export function noteNames(value: Json, path: string = ""): NamesBefore {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => noteNames(item, joinPath(path, index)));
  const below = Object.entries(value).flatMap(([name, item]) => noteNames(item, joinPath(path, name)));
  return [{ object: value, path, names: Object.keys(value) }, ...below];
}

/** The dotted paths of the names that came in since `before` was noted. */
export function namesAdded(before: NamesBefore): readonly string[] {
  return before.flatMap(({ object, path, names }) => {
    const now = Object.keys(object);
    if (now.length === names.length) return [];
    return now.filter((name) => !names.includes(name)).map((name) => joinPath(path, name));
  });
}
