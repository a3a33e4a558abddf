/** The single rewrites that dialects are put together from. Each looks at one schema, before its subschemas. */

import { refusesNull, shapesOf } from "./argument-plan.ts";
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

/** The type of a value, in the words of JSON Schema. */
function typeNameOf(value: unknown): string {
  if (Number.isInteger(value)) return "integer";
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function allows(types: readonly unknown[], type: unknown): boolean {
  return types.length === 0 || types.includes(type) || (type === "integer" && types.includes("number"));
}

/** The types that two lists have in common; an empty list allows all. */
function commonTypes(one: readonly unknown[], other: readonly unknown[]): readonly unknown[] {
  return distinct([
    ...one.filter((type) => allows(other, type)),
    ...other.filter((type) => allows(one, type)),
  ]);
}

/** One schema that says what two say: names unite. Of what cannot be united the first stays, and the other is said. */
function both(first: Keywords, second: Keywords, { note }: RewriteContext): Keywords {
  const united: Record<string, unknown> = { ...second, ...first };
  const shared = Object.keys(second).filter((keyword) => Object.hasOwn(first, keyword));
  const [names, others] = [first, second].map(({ properties }) => Object.keys(asMap(properties)));
  const isForeign = names?.join() !== others?.join();
  if (isForeign && [first, second].some((one) => (one["additionalProperties"] ?? true) !== true))
    note("additionalProperties", "dropped", "of one part, which does not know the names of the other");
  for (const keyword of shared.filter((name) => !isSame(first[name], second[name]))) {
    const [own, other] = [first[keyword], second[keyword]];
    const types = commonTypes([own].flat(), [other].flat());
    if (keyword === "type" && types.length > 0) {
      note(keyword, "rewritten", "what both allow");
      united[keyword] = types.length === 1 ? types[0] : types;
    } else if (keyword === "required" || keyword === "allOf")
      united[keyword] = distinct([...asList(own), ...asList(other)]);
    else if (keyword === "properties") {
      const entries = Object.entries({ ...asMap(other), ...asMap(own) }).map(([name, property]) => {
        const isShared = Object.hasOwn(asMap(own), name) && Object.hasOwn(asMap(other), name);
        return [name, isShared ? { allOf: [property, asMap(other)[name]] } : property];
      });
      united[keyword] = Object.fromEntries(entries);
    } else if (keyword === "description") Object.assign(united, joinedDescription(own, other));
    else note(keyword, "described", `also ${keyword}: ${shortJson(other, 300)}`);
  }
  return united;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** `$ref` becomes what it points at, together with what stands beside it, whose description wins. */
export const inlineReference: Rewrite = (schema, context) => {
  const { $ref: reference, ...rest } = without(schema, "$defs", "definitions");
  if (typeof reference !== "string") return rest;
  const target = context.open(reference);
  if (target === undefined) return undefined;
  const isToldTwice = rest["description"] !== undefined && target["description"] !== undefined;
  if (isToldTwice) context.note("description", "dropped", `of ${reference}, for the one beside it`);
  return inlineReference(both(rest, isToldTwice ? without(target, "description") : target, context), context);
};

/** Only `$defs` of the root can be referred to: what any other reference points at takes its place. */
export const rootDefinitions: Rewrite = (schema, context) => {
  const { $ref: reference } = schema;
  const isKnown = typeof reference !== "string" || /^#\/\$defs\/[^/]+$/.test(reference);
  if (isKnown && schema["definitions"] === undefined) return schema;
  const rest = without(schema, "definitions");
  return isKnown ? rest : inlineReference(rest, context);
};

/** Enumerations hold text and numbers alone; a `const` of these is one of them, any other list is said in words. */
export const plainEnum: Rewrite = (schema, { note }) => {
  const { const: only, enum: listed } = schema;
  const isPlain = (value: unknown): boolean => typeof value === "string" || typeof value === "number";
  if (listed !== undefined && !asList(listed).every(isPlain)) {
    note("enum", "described", `enum: ${shortJson(listed, 300)}`);
    return without(schema, "enum");
  }
  if (!isPlain(only)) return schema;
  if (listed !== undefined)
    note(
      "enum",
      asList(listed).includes(only) ? "rewritten" : "described",
      `enum: ${shortJson(listed, 300)}`,
    );
  note("const", "rewritten", "as an enumeration of one");
  return { ...without(schema, "const"), enum: [only] };
};

/** A `$ref` may have no keywords beside it: they move around it. */
export const loneReference: Rewrite = (schema, { note }) => {
  const { $ref, $defs, definitions, ...beside } = schema;
  if ($ref === undefined || Object.keys(beside).length === 0) return schema;
  if (beside["anyOf"] !== undefined) note("anyOf", "described", `anyOf: ${shortJson(beside["anyOf"], 300)}`);
  return { ...without(schema, "$ref"), anyOf: [{ $ref }] };
};

/** `allOf` becomes one schema. */
export const mergeAllOf: Rewrite = ({ allOf, ...schema }, context) => {
  if (allOf === undefined) return schema;
  const isNever = asList(allOf).includes(false);
  context.note("allOf", isNever ? "dropped" : "rewritten", isNever ? "fits nothing" : "merged");
  return asList(allOf).reduce<Keywords>((merged, next) => {
    const part = mergeAllOf(inlineReference(asMap(next), context) ?? {}, context) ?? {};
    return both(merged, part, context);
  }, schema);
};

/** `oneOf` becomes `anyOf`, which says the same when no value fits two alternatives; beside an `anyOf` it cannot be said. */
export const oneOfToAnyOf: Rewrite = (schema, { root, note }) => {
  const { oneOf, ...rest } = schema;
  if (oneOf === undefined || rest["anyOf"] !== undefined) return schema;
  const isSplit = asList(oneOf).every((one, index, all) =>
    all.slice(index + 1).every((other) => areApart(one, other, { root, depth: 0 })),
  );
  if (isSplit) note("oneOf", "rewritten", "as anyOf");
  else note("oneOf", "described", "(exactly one of the alternatives)");
  return { ...rest, anyOf: oneOf };
};

// How deep a property may stand that tells alternatives apart.
const MAX_TAG_DEPTH = 2;

/** True when certainly no value fits both schemas: other types, other values, or so in a property that both require. */
function areApart(
  one: unknown,
  other: unknown,
  { root, depth }: { readonly root: unknown; readonly depth: number },
): boolean {
  const hasNone = (left: readonly unknown[], right: readonly unknown[]): boolean =>
    left.length > 0 && right.length > 0 && !right.some((value) => left.some((own) => isSame(own, value)));
  return shapesOf(one, root).some((left) =>
    shapesOf(other, root).some((right) => {
      const [types, others] = [typesOf(left), typesOf(right)];
      if (types.length > 0 && others.length > 0 && commonTypes(types, others).length === 0) return true;
      if (hasNone(valuesOf(left), valuesOf(right))) return true;
      if (depth >= MAX_TAG_DEPTH || ![types, others].some((names) => names.join() === "object")) return false;
      const required = asList(left["required"]).filter((name) => asList(right["required"]).includes(name));
      const [own, its] = [asMap(left["properties"]), asMap(right["properties"])];
      return required.map(String).some((name) => areApart(own[name], its[name], { root, depth: depth + 1 }));
    }),
  );
}

/** The values that a schema lists. */
export function valuesOf(schema: Keywords): readonly unknown[] {
  return "const" in schema ? [schema["const"]] : asList(schema["enum"]);
}

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
    if (own !== undefined && own !== tighter) context.note(inclusive, "rewritten", "the tighter bound stays");
    return { ...without(current, exclusive), [inclusive]: tighter };
  }, schema);

