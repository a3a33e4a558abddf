/** The single rewrites that dialects are put together from. Each looks at one schema, before its subschemas. */

import { refusesNull } from "./argument-plan.ts";
import { isPlainObject } from "./json.ts";
import { shortJson } from "./short-json.ts";

/** A schema on its way into a dialect; never changed in place. */
export type Draft = Readonly<Record<string, unknown>>;

/** What happened to a keyword. */
export type LossAction = "dropped" | "rewritten" | "inlined" | "described";

/** What a rewrite may know and say. */
export interface RewriteContext {
  readonly root: unknown;
  /** What a reference points at, to be put in its place; undefined where recursion has to be cut. */
  open(reference: string): Draft | undefined;
  /** Lists a change; `described` also tells the model the sentence. */
  note(keyword: string, action: LossAction, note: string): void;
}

/** Changes one schema. Returns it untouched when there is nothing to do, undefined to leave it out. */
export type Rewrite = (schema: Draft, context: RewriteContext) => Draft | undefined;

function without(schema: Draft, ...keywords: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));
}

/** The same keys in the same order, with one renamed and given a new value. */
function replace(schema: Draft, keyword: string, entry: readonly [string, unknown]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).map((pair) => (pair[0] === keyword ? entry : pair)));
}

function branchesOf(schema: Draft, keyword: string): readonly unknown[] {
  const value = schema[keyword];
  return Array.isArray(value) ? value : [];
}

function joined(...texts: readonly unknown[]): Record<string, unknown> {
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

/** A `$ref` may have no keywords beside it: they move around it. */
export const loneReference: Rewrite = (schema) => {
  const { $ref, $defs, definitions, ...beside } = schema;
  if ($ref === undefined || Object.keys(beside).length === 0) return schema;
  return { ...without(schema, "$ref"), anyOf: [{ $ref }] };
};

/** `allOf` becomes one schema: properties and required names united, for other keywords the first wins. */
export const mergeAllOf: Rewrite = (schema, context) => {
  if (branchesOf(schema, "allOf").length === 0) return schema;
  const parts = branchesOf(schema, "allOf").map((part) => mergeAllOf(inlineReference(asMap(part), context) ?? {}, context) ?? {});
  context.note("allOf", "rewritten", "merged into one schema");
  return parts.reduce<Draft>((merged, part) => {
    const clash = Object.keys(part).find((keyword) => !UNITED.has(keyword) && keyword in merged && shortJson(merged[keyword]) !== shortJson(part[keyword]));
    if (clash !== undefined) context.note("allOf", "described", `and also ${clash} ${shortJson(part[clash], 200)}`);
    return {
      ...part,
      ...merged,
      ...joined(merged["description"], part["description"]),
      ...(part["properties"] || merged["properties"] ? { properties: { ...asMap(part["properties"]), ...asMap(merged["properties"]) } } : {}),
      ...(part["required"] || merged["required"] ? { required: [...new Set([...branchesOf(merged, "required"), ...branchesOf(part, "required")])] } : {}),
    };
  }, without(schema, "allOf"));
};

const UNITED: ReadonlySet<string> = new Set(["properties", "required", "description", "title"]);

function asMap(value: unknown): Record<string, unknown> {
  return isPlainObject(value) ? value : {};
}

/** `const` becomes an enumeration of one. */
export const constToEnum: Rewrite = (schema, context) => {
  if (schema["const"] === undefined) return schema;
  context.note("const", "rewritten", "as an enum of one");
  return replace(schema, "const", ["enum", [schema["const"]]]);
};

/** `oneOf` becomes `anyOf`. */
export const oneOfToAnyOf: Rewrite = (schema, context) => {
  if (schema["oneOf"] === undefined) return schema;
  if (schema["anyOf"] !== undefined) return without(schema, "oneOf"); // two unions at once cannot be said
  context.note("oneOf", "rewritten", "as anyOf");
  return replace(schema, "oneOf", ["anyOf", schema["oneOf"]]);
};

/** An exclusive bound of an integer becomes the next integer; of a number, the bound itself and a sentence. */
export const inclusiveBounds: Rewrite = (schema, context) => {
  let changed = schema;
  for (const [exclusive, inclusive, step] of [["exclusiveMinimum", "minimum", 1], ["exclusiveMaximum", "maximum", -1]] as const) {
    const bound = changed[exclusive];
    if (typeof bound !== "number") continue;
    const whole = changed["type"] === "integer";
    const next = whole ? (step > 0 ? Math.floor(bound) + 1 : Math.ceil(bound) - 1) : bound;
    context.note(exclusive, whole ? "rewritten" : "described", whole ? `as ${inclusive} ${next}` : `${exclusive}: ${bound}`);
    const own = changed[inclusive];
    const tighter = typeof own === "number" && own * step > next * step ? own : next;
    changed = replace(without(changed, inclusive), exclusive, [inclusive, tighter]);
  }
  return changed;
};

/** Enumerations hold strings only; `restore` turns them back. */
export const stringEnum: Rewrite = (schema, context) => {
  const values = branchesOf(schema, "enum");
  if (values.length === 0) return schema;
  const texts = values.filter((value) => value !== null).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  if (texts.length === 0) return { ...without(schema, "enum"), type: "null" };
  const type = texts.length < values.length || [schema["type"]].flat().includes("null") ? ["string", "null"] : "string";
  if (values.every((value) => value === null || typeof value === "string")) return { ...schema, type, enum: texts };
  context.note("enum", "rewritten", "values as strings");
  return { ...without(schema, "minimum", "maximum", "format"), type, enum: texts };
};

/** The keywords of each type, for schemas of several types. */
const KEYWORDS_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "format", "pattern", "minLength", "maxLength"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
  array: ["items", "minItems", "maxItems"],
  object: ["properties", "required", "minProperties", "maxProperties"],
};

