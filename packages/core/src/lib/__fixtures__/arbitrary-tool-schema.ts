/** Generated schemas of tools as people write them: all are valid, and most hold something that a dialect does not take. */

import fastCheck from "fast-check";
import type { JsonSchemaObject } from "../schema.ts";

type Schemas = fastCheck.Arbitrary<Record<string, unknown>>;

function pick(...schemas: readonly Record<string, unknown>[]): Schemas {
  return fastCheck.constantFrom(...schemas);
}

/** One value without anything inside it. */
const leaf: Schemas = pick(
  { type: "string" },
  { type: "string", minLength: 1, pattern: "^[a-z]" },
  { type: "string", format: "uri", default: "https://example.com/a" },
  { type: "string", format: "date-time" },
  { type: "string", enum: ["a", "b", ""] },
  { type: ["string", "null"], minLength: 1 },
  { type: "integer", minimum: 1, maximum: 9 },
  { type: "integer", exclusiveMinimum: 0 },
  { type: "number", exclusiveMaximum: 3, multipleOf: 0.5 },
  { type: ["integer", "string"], minimum: 2, maxLength: 4 },
  { enum: [1, 2, 3] },
  { type: "integer", enum: [1, 5, 20], minimum: 2 },
  { type: "number", enum: [0.5, 1, "a"] },
  { enum: [true, "true", null, 1] },
  { type: ["string", "null"], enum: ["a", null] },
  { const: 1 },
  { const: null },
  { const: true },
  { type: "string", const: "only" },
  { type: "boolean", description: "Whether." },
  { type: "null" },
  { type: "object" },
  { type: "object", properties: {}, additionalProperties: false },
  { type: "object", additionalProperties: { type: "string" } },
  { type: "array" },
  { type: "array", items: false },
  { type: "array", items: true, minItems: 1 },
  { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false },
  { type: "array", items: { type: "integer", enum: [1, 2] }, uniqueItems: true },
  {},
  { description: "Anything." },
);

const named = fastCheck.constantFrom("a", "b", "kind", "page size", "$top", "größe");
const described = fastCheck.option(fastCheck.constantFrom("What it is.", "Another."), { nil: undefined });

const { schema } = fastCheck.letrec<{ schema: Record<string, unknown>; object: Record<string, unknown> }>((tie) => ({
  object: fastCheck
    .record({
      properties: fastCheck.dictionary(named, tie("schema"), { maxKeys: 3 }),
      closed: fastCheck.constantFrom(undefined, false, true),
      picked: fastCheck.nat(7),
    })
    .map(({ properties, closed, picked }) => ({
      type: "object",
      properties,
      ...(closed !== undefined && { additionalProperties: !closed }),
      required: Object.keys(properties).filter((_name, index) => ((picked >> index) & 1) === 1),
    })),
  schema: fastCheck.oneof(
    { maxDepth: 3, withCrossShrink: true, depthIdentifier: "tool" },
    { weight: 4, arbitrary: leaf },
    { weight: 3, arbitrary: tie("object") },
    { weight: 1, arbitrary: tie("schema").map((items) => ({ type: "array", items })) },
    {
      weight: 1,
      arbitrary: fastCheck
        .tuple(fastCheck.constantFrom("anyOf", "oneOf"), tie("schema"), tie("schema"), described)
        .map(([union, one, other, description]) => ({ [union]: [one, other], ...(description !== undefined && { description }) })),
    },
    { weight: 1, arbitrary: tie("schema").map((one) => ({ anyOf: [one, { type: "null" }], default: null })) },
    {
      weight: 1,
      arbitrary: fastCheck.tuple(tie("object"), tie("object")).map(([one, other]) => ({
        oneOf: [tagged(one, "one"), tagged(other, "other")],
      })),
    },
    { weight: 1, arbitrary: fastCheck.tuple(tie("object"), tie("object")).map((parts) => ({ allOf: parts })) },
    { weight: 1, arbitrary: fastCheck.tuple(leaf, leaf).map(([one, other]) => ({ ...one, allOf: [other] })) },
    { weight: 1, arbitrary: fastCheck.tuple(tie("object"), leaf).map(([one, other]) => ({ ...one, anyOf: [other, { required: ["a"] }] })) },
    { weight: 1, arbitrary: fastCheck.tuple(pick({ $ref: "#/$defs/one" }, { $ref: "#/$defs/node" }), described).map(([one, description]) => ({ ...one, ...(description !== undefined && { description }) })) },
    { weight: 1, arbitrary: pick({ $ref: "#/$defs/one", maxLength: 3 }, { $ref: "#/$defs/node", required: ["value"] }) },
  ),
}));

function tagged(schema: Record<string, unknown>, kind: string): Record<string, unknown> {
  const required = Array.isArray(schema["required"]) ? schema["required"].filter((name) => name !== "kind") : [];
  return { ...schema, properties: { ...Object(schema["properties"]), kind: { const: kind } }, required: ["kind", ...required] };
}

/** A tool's input. Half of them refer to definitions, one of which is recursive. */
export const arbitraryToolSchema: fastCheck.Arbitrary<JsonSchemaObject> = fastCheck
  .record({
    properties: fastCheck.dictionary(named, schema, { maxKeys: 4 }),
    one: schema,
    closed: fastCheck.boolean(),
    picked: fastCheck.nat(15),
  })
  .map(({ properties, one, closed, picked }) => ({
    type: "object",
    properties,
    required: Object.keys(properties).filter((_name, index) => ((picked >> index) & 1) === 1),
    ...(closed && { additionalProperties: false }),
    $defs: {
      one: JSON.stringify(one).includes("$ref") ? { type: "string", minLength: 2 } : one,
      node: {
        type: "object",
        properties: { value: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
        additionalProperties: false,
      },
    },
  }));