/** Which keywords go with a type when several types are split up. */
const KEYWORDS_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "format", "pattern", "minLength", "maxLength"],
  number: ["minimum", "maximum"],
  integer: ["minimum", "maximum"],
  array: ["items", "minItems", "maxItems"],
  object: ["properties", "required", "minProperties", "maxProperties"],
};

const TYPED_KEYWORDS: readonly string[] = Object.values(KEYWORDS_BY_TYPE).flat();

/**
 * Enumerations hold strings only, none of them empty, and `const` is an enumeration of one. Other values are sent as
 * their JSON text, which `restore` turns back.
 */
export const stringEnum: Rewrite = (schema, { note }) => {
  const types = typesOf(schema);
  const listed = valuesOf(schema).length === 0 && types.join() === "null" ? [null] : valuesOf(schema);
  if (listed.length === 0) return schema;
  const { const: only, enum: values, minimum = -Infinity, maximum = Infinity } = schema;
  const fitting = listed.filter(
    (value) =>
      allows(types, typeNameOf(value)) &&
      !(typeof value === "number" && (value < Number(minimum) || value > Number(maximum))),
  );
  if (fitting.length === 0) {
    for (const name of ["const", "enum"].filter((one) => one in schema))
      note(name, "dropped", "no value fits the type");
    return without(schema, "const", "enum");
  }
  const sent = fitting.filter((value) => value !== "" && (value !== null || fitting.length === 1));
  const isText = sent.every((value) => typeof value === "string");
  const keyword = only !== undefined ? "const" : values === undefined ? "type" : "enum";
  if (only !== undefined && values !== undefined) note("enum", "dropped", "beside const");
  if (keyword !== "enum" || !isText || fitting.length < listed.length)
    note(keyword, "rewritten", "a list of the strings that fit");
  if (fitting.includes("")) note(keyword, "described", '(may be the empty text "")');
  const decided = Object.keys(schema).filter(
    (name) => !isText && name !== "enum" && TYPED_KEYWORDS.includes(name),
  );
  for (const name of decided)
    note(name, /^m..imum$/.test(name) ? "rewritten" : "dropped", "the listed values decide");
  const texts = distinct(sent.map((value) => (typeof value === "string" ? value : JSON.stringify(value))));
  return {
    ...without(schema, "const", "enum", ...decided),
    type: fitting.includes(null) ? ["string", "null"] : "string",
    ...(texts.length > 0 && { enum: texts }),
  };
};

