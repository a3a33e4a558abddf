import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "./json.ts";
import { quickCheck } from "./quick-check.ts";
import type { JsonSchema, JsonSchemaObject, JsonTypeName } from "./schema.ts";
import { lintSchema } from "./schema-lint.ts";
import { validatorFor } from "./validate.ts";

const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);

describe("quickCheck", () => {
  it.each<[JsonSchema, Json]>([
    [
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      { a: "x", more: 1 },
    ],
    [{ type: "object", properties: {}, additionalProperties: false }, {}],
    [
      { type: "object", additionalProperties: { type: "integer" } },
      { a: 1, b: 2 },
    ],
    [{ type: ["string", "null"] }, null],
    [{ type: "integer" }, 3.0],
    [{ enum: ["a", 1, null] }, null],
    [{ const: "a" }, "a"],
    [{ type: "array", items: { type: "array", items: { type: "number" } } }, [[1.5], []]],
    [{ type: "string", minLength: 2, maxLength: 2 }, "😀😀"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, null],
    [{ type: "object", properties: { a: { default: 1 } } }, { a: 2 }],
    [{ title: "t", description: "d", "x-anything": { pattern: "(" } }, [1]],
    [true, 1],
  ])("%j takes %j", (schema, value) => {
    expect(quickCheck(schema, value)).toBe("valid");
  });
  it.each<[JsonSchema, Json]>([
    [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, {}],
    [{ type: "object", properties: {}, additionalProperties: false }, { constructor: 1 }],
    [{ type: "object", required: ["toString"] }, {}],
    [{ type: "integer" }, 3.5],
    [{ type: "number" }, "3"],
    [{ type: "object" }, [1]],
    [{ type: "object" }, null],
    [{ type: "string", maxLength: 1 }, "ab"],
    [{ enum: [{ a: 1 }] }, { a: 1 }],
    [false, 1],
  ])("%j is unsure about %j, which is not valid or not its business", (schema, value) => {
    expect(quickCheck(schema, value)).toBe("unsure");
  });
  it.each<JsonSchemaObject>([
    { type: "string", format: "uri" },
    { type: "string", pattern: "." },
    { $ref: "#/$defs/a" },
    { oneOf: [true] },
    { allOf: [true] },
    { not: false },
    { multipleOf: 1 },
    { uniqueItems: true },
    { prefixItems: [true] },
    { unknownKeyword: 1 },
    { constructor: 1 },
  ])("is unsure about every value of %j", (schema) => {
    expect(quickCheck(schema, "x")).toBe("unsure");
  });
  it("leaves a missing property with a default to ajv", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "object", properties: { b: { default: 1 } } } },
    } as const;
    expect(quickCheck(schema, {})).toBe("valid");
    expect(quickCheck(schema, { a: {} })).toBe("unsure");
  });
  it("whatever it calls valid ajv calls valid, and changes nothing", async () => {
    let agreed = 0;
    await fastCheck.assert(
      fastCheck.asyncProperty(
        schemas.schema,
        fastCheck.array(values.value, { minLength: 1, maxLength: 6 }),
        async (schema, samples) => {
          if (lintSchema(schema).length > 0) return;
          const validator = validatorFor(schema);
          await validator.warm();
          for (const sample of samples) {
            if (quickCheck(schema, sample) === "unsure") continue;
            agreed += 1;
            const copy = structuredClone(sample);
            const problems = await validator.validate(copy);
            if (problems[0]?.message.startsWith("cannot be compared") === true) continue; // ajv gave up, see validate.ts
            expect(problems).toEqual([]);
            expect(copy).toEqual(sample);
          }
        },
      ),
      { numRuns: Math.ceil(4_000 * scale) },
    );
    expect(agreed).toBeGreaterThan(1_000 * scale);
  }, 120_000);
});

const values = fastCheck.letrec<{ value: Json }>((tie) => ({
  value: fastCheck.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fastCheck.constantFrom<Json>(
      null,
      true,
      false,
      0,
      -0,
      1,
      3,
      1.5,
      1e300,
      "",
      "a",
      "ab",
      "😀",
      "😀😀",
      "\ud800",
      "constructor",
    ),
    fastCheck.array(tie("value"), { maxLength: 3 }),
    fastCheck.dictionary(fastCheck.constantFrom("a", "b", "constructor", "toString", "1"), tie("value"), {
      maxKeys: 3,
    }),
  ),
}));

const schemas = fastCheck.letrec<{ schema: JsonSchemaObject; sub: JsonSchema }>((tie) => {
  const sub = tie("sub");
  const name = fastCheck.constantFrom("a", "b", "constructor", "toString", "1");
  const small = fastCheck.nat(3);
  const types = fastCheck.constantFrom<JsonTypeName[]>(
    "object",
    "array",
    "string",
    "integer",
    "number",
    "boolean",
    "null",
  );
  const keywords = {
    type: fastCheck.oneof(types, fastCheck.uniqueArray(types, { minLength: 1, maxLength: 3 })),
    enum: fastCheck.array(values.value, { minLength: 1, maxLength: 4 }),
    const: values.value,
    default: values.value,
    properties: fastCheck.dictionary(name, sub, { maxKeys: 3 }),
    required: fastCheck.uniqueArray(name, { maxLength: 2 }),
    additionalProperties: sub,
    items: sub,
    anyOf: fastCheck.array(sub, { minLength: 1, maxLength: 3 }),
    minLength: small,
    maxLength: small,
    minimum: fastCheck.constantFrom(0, 1.5, -1),
    exclusiveMinimum: fastCheck.constantFrom(0, 1),
    maximum: fastCheck.constantFrom(3, 1e300),
    exclusiveMaximum: fastCheck.constantFrom(3, 1.5),
    minItems: small,
    maxItems: small,
    format: fastCheck.constantFrom("uri", "date"),
    uniqueItems: fastCheck.boolean(),
    description: fastCheck.constant("d"),
  };
  const some = fastCheck.subarray(Object.keys(keywords), { minLength: 1, maxLength: 4 });
  return {
    sub: fastCheck.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fastCheck.boolean(),
      types.map((type) => ({ type })),
      tie("schema"),
    ),
    schema: some.chain((picked) =>
      fastCheck.record(Object.fromEntries(Object.entries(keywords).filter(([key]) => picked.includes(key)))),
    ),
  };
});
