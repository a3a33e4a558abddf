/** The single rewrites that dialects are put together from. Each looks at one schema, before its subschemas. */

import { refusesNull } from "./argument-plan.ts";
import { isPlainObject } from "./json.ts";
import type { Keywords } from "./schema-walk.ts";
import { shortJson } from "./short-json.ts";

/** What happened to a keyword. */
export type LossAction = "dropped" | "rewritten" | "inlined" | "described";

/** What a rewrite may know and say. */
export interface RewriteContext {
  readonly root: unknown;
  /** What a reference points at, to be put in its place; undefined where recursion has to be cut. */
  open(reference: string): Keywords | undefined;
  /** Lists a change; a `described` one also tells the model the note. */
  note(keyword: string, action: LossAction, note: string): void;
}

/** Changes one schema. Returns it untouched when there is nothing to do, undefined to leave it out. */
export type Rewrite = (schema: Keywords, context: RewriteContext) => Keywords | undefined;

function without(schema: Keywords, ...keywords: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function asMap(value: unknown): Record<string, unknown> {
  return isPlainObject(value) ? value : {};
}

function typesOf({ type }: Keywords): readonly unknown[] {
  return type === undefined ? [] : [type].flat();
}

/** Equal values once. */
export function distinct<T>(values: readonly T[]): readonly T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Texts joined with a space as a description to spread; nothing when there is none. */
export function joinedDescription(...texts: readonly unknown[]): { readonly description?: string } {
  const text = texts.filter((part) => typeof part === "string" && part !== "").join(" ");
  return text === "" ? {} : { description: text };
}

/** `$ref` becomes what it points at; what stands beside it wins. */
export const inlineReference: Rewrite = (schema, context) => {
  const { $ref: reference, ...rest } = without(schema, "$defs", "definitions");
  if (typeof reference !== "string") return rest;
  const target = context.open(reference);
  return target === undefined ? undefined : inlineReference({ ...target, ...rest }, context);
};

/** Only `$defs` of the root can be referred to: what any other reference points at takes its place. */
export const rootDefinitions: Rewrite = (schema, context) => {
  const { $ref: reference } = schema;
  const isKnown = typeof reference !== "string" || /^#\/\$defs\/[^/]+$/.test(reference);
  if (isKnown && schema["definitions"] === undefined) return schema;
  const rest = without(schema, "definitions");
  return isKnown ? rest : inlineReference(rest, context);
};

/** A `const` that is text or a number is an enumeration of one. */
export const singleEnum: Rewrite = (schema) => {
  const { const: only } = schema;
  if (typeof only !== "string" && typeof only !== "number") return schema;
  return { ...without(schema, "const"), enum: [only] };
};

/** A `$ref` may have no keywords beside it: they move around it. */
export const loneReference: Rewrite = (schema) => {
  const { $ref, $defs, definitions, ...beside } = schema;
  if ($ref === undefined || Object.keys(beside).length === 0) return schema;
  return { ...without(schema, "$ref"), anyOf: [{ $ref }] };
};

/** `allOf` becomes one schema: properties and required names united, of other keywords the first wins. */
export const mergeAllOf: Rewrite = ({ allOf, ...schema }, context) => {
  if (allOf === undefined) return schema;
  context.note("allOf", "rewritten", "merged into one schema");
  return asList(allOf).reduce<Keywords>((merged, next) => {
    const part = mergeAllOf(inlineReference(asMap(next), context) ?? {}, context) ?? {};
    const properties = { ...asMap(part["properties"]), ...asMap(merged["properties"]) };
    const required = distinct([...asList(merged["required"]), ...asList(part["required"])]);
    return {
      ...part,
      ...merged,
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(required.length > 0 && { required }),
      ...joinedDescription(merged["description"], part["description"]),
    };
  }, schema);
};

/** `oneOf` becomes `anyOf`; beside an `anyOf` it cannot be said. */
export const oneOfToAnyOf: Rewrite = (schema, context) => {
  if (schema["oneOf"] === undefined || schema["anyOf"] !== undefined) return schema;
  context.note("oneOf", "rewritten", "as anyOf");
  return { ...without(schema, "oneOf"), anyOf: schema["oneOf"] };
};

const BOUNDS = [
  ["exclusiveMinimum", "minimum", 1],
  ["exclusiveMaximum", "maximum", -1],
] as const;

/** An exclusive bound of an integer becomes the next integer; of a number the bound itself, and is said. */
export const inclusiveBounds: Rewrite = (schema, context) =>
  BOUNDS.reduce<Keywords>((current, [exclusive, inclusive, up]) => {
    const { [exclusive]: bound, [inclusive]: own, type } = current;
    if (typeof bound !== "number") return current;
    const next = type === "integer" ? up * (Math.floor(up * bound) + 1) : bound;
    context.note(exclusive, type === "integer" ? "rewritten" : "described", `${exclusive}: ${bound}`);
    const tighter = typeof own === "number" && up * own > up * next ? own : next;
    return { ...without(current, exclusive), [inclusive]: tighter };
  }, schema);

/** Enumerations hold strings only, and `const` is an enumeration of one. */
export const stringEnum: Rewrite = ({ const: only, ...schema }, context) => {
  const values = only === undefined ? asList(schema["enum"]) : [only];
  if (values.length === 0) return schema;
  const present = values.filter((value) => value !== null);
  if (present.length === 0) return { ...without(schema, "enum"), type: "null" };
  const isNullable = present.length < values.length || typesOf(schema).includes("null");
  const isText = present.every((value) => typeof value === "string");
  if (!isText || only !== undefined) context.note("enum", "rewritten", "values as a list of strings");
  const texts = present.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const rest = isText ? schema : without(schema, "minimum", "maximum", "format");
  return { ...rest, type: isNullable ? ["string", "null"] : "string", enum: texts };
};

/** Which keywords go with a type when several types are split up. */
const KEYWORDS_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "format", "pattern", "minLength", "maxLength"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
  array: ["items", "minItems", "maxItems"],
  object: ["properties", "required", "minProperties", "maxProperties"],
};