/** `type: ["T", "null"]` becomes `nullable`, several types become alternatives with the keywords that are for them. */
export const nullableTypes: Rewrite = (schema, { note }) => {
  const types = typesOf(schema);
  const named = types.filter((type) => type !== "null");
  if (schema["anyOf"] !== undefined || named.length === 0) return schema;
  const isNullable = named.length < types.length;
  if (isNullable || named.length > 1)
    note("type", "rewritten", isNullable ? "as nullable" : "as alternatives");
  const keywordsOf = (type: unknown): readonly string[] => KEYWORDS_BY_TYPE[String(type)] ?? [];
  const used = named.flatMap(keywordsOf);
  const idle = Object.keys(schema).filter((name) => TYPED_KEYWORDS.includes(name) && !used.includes(name));
  for (const name of idle)
    note(name, name === "format" ? "described" : "rewritten", `${name}: ${shortJson(schema[name], 300)}`);
  const nullable = isNullable && { nullable: true };
  if (named.length === 1) return { ...without(schema, ...idle), type: named[0], ...nullable };
  const alternatives = named.map((type) => {
    const kept = Object.entries(schema).filter(([name]) => keywordsOf(type).includes(name));
    return { ...without(schema, "type", ...TYPED_KEYWORDS), ...nullable, type, ...Object.fromEntries(kept) };
  });
  return { anyOf: alternatives };
};

/** `anyOf` has to be the only keyword of its schema: what stands beside it moves into each alternative. */
export const loneAnyOf: Rewrite = (schema, context) => {
  const { anyOf, ...beside } = schema;
  if (anyOf === undefined) return schema;
  const branches = asList(anyOf).filter((branch) => branch !== false);
  const alternatives = branches.filter((branch) => !isSame(branch, { type: "null" }));
  const types = typesOf(beside).filter((type) => type !== "null");
  const isNullable = alternatives.length < branches.length && allows(typesOf(beside), "null");
  if (alternatives.length < branches.length || alternatives.length < 2)
    context.note("anyOf", "rewritten", "as one schema, null as nullable");
  if (alternatives.length === 0) return isNullable ? both({ type: "null" }, beside, context) : undefined;
  const outer = isNullable && types.length > 0 ? { ...beside, type: types } : beside;
  const merged = alternatives.map((branch) => ({
    ...both({ ...asMap(branch), ...(isNullable && { nullable: true }) }, outer, context),
    ...joinedDescription(beside["description"], asMap(branch)["description"]),
  }));
  return merged.length === 1 ? merged[0] : { anyOf: merged };
};

