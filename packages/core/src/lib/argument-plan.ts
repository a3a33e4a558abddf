/** What has to be done to arguments before they are validated, worked out once per schema. */

import { isPlainObject, type Json, type JsonObject, joinPath } from "./json.ts";
import { declaredProperties, type Keywords, resolveLocalReference, subschemas } from "./schema-walk.ts";
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
  const known = plans.get(schema);
  if (known !== undefined) return known;
  const { names, statesRest } = declaredProperties(schema, schema);
  const nulls = nullPlan(schema, { root: schema, made: new Map() });
  const plan = { known: statesRest ? undefined : names, nulls, hasDefaults: mentionsDefault(schema) };
  plans.set(schema, plan);
  return plan;
}

function mentionsDefault(schema: unknown): boolean {
  if (!isPlainObject(schema)) return false;
  return schema["default"] !== undefined || subschemas(schema).some((at) => mentionsDefault(at.schema));
}

function nullPlan(
  schema: unknown,
  state: { readonly root: unknown; readonly made: Map<unknown, NullPlan> },
): NullPlan {
  const known = state.made.get(schema);
  if (known !== undefined) return known;
  const plan: NullPlan = { drop: new Set(), properties: new Map() };
  state.made.set(schema, plan); // before its children, since a schema may refer to itself
  for (const { properties, items } of shapesOf(schema, state.root)) {
    if (isPlainObject(items)) plan.items = nullPlan(items, state);
    for (const [name, property] of isPlainObject(properties) ? Object.entries(properties) : []) {
      if (refusesNull(property, state.root)) plan.drop.add(name);
      plan.properties.set(name, nullPlan(property, state));
    }
  }
  return plan;
}

/** The schemas that certainly apply: the schema, what it refers to, `allOf`, and the one alternative that is not null. */
export function shapesOf(schema: unknown, root: unknown): readonly Keywords[] {
  if (!isPlainObject(schema)) return [];
  const unions = [schema["anyOf"], schema["oneOf"]].filter(Array.isArray);
  const others = unions.map((branches) =>
    branches.filter((branch) => !isPlainObject(branch) || branch["type"] !== "null"),
  );
  const parts = [schema["allOf"], ...others.filter((branches) => branches.length === 1)].flat();
  return [
    schema,
    ...[resolveLocalReference(root, schema["$ref"]), ...parts].flatMap((part) => shapesOf(part, root)),
  ];
}

/** True when the schema certainly refuses null; in doubt false. */
export function refusesNull(schema: unknown, root: unknown): boolean {
  if (!isPlainObject(schema)) return schema === false;
  const { type, enum: values, const: constant, $ref, allOf } = schema;
  if (type !== undefined && ![type].flat().includes("null")) return true;
  if (Array.isArray(values) && !values.includes(null)) return true;
  if (constant !== undefined && constant !== null) return true;
  const refuses = (part: unknown): boolean => refusesNull(part, root);
  if (refuses(resolveLocalReference(root, $ref)) || [allOf].flat().some(refuses)) return true;
  return [schema["anyOf"], schema["oneOf"]].some(
    (branches) => Array.isArray(branches) && branches.every(refuses),
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
    const below = typeof item === "object" ? plan.properties.get(name) : undefined;
    if (item === null && plan.drop.has(name)) Reflect.deleteProperty(value, name);
    else if (below !== undefined) removeNulls(item, below);
  }
}

/** The arguments without unknown top-level names, and those names. */
export function dropUnknown(
  args: JsonObject,
  known: ArgumentPlan["known"],
): { readonly kept: JsonObject; readonly unknown: readonly string[] } {
  const unknown = known === undefined ? [] : Object.keys(args).filter((name) => !known.has(name));
  if (unknown.length === 0) return { kept: args, unknown };
  return { kept: Object.fromEntries(Object.entries(args).filter(([name]) => known?.has(name))), unknown };
}

/** The dotted paths of the properties that `after` has and `before` had not, in what both have. */
export function namesAdded(before: unknown, after: unknown, path: string = ""): readonly string[] {
  if (Array.isArray(before) && Array.isArray(after))
    return before.flatMap((item, index) => namesAdded(item, after[index], joinPath(path, index)));
  if (!isPlainObject(before) || !isPlainObject(after)) return [];
  const [old, now] = [Object.keys(before), Object.keys(after)];
  const added = now.length === old.length ? [] : now.filter((name) => !Object.hasOwn(before, name));
  const below = old.flatMap((name) => namesAdded(before[name], after[name], joinPath(path, name)));
  return [...added.map((name) => joinPath(path, name)), ...below];
}
