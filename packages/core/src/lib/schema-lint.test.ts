import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitrarySchema } from "./__fixtures__/arbitrary-schema.ts";
import { lintSchema } from "./schema-lint.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { validatorFor } from "./validate.ts";

const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);

function problemsOf(
  properties: Record<string, unknown>,
  more: Record<string, unknown> = {},
): readonly string[] {
  return lintSchema({ type: "object", properties, ...more }, { root: true }).map(
    ({ path, problem }) => `${path}: ${problem}`,
  );
}

describe("the root of a tool's schema", () => {
  it("core T5: must be an object, even with properties present", () => {
    const [problem] = lintSchema({ type: "array", properties: {} }, { root: true });
    expect(problem).toMatchObject({ path: "", keyword: "type" });
    expect(problem?.problem).toContain('type "object"');
    expect(problem?.problem).toContain('"array"');
  });
  it("needs properties, and an empty map is fine", () => {
    expect(lintSchema({ type: "object" }, { root: true })[0]?.problem).toContain("an empty {} is fine");
    expect(lintSchema({ type: "object", properties: {} }, { root: true })).toEqual([]);
  });
  it("is not true, a string, null or a Map", () => {
    for (const value of [true, "x", null, new Map(), [], 5n])
      expect(lintSchema(value, { root: true })).toHaveLength(1);
  });
  it("is free where the schema is not a tool's input", () => {
    expect(lintSchema({ type: "array", items: { type: "string" } })).toEqual([]);
    expect(lintSchema(true)).toEqual([]);
  });
});

describe("keywords", () => {
  it("core T7: an unknown keyword is named with its path and the nearest known one", () => {
    expect(problemsOf({ a: { type: "string", minLenght: 1 } })).toEqual([
      'properties.a.minLenght: is not a keyword of JSON Schema 2020-12 that tools can use; did you mean "minLength"?',
    ]);
  });
  it("x- keywords pass, words of other dialects do not", () => {
    expect(problemsOf({ a: { type: "string", "x-widget": { anything: 1 } } })).toEqual([]);
    expect(problemsOf({ a: { type: "string", nullable: true } })[0]).toContain("is not a keyword");
    expect(problemsOf({ a: { $dynamicRef: "#" } })[0]).toContain("that tools can use");
    expect(problemsOf({ a: { constructor: 1 } })[0]).toContain("is not a keyword");
  });
  it.each([
    [{ type: "any" }, "type"],
    [{ type: [] }, "type"],
    [{ type: ["string", "string"] }, "type"],
    [{ enum: [] }, "enum"],
    [{ minLength: "3" }, "minLength"],
    [{ minLength: 1.5 }, "minLength"],
    [{ minLength: -1 }, "minLength"],
    [{ minimum: "0" }, "minimum"],
    [{ exclusiveMinimum: true }, "exclusiveMinimum"],
    [{ multipleOf: 0 }, "multipleOf"],
    [{ required: true }, "required"],
    [{ required: ["a", "a"] }, "required"],
    [{ properties: [] }, "properties"],
    [{ items: [{ type: "string" }] }, "items"],
    [{ anyOf: [] }, "anyOf"],
    [{ anyOf: {} }, "anyOf"],
    [{ not: "x" }, "not"],
    [{ description: 5 }, "description"],
    [{ uniqueItems: "yes" }, "uniqueItems"],
    [{ pattern: "[" }, "pattern"],
    [{ pattern: "\\-" }, "pattern"],
    [{ patternProperties: { "(": true } }, "patternProperties"],
    [{ dependentRequired: { a: "b" } }, "dependentRequired"],
    [{ $anchor: 5 }, "$anchor"],
    [{ $id: "https://example.com/a" }, "$id"],
    [{ definitions: 1 }, "definitions"],
    [{ examples: "x" }, "examples"],
  ])("%j is refused at its path", (schema, keyword) => {
    const [problem] = problemsOf({ a: schema });
    expect(problem).toContain(`properties.a.${keyword}`);
  });
  it("a pattern may hold what only the u flag allows", () => {
    expect(problemsOf({ a: { type: "string", pattern: "^\\p{L}+$" } })).toEqual([]);
  });
  it("values have to be JSON", () => {
    expect(problemsOf({ a: { default: () => 1 } })[0]).toContain("properties.a.default: is a function");
    expect(problemsOf({ a: { const: 5n } })[0]).toContain("properties.a.const: is a bigint");
    expect(problemsOf({ a: { minimum: Number.NaN } })[0]).toContain("NaN");
  });
});

