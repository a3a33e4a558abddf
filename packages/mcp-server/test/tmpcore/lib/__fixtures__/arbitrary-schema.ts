/** Generated schemas for property tests: often right, sometimes wrong, so that the lint decides. */

import fastCheck from "fast-check";

const arbitrary = fastCheck.letrec<{ schema: unknown }>((tie) => {
  const sub = tie("schema");
  const name = fastCheck.constantFrom("a", "b", "__proto__", "constructor", "a/b", "%41", "");
  const count = fastCheck.oneof({ weight: 9, arbitrary: fastCheck.nat(5) }, fastCheck.constantFrom(1.5, -1, "1"));
  const keywords = {
    type: fastCheck.oneof(fastCheck.constantFrom("object", "array", "string", "integer", "null"), fastCheck.constant(["string", "null"])),
    enum: fastCheck.array(fastCheck.jsonValue({ maxDepth: 1 }), { maxLength: 3 }),
    const: fastCheck.oneof(fastCheck.jsonValue({ maxDepth: 1 }), fastCheck.constant({ $id: "#", $anchor: "1" })),
    default: fastCheck.jsonValue({ maxDepth: 1 }),
    properties: fastCheck.dictionary(name, sub, { maxKeys: 3 }),
    patternProperties: fastCheck.dictionary(fastCheck.constantFrom("^a", "[", "\\p{L}", "a|b"), sub, { maxKeys: 2 }),
    required: fastCheck.array(name, { maxLength: 2 }),
    additionalProperties: sub,
    propertyNames: sub,
    dependentRequired: fastCheck.dictionary(name, fastCheck.array(name, { maxLength: 2 }), { maxKeys: 2 }),
    // Not "constructor": json-schema-traverse, below ajv, takes that name for a keyword that holds a map.
    dependentSchemas: fastCheck.dictionary(fastCheck.constantFrom("a", "b"), sub, { maxKeys: 2 }),
    items: sub,
    prefixItems: fastCheck.array(sub, { maxLength: 2 }),
    contains: sub,
    minContains: count,
    minItems: count,
    uniqueItems: fastCheck.boolean(),
    minLength: count,
    maximum: fastCheck.oneof(fastCheck.double(), fastCheck.nat(9)),
    multipleOf: fastCheck.oneof(fastCheck.constantFrom(0, -1, 0.1), fastCheck.nat(9)),
    pattern: fastCheck.constantFrom("^a$", "[", "(?<n>a)", "\\p{L}", "\\-", "a{2,1}", "(?=a)"),
    format: fastCheck.constantFrom("uri", "date-time", "no-such-format"),
    anyOf: fastCheck.array(sub, { maxLength: 2 }),
    oneOf: fastCheck.array(sub, { maxLength: 2 }),
    allOf: fastCheck.array(sub, { maxLength: 2 }),
    not: sub,
    if: sub,
    then: sub,
    else: sub,
    unevaluatedProperties: sub,
    unevaluatedItems: sub,
    $ref: fastCheck.constantFrom("#", "#/$defs/a", "#/properties/a", "#n", "#/items", "https://example.com", "#/$defs/%E0%A4%A"),
    $anchor: fastCheck.constantFrom("n", "m", "1"),
    "x-more": fastCheck.constant({ $id: "#", $anchor: "1", $ref: "https://example.com" }),
    examples: fastCheck.constant([{ $id: "#", $anchor: "1" }]),
    $defs: fastCheck.dictionary(fastCheck.constantFrom("a", "b"), sub, { maxKeys: 2 }),
    $id: fastCheck.constantFrom("urn:x", "not a uri %", "#"),
    $schema: fastCheck.constantFrom("http://json-schema.org/draft-07/schema#", "nonsense"),
    minLenght: fastCheck.nat(),
    nullable: fastCheck.boolean(),
    $async: fastCheck.boolean(),
    id: fastCheck.string(),
  };
  const names = Object.keys(keywords);
  return {
    schema: fastCheck.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fastCheck.boolean(),
      fastCheck.subarray(names.slice(0, -4), { maxLength: 4 }).chain((picked) => fastCheck.record(Object.fromEntries(Object.entries(keywords).filter(([key]) => picked.includes(key))))),
      fastCheck.record(keywords, { requiredKeys: [] }),
    ),
  };
});


/** A schema, or something that is nearly one. */
export const arbitrarySchema: fastCheck.Arbitrary<unknown> = arbitrary.schema;
