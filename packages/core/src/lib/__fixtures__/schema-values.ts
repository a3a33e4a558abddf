/** Values for a schema, for property tests: most fit it, and a validator has to say which. */

import fastCheck from "fast-check";
import { isPlainObject } from "../json.ts";

type Keywords = Readonly<Record<string, unknown>>;
type Values = fastCheck.Arbitrary<unknown>;

const TEXTS = ["", "a", "1", "2", "true", "null", "ab-c", "2026-11-30", "2026-11-30T10:00:00Z", "https://example.com/a", "a@example.com", "12:00:00Z", "550e8400-e29b-41d4-a716-446655440000", "long enough to pass a lower bound of some length"];
const ALL_TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"];

/** What a model might write under a schema of any dialect. References end at `depth`. */
export function valuesFor(schema: unknown, root: unknown = schema, depth: number = 5): Values {
  if (schema === true || schema === undefined) return fastCheck.constantFrom<unknown>("a", 1, true, null, [], {});
  if (!isPlainObject(schema) || depth < 0) return fastCheck.constant({});
  const { nullable, ...rest } = schema;
  const values = ofNode(rest, root, depth);
  return nullable === true ? fastCheck.oneof({ weight: 4, arbitrary: values }, fastCheck.constant(null)) : values;
}

function ofNode(schema: Keywords, root: unknown, depth: number): Values {
  const below = (node: unknown): Values => valuesFor(node, root, depth - 1);
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return fastCheck.constantFrom<unknown>(...schema["enum"]);
  if ("const" in schema) return fastCheck.constant(schema["const"]);
  if (typeof schema["$ref"] === "string") return below(pointedAt(root, schema["$ref"]));
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = schema[keyword];
    const { [keyword]: _, ...beside } = schema;
    if (Array.isArray(branches) && branches.length > 0)
      return fastCheck.oneof(...branches.map((branch) => valuesFor({ ...beside, ...Object(branch) }, root, depth)));
  }
  if (Array.isArray(schema["allOf"])) {
    const { allOf, ...beside } = schema;
    return valuesFor(allOf.reduce(united, beside), root, depth);
  }
  const types = schema["type"] === undefined ? implied(schema) : [schema["type"]].flat();
  return fastCheck.oneof(...types.map((type) => ofType(String(type).toLowerCase(), schema, below)));
}

function united(one: Keywords, other: unknown): Keywords {
  const more = isPlainObject(other) ? other : {};
  const properties = { ...Object(more["properties"]), ...Object(one["properties"]) };
  return { ...more, ...one, ...(Object.keys(properties).length > 0 && { properties }) };
}

function implied(schema: Keywords): readonly unknown[] {
  if ("properties" in schema || "required" in schema) return ["object"];
  if ("items" in schema || "prefixItems" in schema) return ["array"];
  return ALL_TYPES;
}

function ofType(type: string, schema: Keywords, below: (node: unknown) => Values): Values {
  const number = (keyword: string, otherwise: number): number => Number(schema[keyword] ?? otherwise);
  if (type === "null") return fastCheck.constant(null);
  if (type === "boolean") return fastCheck.boolean();
  if (type === "string") return fastCheck.constantFrom(...TEXTS);
  if (type === "object") return objects(schema, below);
  if (type === "array") {
    const least = Math.min(number("minItems", 0), 20);
    const rest = schema["items"] === false ? fastCheck.constant([]) : fastCheck.array(below(schema["items"]), { minLength: least, maxLength: least + 2 });
    const first = Array.isArray(schema["prefixItems"]) ? fastCheck.tuple(...schema["prefixItems"].map(below)) : fastCheck.constant([]);
    return first.chain((start) => rest.map((end) => [...start, ...end]));
  }
  const low = Math.ceil(Math.max(number("minimum", -3), number("exclusiveMinimum", -4)));
  const high = Math.max(low, Math.floor(Math.min(number("maximum", low + 9), number("exclusiveMaximum", low + 9))));
  const whole = fastCheck.integer({ min: low, max: high });
  return type === "number" ? fastCheck.oneof(whole, whole.map((value) => value + 0.5)) : whole;
}

function objects(schema: Keywords, below: (node: unknown) => Values): Values {
  const properties: Record<string, Values> = Object.fromEntries(
    Object.entries(Object(schema["properties"])).map(([name, property]) => [name, below(property)]),
  );
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String).filter((name) => Object.hasOwn(properties, name)) : [];
  const known = fastCheck.record(properties, { requiredKeys: required, noNullPrototype: true });
  if (schema["additionalProperties"] === false) return known;
  const more = fastCheck.dictionary(fastCheck.constantFrom("more", "x-more"), below(isPlainObject(schema["additionalProperties"]) ? schema["additionalProperties"] : { type: "integer" }), { maxKeys: 1, noNullPrototype: true });
  return fastCheck.tuple(known, fastCheck.oneof({ weight: 3, arbitrary: fastCheck.constant({}) }, more)).map(([one, other]) => ({ ...other, ...one }));
}

function pointedAt(root: unknown, reference: string): unknown {
  const steps = reference.slice(1).split("/").slice(1);
  return steps.reduce<unknown>((node, step) => Object(node)[decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")], root);
}