describe("required", () => {
  it("names only declared properties", () => {
    expect(problemsOf({ color: {} }, { required: ["colour"] })).toEqual([
      'required: names "colour", which is not in properties; did you mean "color"?',
    ]);
  });
  it("may name others where additionalProperties or patternProperties lets them in", () => {
    expect(problemsOf({}, { required: ["a"], additionalProperties: true })).toEqual([]);
    expect(problemsOf({}, { required: ["a"], patternProperties: { "^a": {} } })).toEqual([]);
    expect(problemsOf({}, { required: ["a"], additionalProperties: false })).toHaveLength(1);
  });
  it("sees properties through combinators and references, in both directions", () => {
    expect(problemsOf({ a: {}, b: {} }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] })).toEqual([]);
    expect(problemsOf({ a: {} }, { anyOf: [{ required: ["z"] }] })).toHaveLength(1);
    expect(problemsOf({}, { required: ["a"], allOf: [{ properties: { a: {} } }] })).toEqual([]);
    expect(
      problemsOf({}, { required: ["a"], $ref: "#/$defs/x", $defs: { x: { properties: { a: {} } } } }),
    ).toEqual([]);
  });
});

describe("references", () => {
  it("are local and resolve, as pointers", () => {
    expect(
      problemsOf({ a: { $ref: "#/$defs/a~1b" }, c: { $ref: "#" } }, { $defs: { "a/b": { type: "string" } } }),
    ).toEqual([]);
    expect(problemsOf({ a: { $ref: "https://example.com/x.json" } })[0]).toContain("local reference");
    expect(problemsOf({ a: { $ref: "#/$defs/none" } })[0]).toContain("where no schema is");
    expect(problemsOf({ a: { $ref: "#n" } })[0]).toContain("local reference");
    expect(problemsOf({ a: { $ref: "#/properties" } })[0]).toContain("where no schema is");
  });
  it("may be recursive through a property but not for the same value", () => {
    expect(problemsOf({ child: { $ref: "#" } })).toEqual([]);
    expect(problemsOf({}, { allOf: [{ $ref: "#" }] })[0]).toContain("never ends");
    expect(
      problemsOf({ a: { $ref: "#/$defs/a" } }, { $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }] } } })[0],
    ).toContain("never ends");
  });
});

describe("depth", () => {
  const nested = (depth: number): Record<string, unknown> =>
    depth === 1 ? {} : { items: nested(depth - 1) };
  it("is at most 32", () => {
    expect(lintSchema(nested(32))).toEqual([]);
    expect(lintSchema(nested(33))[0]?.problem).toContain("deeper than 32");
  });
  it("also ends for a schema that contains itself", () => {
    const schema: Record<string, unknown> = {};
    schema["items"] = schema;
    expect(lintSchema(schema)).not.toEqual([]);
  });
});

describe("what passes the lint", () => {
  it("compiles in ajv, over a generated corpus", async () => {
    let passed = 0;
    await fastCheck.assert(
      fastCheck.asyncProperty(arbitrarySchema, async (generated) => {
        const schema: unknown = JSON.parse(
          JSON.stringify({
            type: "object",
            properties: {},
            additionalProperties: true,
            items: generated,
            ...(typeof generated === "object" ? generated : {}),
          }),
        );
        if (!isSchema(schema) || lintSchema(schema).length > 0) return;
        passed += 1;
        const validator = validatorFor(schema);
        await validator.warm();
        for (const value of [{}, { a: 1, b: "x" }, [1, "a"], "a", null])
          await validator.validate(structuredClone(value));
      }),
      { numRuns: Math.ceil(3_000 * scale) },
    );
    expect(passed).toBeGreaterThan(300 * scale);
  }, 120_000);
});

function isSchema(schema: unknown): schema is JsonSchemaObject {
  return typeof schema === "object" && schema !== null;
}