/**
 * `type: ["T", "null"]` and a null alternative become `nullable`, several types become alternatives, and what stands
 * beside an `anyOf` moves into each alternative, since `anyOf` has to be the only keyword of its schema.
 */
export const nullableTypes: Rewrite = (schema, context) => {
  const types = typesOf(schema);
  const branches = asList(schema["anyOf"]);
  const alternatives = branches.filter((branch) => asMap(branch)["type"] !== "null");
  const named = types.filter((type) => type !== "null");
  const isNullable = named.length < types.length || alternatives.length < branches.length;
  if (isNullable || named.length > 1)
    context.note("type", "rewritten", isNullable ? "as nullable" : "as alternatives");
  const nullable = isNullable && { nullable: true };
  if (branches.length === 0 && named.length <= 1)
    return { ...schema, ...(types.length > 0 && { type: named[0] ?? "string" }), ...nullable };
  const split = branches.length === 0 ? Object.values(KEYWORDS_BY_TYPE).flat() : ["anyOf"];
  const beside = without(schema, "type", ...split);
  const own = (type: unknown): Keywords => {
    const keywords = KEYWORDS_BY_TYPE[String(type)] ?? [];
    return {
      type,
      ...Object.fromEntries(Object.entries(schema).filter(([name]) => keywords.includes(name))),
    };
  };
  const merged = (branches.length === 0 ? named.map(own) : alternatives.map(asMap)).map((branch) => ({
    ...beside,
    ...nullable,
    ...branch,
    ...joinedDescription(beside["description"], branch["description"]),
  }));
  return merged.length === 1 ? merged[0] : { anyOf: merged };
};

/** `prefixItems` becomes the alternatives an item may be, with the order in words. */
export const tupleToList: Rewrite = ({ prefixItems, ...schema }, context) => {
  if (prefixItems === undefined) return schema;
  context.note("prefixItems", "described", `items in this order: ${shortJson(prefixItems, 300)}`);
  const { items } = schema;
  const different = distinct([...asList(prefixItems), ...(isPlainObject(items) ? [items] : [])]);
  return { ...schema, items: different.length === 1 ? different[0] : { anyOf: different } };
};

/** An array has to say what its items are. */
export const declaredItems: Rewrite = (schema, context) => {
  const says = schema["prefixItems"] !== undefined || isPlainObject(schema["items"]);
  if (says || !typesOf(schema).includes("array")) return schema;
  context.note("items", "rewritten", "any item, said with {}");
  return { ...schema, items: {} };
};

/** An enumeration without a type gets the type of its values. */
export const typedValues: Rewrite = (schema) => {
  const values = "const" in schema ? [schema["const"]] : asList(schema["enum"]);
  if (schema["type"] !== undefined || values.length === 0) return schema;
  const nameOf = (value: unknown): string =>
    value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const types = distinct(values.map(nameOf));
  return { type: types.length === 1 ? types[0] : types, ...schema };
};

// Keywords that say what a value is, or become ones that do.
const TELLING = ["type", "anyOf", "oneOf", "allOf", "const", "enum", "$ref"];

/** What has no type is sent as text. */
export const typedAnything: Rewrite = (schema, context) => {
  if (TELLING.some((keyword) => schema[keyword] !== undefined)) return schema;
  if (isPlainObject(schema["properties"])) return { type: "object", ...schema };
  context.note("type", "described", "(any JSON value)");
  return { type: "string", ...schema };
};

/** Every object says that it has no other properties; one that is open by its own words loses that. */
export const closedObjects: Rewrite = (schema, { note }) => {
  const { properties, additionalProperties: rest } = schema;
  if (rest === false || !typesOf(schema).includes("object")) return schema;
  if (rest !== undefined || properties === undefined)
    note("additionalProperties", "dropped", "an open object cannot be asked for");
  return { ...schema, additionalProperties: false };
};

/** Strict mode: a known type everywhere, every object closed, every property required; optional ones may be null. */
export const closed: Rewrite = (schema, { root, note }) => {
  const types = typesOf(schema);
  const { properties, additionalProperties: rest, anyOf, $ref, items } = schema;
  if (types.length === 0 && anyOf === undefined && $ref === undefined)
    note("type", "dropped", "a value of any type cannot be strict");
  if (types.includes("array") && !isPlainObject(items))
    note("items", "dropped", "a list of anything cannot be strict");
  if (!types.includes("object")) return schema;
  const isOpen = rest === undefined ? properties === undefined : rest !== false;
  if (isOpen) note("additionalProperties", "dropped", "an open object cannot be strict");
  const names = Object.keys(asMap(properties));
  const optional = names.filter((name) => !asList(schema["required"]).includes(name));
  if (optional.length > 0)
    note("required", "rewritten", `optional, so required and nullable: ${optional.join(", ")}`);
  const entries = Object.entries(asMap(properties)).map(([name, property]) => [
    name,
    optional.includes(name) ? orNull(property, root) : property,
  ]);
  return { ...schema, properties: Object.fromEntries(entries), required: names, additionalProperties: false };
};

function orNull(schema: unknown, root: unknown): unknown {
  if (!isPlainObject(schema) || !refusesNull(schema, root)) return schema;
  const { description, anyOf, type, ...rest } = schema;
  if (type !== undefined && !("enum" in rest || "const" in rest))
    return { ...schema, type: [...typesOf(schema), "null"] };
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  return { ...joinedDescription(description), anyOf: [without(schema, "description"), { type: "null" }] };
}