/** `prefixItems` becomes the alternatives an item may be, with the order in words. */
export const tupleToList: Rewrite = ({ prefixItems, ...schema }, context) => {
  if (prefixItems === undefined) return schema;
  context.note("prefixItems", "described", `items in this order: ${shortJson(prefixItems, 300)}`);
  const { items } = schema;
  if (items === false) context.note("items", "described", "(and no more)");
  const different = distinct([...asList(prefixItems), ...(isPlainObject(items) ? [items] : [])]);
  return { ...schema, items: different.length === 1 ? different[0] : { anyOf: different } };
};

/** An array has to say what its items are. */
export const declaredItems: Rewrite = (schema, context) => {
  const says = schema["prefixItems"] !== undefined || isPlainObject(schema["items"]);
  if (says || !typesOf(schema).includes("array")) return schema;
  const isEmpty = schema["items"] === false;
  context.note(
    "items",
    isEmpty ? "dropped" : "rewritten",
    isEmpty ? "has to be empty" : "any item, said with {}",
  );
  return { ...schema, items: {} };
};

/** An enumeration without a type gets the type of its values. */
export const typedValues: Rewrite = (schema) => {
  const types = distinct(valuesOf(schema).map((value) => typeNameOf(value).replace("integer", "number")));
  if (schema["type"] !== undefined || types.length === 0) return schema;
  return { type: types.length === 1 ? types[0] : types, ...schema };
};

// Keywords that say what a value is, or become ones that do.
const TELLING = ["type", "anyOf", "oneOf", "allOf", "const", "enum", "$ref"];

/** What has no type gets the one its keywords are for, or else is sent as text. */
export const typedAnything: Rewrite = (schema, context) => {
  if (TELLING.some((keyword) => schema[keyword] !== undefined)) return schema;
  const [implied] =
    Object.entries(KEYWORDS_BY_TYPE).find(([, names]) => names.some((name) => schema[name] !== undefined)) ??
    [];
  if (implied !== undefined) return { type: implied, ...schema };
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

// 400 "array schema missing items" for type ["array", "null"] with items (github.com/dcdpr/jp/pull/674; 2026-11-30).
const HOLDERS: readonly unknown[] = ["array", "object"];

/** Strict mode: a known type everywhere, every object closed, every property required; optional ones may be null. */
export const closed: Rewrite = (schema, { root, note }) => {
  const types = typesOf(schema);
  const { properties, additionalProperties: rest, anyOf, $ref, items } = schema;
  if (types.length === 0 && anyOf === undefined && $ref === undefined)
    note("type", "dropped", "a value of any type cannot be strict");
  if (types.length > 1 && types.some((type) => HOLDERS.includes(type)))
    note("type", "dropped", "a list or an object among several types cannot be strict");
  if (types.includes("array") && !isPlainObject(items))
    note("items", "dropped", "a list of anything cannot be strict");
  const names = Object.keys(asMap(properties));
  if (asList(schema["required"]).some((name) => !names.includes(String(name))))
    note("required", "dropped", "a property that is declared elsewhere cannot be strict");
  if (!types.includes("object")) return schema;
  const isOpen = rest === undefined ? properties === undefined : rest !== false;
  if (isOpen) note("additionalProperties", "dropped", "an open object cannot be strict");
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
  const { anyOf, type } = schema;
  const isPlain = valuesOf(schema).length === 0 && ![type].flat().some((name) => HOLDERS.includes(name));
  if (type !== undefined && isPlain) return { ...schema, type: [...typesOf(schema), "null"] };
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  return {
    ...joinedDescription(schema["description"]),
    anyOf: [without(schema, "description"), { type: "null" }],
  };
}