/** `type: ["T", "null"]` and a null alternative become `nullable`; several types become alternatives. */
export const nullableTypes: Rewrite = (schema, context) => {
  const types = [schema["type"] ?? []].flat();
  const branches = branchesOf(schema, "anyOf");
  const alternatives = branches.filter((branch) => !isPlainObject(branch) || branch["type"] !== "null");
  const nullable = types.includes("null") || alternatives.length < branches.length ? { nullable: true } : {};
  const named = types.filter((type) => type !== "null");
  if (types.length > 1 || "nullable" in nullable) context.note("type", "rewritten", named.length > 1 ? "as anyOf" : "as nullable");
  if (branches.length > 0) return aloneInUnion({ ...without(schema, "anyOf", "type"), ...nullable }, alternatives);
  if (named.length <= 1) return { ...schema, ...(types.length > 0 && { type: named[0] ?? "string" }), ...nullable };
  const typed = named.map((type) => ({ type, ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => KEYWORDS_BY_TYPE[String(type)]?.includes(keyword))) }));
  return aloneInUnion({ ...without(schema, "type", ...Object.values(KEYWORDS_BY_TYPE).flat()), ...nullable }, typed);
};

/** `anyOf` has to be the only keyword of its schema: what stands beside it moves into each alternative. */
function aloneInUnion(beside: Draft, alternatives: readonly unknown[]): Draft {
  const merged = alternatives.map((branch) => ({ ...beside, ...asMap(branch), ...joined(beside["description"], asMap(branch)["description"]) }));
  return merged.length === 1 ? (merged[0] ?? {}) : { anyOf: merged };
}

/** `prefixItems` becomes the alternatives an item may be, with the length in words. */
export const tupleToList: Rewrite = (schema, context) => {
  const parts = branchesOf(schema, "prefixItems");
  if (parts.length === 0) return schema;
  context.note("prefixItems", "described", `items in this order: ${shortJson(parts, 300)}`);
  const rest = isPlainObject(schema["items"]) ? [schema["items"]] : [];
  const different = [...new Map([...parts, ...rest].map((part) => [JSON.stringify(part), part])).values()];
  return { ...without(schema, "prefixItems"), items: different.length === 1 ? different[0] : { anyOf: different } };
};

/** An array has to say what its items are. */
export const declaredItems: Rewrite = (schema, context) => {
  if (![schema["type"]].flat().includes("array") || (schema["items"] !== undefined && schema["items"] !== true)) return schema;
  if (schema["prefixItems"] !== undefined) return schema;
  context.note("items", "rewritten", "any item, said with {}");
  return { ...schema, items: {} };
};

/** Values without a type get the type of their enumeration. */
export const typedValues: Rewrite = (schema) => {
  const values = "const" in schema ? [schema["const"]] : branchesOf(schema, "enum");
  if (schema["type"] !== undefined || values.length === 0) return schema;
  const types = [...new Set(values.map((value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)))];
  return { type: types.length === 1 ? types[0] : types, ...schema };
};

/** What has no type is sent as text. */
export const typedAnything: Rewrite = (schema, context) => {
  if (schema["type"] !== undefined || schema["anyOf"] !== undefined) return schema;
  if (isPlainObject(schema["properties"])) return { type: "object", ...schema };
  context.note("type", "described", "any JSON value");
  return { type: "string", ...schema };
};

/** Every object closed and every property required; optional ones may be null, which `restore` removes. */
export const closedObject: Rewrite = (schema, context) => {
  if (![schema["type"]].flat().includes("object")) return schema;
  const properties = asMap(schema["properties"]);
  const rest = schema["additionalProperties"];
  if ((rest !== undefined && rest !== false) || (rest === undefined && schema["properties"] === undefined)) {
    context.note("additionalProperties", "dropped", "an open object cannot be strict");
  }
  const required = new Set(branchesOf(schema, "required"));
  const names = Object.keys(properties);
  const optional = names.filter((name) => !required.has(name));
  if (optional.length > 0) context.note("required", "rewritten", `${optional.join(", ")}: optional, so required and nullable`);
  const filled = names.map((name) => [name, required.has(name) ? properties[name] : orNull(properties[name], context.root)]);
  return { ...schema, properties: Object.fromEntries(filled), required: names, additionalProperties: false };
};

function orNull(schema: unknown, root: unknown): unknown {
  if (!isPlainObject(schema) || !refusesNull(schema, root)) return schema;
  if (Array.isArray(schema["anyOf"])) return { ...schema, anyOf: [...schema["anyOf"], { type: "null" }] };
  if ("enum" in schema || "const" in schema || schema["type"] === undefined) return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [...[schema["type"]].flat(), "null"] };
}

/** Strict mode has to know the type of every value. */
export const knownType: Rewrite = (schema, context) => {
  if (["type", "anyOf", "$ref"].every((keyword) => schema[keyword] === undefined)) context.note("type", "dropped", "a value of any type cannot be strict");
  return schema;
};

/** Draft-07 spells tuples, definitions, anchors and dependencies differently, and ignores what stands beside a `$ref`. */
export function draft07Spelling(schema: Draft): Draft {
  const { $ref: reference, $anchor: anchor, $defs, definitions, prefixItems, items, dependentRequired, dependentSchemas, ...rest } = schema;
  const defined = { ...asMap(definitions), ...asMap($defs) };
  const dependencies = { ...asMap(dependentRequired), ...asMap(dependentSchemas) };
  const link = typeof reference === "string" ? { $ref: reference.replaceAll("/$defs/", "/definitions/").replaceAll("/prefixItems/", "/items/") } : undefined;
  const beside = Object.keys(rest).length + Object.keys(defined).length > 0;
  const tuple = prefixItems === undefined ? { items } : { items: prefixItems, additionalItems: items };
  const changed: Record<string, unknown> = {
    ...(anchor === undefined ? {} : { $id: `#${String(anchor)}` }),
    ...(link !== undefined && !beside ? link : {}),
    ...rest,
    ...Object.fromEntries(Object.entries(tuple).filter(([, value]) => value !== undefined)),
    ...(Object.keys(dependencies).length > 0 && { dependencies }),
    ...(link !== undefined && beside && { allOf: [...branchesOf(rest, "allOf"), link] }),
    ...(Object.keys(defined).length > 0 && { definitions: defined }),
  };
  return changed;
}
