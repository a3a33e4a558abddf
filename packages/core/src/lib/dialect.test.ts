import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { arbitrarySchema } from "./__fixtures__/arbitrary-schema.ts";
import { PROVIDER_OPINIONS } from "./__fixtures__/dialect-validators.ts";
import { prepareArguments } from "./arguments.ts";
import { type CompiledSchema, compileSchema } from "./dialect.ts";
import { DIALECT_RULES, type SchemaDialect, SCHEMA_DIALECTS } from "./dialect-rules.ts";
import { deepFreeze, isPlainObject } from "./json.ts";
import { emitJsonSchema } from "./schema-source.ts";
import { lintSchema } from "./schema-lint.ts";
import type { JsonSchema, JsonSchemaObject } from "./schema.ts";

const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);

function object(properties: Record<string, JsonSchema>, more: JsonSchemaObject = {}): JsonSchemaObject {
  return deepFreeze({ type: "object", properties, ...more });
}

function keywordsOf(compiled: CompiledSchema): readonly string[] {
  return compiled.losses.map((loss) => loss.keyword);
}

/** The compiled schema of one property. */
function property(
  schema: JsonSchema,
  dialect: SchemaDialect,
  more: JsonSchemaObject = { required: ["a"] },
): unknown {
  const { schema: sent } = compileSchema(object({ a: schema }, more), dialect);
  return isPlainObject(sent) && isPlainObject(sent["properties"]) ? sent["properties"]["a"] : undefined;
}

describe("every dialect", () => {
  it("is cached by schema object and dialect, and frozen", () => {
    const schema = object({ a: { type: "string" } });
    expect(compileSchema(schema, "openai")).toBe(compileSchema(schema, "openai"));
    expect(Object.isFrozen(compileSchema(schema, "openai").schema)).toBe(true);
  });
  it("says a tool without arguments as a closed empty object, which Gemini forbids", () => {
    for (const dialect of SCHEMA_DIALECTS) {
      const closed = { type: "object", properties: {}, additionalProperties: false };
      const compiled = compileSchema(object({}, { $defs: { unused: {} } }), dialect);
      expect(compiled.schema, dialect).toEqual(dialect === "gemini-openapi" ? null : closed);
      expect(compiled).toMatchObject({ lossless: true, losses: [], strict: dialect === "openai-strict" });
      expect(compileSchema(object({}, { title: "T" }), dialect)).toMatchObject({
        lossless: true,
        losses: [{ keyword: "title", action: "dropped" }],
      });
    }
    expect(compileSchema(object({}, { additionalProperties: true }), "anthropic").schema).toEqual({
      type: "object",
      properties: {},
      additionalProperties: true,
    });
  });
  it("removes $schema, $id and x- keywords and keeps the order of keys", () => {
    const schema = object(
      { b: { type: "string", "x-a": 1 }, a: { type: "number" } },
      { $schema: "s", $id: "i", "x-b": 1, required: ["a", "b"] },
    );
    for (const dialect of ["json-schema-2020-12", "anthropic", "openai", "gemini-openapi"] as const) {
      const compiled = compileSchema(schema, dialect);
      expect(JSON.stringify(compiled.schema), dialect).toBe(
        '{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"}},"required":["a","b"]}',
      );
      expect(compiled).toMatchObject({ lossless: true, losses: [] });
    }
  });
});

describe("gemini-openapi", () => {
  it("adapters F1: default and additionalProperties are dropped and listed, everything else is equal", () => {
    const compiled = compileSchema(
      object(
        { a: { type: "string", default: "x", description: "Aa" } },
        { additionalProperties: false, required: ["a"] },
      ),
      "gemini-openapi",
    );
    expect(compiled.schema).toEqual({
      type: "object",
      properties: { a: { type: "string", description: "Aa" } },
      required: ["a"],
    });
    expect(compiled.losses.map(({ path, keyword, action }) => [path, keyword, action])).toEqual([
      ["", "additionalProperties", "dropped"],
      ["properties.a", "default", "dropped"],
    ]);
    expect(compiled.lossless).toBe(false);
  });
  it("adapters F2: a tool without parameters has no schema", () => {
    expect(compileSchema(object({}), "gemini-openapi").schema).toBeNull();
  });
  it("adapters Z17: required loses the entry whose property was dropped, and restore puts the empty object back", () => {
    const compiled = compileSchema(
      object(
        { a: { type: "string" }, empty: { type: "object", properties: {} }, open: { type: "object" } },
        { required: ["a", "empty", "open"] },
      ),
      "gemini-openapi",
    );
    expect(compiled.schema).toEqual({
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
    });
    expect(keywordsOf(compiled)).toEqual(["properties", "properties", "required", "required"]);
    expect(compiled.restore({ a: "x" })).toEqual({ a: "x", empty: {}, open: {} });
  });
  it("field B1: what zod emits for int().positive(), literals and records is translated", () => {
    const schema = emitJsonSchema(
      z.object({
        n: z.number().int().positive(),
        kind: z.literal("x"),
        map: z.record(z.string(), z.number()),
        f: z.number().gt(1.5),
      }),
    );
    const compiled = compileSchema(schema, "gemini-openapi");
    expect(compiled.schema).toEqual({
      type: "object",
      properties: {
        n: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
        kind: { type: "string", enum: ["x"] },
        f: { type: "number", minimum: 1.5, description: "exclusiveMinimum: 1.5" },
      },
      required: ["n", "kind", "f"],
    });
  });
  it("field B2: only the formats enum and date-time are sent; the others are said in words", () => {
    expect(property({ type: "string", format: "uri", description: "The page." }, "gemini-openapi")).toEqual({
      type: "string",
      description: "The page. format: uri",
    });
    expect(property({ type: "string", format: "date-time" }, "gemini-openapi")).toEqual({
      type: "string",
      format: "date-time",
    });
  });
  it("field B5: nullable types, references and closed objects are translated", () => {
    const schema = object(
      {
        a: { type: ["null", "string"] },
        b: { $ref: "#/$defs/point", description: "where" },
        c: { anyOf: [{ type: "integer" }, { type: "null" }], description: "C" },
      },
      {
        $defs: {
          point: {
            type: "object",
            properties: { x: { type: "number" } },
            additionalProperties: false,
            description: "a point",
          },
        },
        additionalProperties: false,
      },
    );
    expect(compileSchema(schema, "gemini-openapi").schema).toEqual({
      type: "object",
      properties: {
        a: { type: "string", nullable: true },
        b: { type: "object", properties: { x: { type: "number" } }, description: "where" },
        c: { type: "integer", description: "C", nullable: true },
      },
    });
  });
  it("enumerations become strings", () => {
    const schema = object({
      n: { type: "integer", enum: [1, 2], minimum: 1 },
      m: { enum: ["a", 1, null] },
      u: { anyOf: [{ const: true }, { const: 3 }] },
      s: { enum: ["1"] },
    });
    const compiled = compileSchema(schema, "gemini-openapi");
    expect(compiled.schema).toMatchObject({
      properties: {
        n: { type: "string", enum: ["1", "2"] },
        m: { type: "string", enum: ["a", "1"], nullable: true },
      },
    });
    expect(JSON.stringify(compiled.schema)).not.toContain("minimum");
  });
  it("several types become alternatives, each with its own keywords, and anyOf stands alone", () => {
    expect(
      property(
        { type: ["string", "array", "null"], items: { type: "string" }, minLength: 1, description: "D" },
        "gemini-openapi",
      ),
    ).toEqual({
      anyOf: [
        { type: "string", minLength: 1, description: "D", nullable: true },
        { type: "array", items: { type: "string" }, description: "D", nullable: true },
      ],
    });
  });
  it("recursion is cut at depth 5 and reported", () => {
    const node = object({
      name: { type: "string" },
      children: { type: "array", items: { $ref: "#/$defs/node" } },
      next: { $ref: "#/$defs/node" },
    });
    const compiled = compileSchema(
      object({ root: { $ref: "#/$defs/node" } }, { $defs: { node } }),
      "gemini-openapi",
    );
    expect(
      compiled.losses.some(
        (loss) => loss.keyword === "$ref" && loss.action === "dropped" && loss.note.includes("depth 5"),
      ),
    ).toBe(true);
    expect(violations(compiled, "gemini-openapi")).toEqual([]);
  });
  it("a chain of itself is sent five times over", () => {
    const chain = object({ name: { type: "string" }, next: { $ref: "#/$defs/chain" } });
    const compiled = compileSchema(
      object({ chain: { $ref: "#/$defs/chain" } }, { $defs: { chain } }),
      "gemini-openapi",
    );
    expect(JSON.stringify(compiled.schema).match(/"name"/g)).toHaveLength(5);
  });
  it("what a collapsing union uncovers is rewritten too", () => {
    expect(
      property({ anyOf: [{ anyOf: [{ const: 1 }, { type: "null" }] }, { type: "null" }] }, "gemini-openapi"),
    ).toEqual({
      type: "string",
      enum: ["1"],
      nullable: true,
    });
  });
  it("of two bounds the tighter one stays", () => {
    const bounded = { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 9 } as const;
    expect(property({ ...bounded, minimum: 5, maximum: 6 }, "gemini-openapi")).toMatchObject({
      minimum: 5,
      maximum: 6,
    });
    expect(property({ ...bounded, minimum: -5, maximum: 60 }, "gemini-openapi")).toMatchObject({
      minimum: 1,
      maximum: 8,
    });
  });
  it("references that multiply cannot make the schema explode", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `d${index}`,
        object({ a: { $ref: `#/$defs/d${index + 1}` }, b: { $ref: `#/$defs/d${index + 1}` } }),
      ]),
    );
    const compiled = compileSchema(
      object({ a: { $ref: "#/$defs/d0" } }, { $defs: { ...$defs, d30: { type: "string" } } }),
      "gemini-openapi",
    );
    expect(JSON.stringify(compiled.schema).length).toBeLessThan(1_000_000);
  });
  it("what cannot be said is said in the description", () => {
    expect(
      property({ type: "array", items: { type: "string" }, uniqueItems: true }, "gemini-openapi"),
    ).toMatchObject({ type: "array", items: { type: "string" } });
    expect(property({ type: "number", multipleOf: 5 }, "gemini-openapi")).toEqual({
      type: "number",
      description: "multipleOf: 5",
    });
    expect(
      property({ type: "array", prefixItems: [{ type: "string" }, { type: "number" }] }, "gemini-openapi"),
    ).toMatchObject({ items: { anyOf: [{ type: "string" }, { type: "number" }] } });
    expect(property({ description: "anything" }, "gemini-openapi")).toEqual({
      type: "string",
      description: "anything (any JSON value)",
    });
  });
  it("of an empty text among listed values and of values that do not fit only the words are sent", () => {
    expect(property({ enum: ["", "a"] }, "gemini-openapi")).toEqual({
      type: "string",
      enum: ["a"],
      description: '(may be the empty text "")',
    });
    expect(property({ type: "integer", enum: ["a", 1, 9], maximum: 5 }, "gemini-openapi")).toEqual({
      type: "string",
      enum: ["1"],
    });
  });
  it("what two schemas for one value say is united, and what cannot be is said", () => {
    const schema = object(
      {
        a: { $ref: "#/$defs/n", minimum: 3 },
        b: { allOf: [{ type: ["string", "null"] }, { type: "string", maxLength: 5 }, { maxLength: 4 }] },
      },
      { $defs: { n: { type: "number", minimum: 1 } } },
    );
    const compiled = compileSchema(schema, "gemini-openapi");
    expect(compiled).toMatchObject({
      lossless: false,
      schema: {
        properties: {
          a: { type: "number", minimum: 3, description: "also minimum: 1" },
          b: { type: "string", maxLength: 5, description: "also maxLength: 4" },
        },
      },
    });
  });
  it("oneOf says the same as anyOf only where no value fits two alternatives", () => {
    const losses = (...oneOf: readonly JsonSchema[]): unknown =>
      compileSchema(object({ a: { oneOf } }), "gemini-openapi").losses.find(
        ({ keyword }) => keyword === "oneOf",
      )?.action;
    const kind = (name: string, required: readonly string[]): JsonSchema =>
      object({ kind: { const: name } }, { required });
    expect(losses({ type: "string" }, { type: "integer" })).toBe("rewritten");
    expect(losses({ enum: [1, 2] }, { enum: [3] })).toBe("rewritten");
    expect(losses(kind("a", ["kind"]), kind("b", ["kind"]))).toBe("rewritten");
    expect(losses(kind("a", ["kind"]), kind("b", []))).toBe("described");
    expect(losses({ type: "number" }, { type: "integer" })).toBe("described");
  });
  it("what is said of a schema that is left out is not called said", () => {
    const { losses } = compileSchema(
      object({ a: { type: "object", patternProperties: { "^x": { type: "string" } } } }),
      "gemini-openapi",
    );
    expect(losses).toMatchObject([
      { keyword: "patternProperties", action: "dropped" },
      { path: "properties.a", keyword: "properties", action: "dropped" },
      { path: "", keyword: "properties", action: "dropped" },
    ]);
  });
  it("allOf becomes one schema", () => {
    const schema = {
      allOf: [
        { type: "object", properties: { x: { type: "string" } }, required: ["x"] },
        { properties: { y: { type: "number" } }, description: "and y" },
      ],
      description: "x",
    } as const;
    expect(property(schema, "gemini-openapi")).toEqual({
      type: "object",
      properties: { x: { type: "string" }, y: { type: "number" } },
      required: ["x"],
      description: "x and y",
    });
  });
});

const elsewhere: JsonSchemaObject = object(
  { a: { $ref: "#/$defs/b", required: ["c"] } },
  { $defs: { b: object({ c: { type: "string" } }) } },
);

function numbered<T>(count: number, value: T): [string, T][] {
  return Array.from({ length: count }, (_, index) => [`n${index}`, value]);
}

describe("gemini-json", () => {
  const json = (schema: JsonSchema, more?: JsonSchemaObject): unknown =>
    property(schema, "gemini-json", more);

  it("sends what the full JSON Schema field takes as it is", () => {
    const taken: JsonSchema = {
      type: ["string", "null"],
      enum: ["a", "b"],
      title: "T",
      description: "D",
      pattern: "^a",
      minLength: 1,
      maxLength: 2,
    };
    const tuple: JsonSchema = { type: "array", prefixItems: [{ type: "number" }], minItems: 1, maxItems: 1 };
    const union: JsonSchema = {
      oneOf: [{ type: "string" }, { type: "object", properties: {}, additionalProperties: false }],
    };
    const schema = object({ taken, tuple, union }, { additionalProperties: false, required: ["taken"] });
    expect(compileSchema(schema, "gemini-json")).toMatchObject({ schema, lossless: true, losses: [] });
  });
  it("field B1: bounds and literals are said in keywords the field has, the rest in words", () => {
    expect(json({ type: "integer", exclusiveMinimum: 0 })).toEqual({ type: "integer", minimum: 1 });
    expect(json({ const: "cat" })).toEqual({ enum: ["cat"] });
    expect(json({ type: "object", propertyNames: { pattern: "^a" } })).toEqual({
      type: "object",
      description: 'propertyNames: {"pattern":"^a"}',
    });
    expect(json({ type: "boolean", const: true })).toEqual({ type: "boolean", description: "const: true" });
  });
  it("field B2: other formats than enum and date-time are said in words", () => {
    expect(json({ type: "string", format: "uri" })).toEqual({ type: "string", description: "format: uri" });
    expect(json({ type: "string", format: "date-time" })).toEqual({ type: "string", format: "date-time" });
  });
  it("field B5: keeps references to definitions of the root alone in their schema, and puts all others in place", () => {
    const $defs: Record<string, JsonSchema> = { a: { type: "string" } };
    const more: JsonSchemaObject = { required: ["a"], $defs, definitions: { b: { type: "number" } } };
    expect(json({ $ref: "#/$defs/a", description: "D" }, more)).toEqual({
      description: "D",
      anyOf: [{ $ref: "#/$defs/a" }],
    });
    expect(json({ $ref: "#/definitions/b", description: "D" }, more)).toEqual({
      type: "number",
      description: "D",
    });
    const { schema, losses } = compileSchema(object({ a: { $ref: "#/definitions/b" } }, more), "gemini-json");
    expect(schema).toEqual({ type: "object", properties: { a: { type: "number" } }, required: ["a"], $defs });
    expect(losses.map(({ keyword, action }) => [keyword, action])).toEqual([["$ref", "inlined"]]);
  });
});

describe("anthropic-output", () => {
  const compiled = (schema: JsonSchemaObject): CompiledSchema => compileSchema(schema, "anthropic-output");

  it("closes every object, keeps what is optional, and says bounds in words", () => {
    const { schema, lossless, losses } = compiled({
      type: "object",
      properties: {
        n: { type: "integer", minimum: 1 },
        when: { type: "string", format: "date-time" },
        odd: { type: "string", format: "color", pattern: "^#" },
        in: { oneOf: [{ type: "object", properties: { a: { type: "string" } } }, { type: "null" }] },
      },
      required: ["n"],
    });
    expect(schema).toEqual({
      type: "object",
      properties: {
        n: { type: "integer", description: "minimum: 1" },
        when: { type: "string", format: "date-time" },
        odd: { type: "string", description: "format: color pattern: ^#" },
        in: {
          anyOf: [
            { type: "object", properties: { a: { type: "string" } }, additionalProperties: false },
            { type: "null" },
          ],
        },
      },
      required: ["n"],
      additionalProperties: false,
    });
    expect([lossless, losses.map(({ keyword }) => keyword)]).toEqual([
      false,
      expect.arrayContaining(["minimum", "format", "pattern", "oneOf"]),
    ]);
  });

  it("lists an open object as a loss, and a closed one not", () => {
    const open = { type: "object", properties: {}, additionalProperties: { type: "string" } } as const;
    expect(compiled(open)).toMatchObject({ lossless: false, schema: { additionalProperties: false } });
    const closed = { type: "object", properties: { a: { type: "string" } } } as const;
    expect(compiled(closed)).toMatchObject({ lossless: true, losses: [] });
  });
});

describe("openai-strict", () => {
  it("field B4: closes every object and asks for optional properties as a union with null, which restore removes", () => {
    const schema = object(
      {
        a: { type: "string" },
        o: object({
          k: { enum: ["x"] },
          d: { type: "integer", default: 3 },
          n: { type: ["string", "null"] },
        }),
      },
      { required: ["o"] },
    );
    const compiled = compileSchema(schema, "openai-strict");
    expect(compiled).toMatchObject({ strict: true, lossless: true });
    expect(compiled.schema).toEqual({
      type: "object",
      properties: {
        a: { type: ["string", "null"] },
        o: {
          type: "object",
          properties: {
            k: { anyOf: [{ type: "string", enum: ["x"] }, { type: "null" }] },
            d: { type: ["integer", "null"] },
            n: { type: ["string", "null"] },
          },
          required: ["k", "d", "n"],
          additionalProperties: false,
        },
      },
      required: ["a", "o"],
      additionalProperties: false,
    });
    expect(compiled.restore({ a: null, o: { k: null, d: null, n: null } })).toEqual({ o: { n: null } });
  });
  it("adapters Z19: patternProperties are sent with strict false and a reason, never half strict", () => {
    const schema = object({ a: { type: "string" } }, { patternProperties: { "^x-": { type: "string" } } });
    const compiled = compileSchema(schema, "openai-strict");
    expect(compiled).toMatchObject({
      strict: false,
      lossless: false,
      schema: {
        type: "object",
        properties: { a: { type: "string" } },
        patternProperties: { "^x-": { type: "string" } },
      },
    });
    expect(compiled.losses).toMatchObject([
      {
        path: "",
        keyword: "strict",
        action: "dropped",
        note: 'patternProperties: {"^x-":{"type":"string"}}',
      },
    ]);
  });
  it.each([
    ["a format of its own", object({ a: { type: "string", format: "uri" } }), "format"],
    ["a length", object({ a: { type: "string", minLength: 1 } }), "minLength"],
    ["an open object", object({ a: { type: "object" } }), "additionalProperties"],
    [
      "a record",
      object({ a: { type: "object", additionalProperties: { type: "string" } } }),
      "additionalProperties",
    ],
    ["any value", object({ a: {} }), "type"],
    ["a list of anything", object({ a: { type: "array" } }), "items"],
    ["a negation", object({ a: { type: "string", not: { const: "x" } } }), "not"],
    ["a list among other types", object({ a: { type: ["array", "null"], items: {} } }), "type"],
    ["a required property that is declared elsewhere", elsewhere, "required"],
    [
      "alternatives that share values",
      object({ a: { oneOf: [{ type: "number" }, { type: "integer" }] } }),
      "oneOf",
    ],
    [
      "a text beside alternatives",
      object({ a: { $ref: "#/$defs/b", anyOf: [{}] } }, { $defs: { b: {} } }),
      "anyOf",
    ],
    ["eleven levels", deep(11), "depth"],
    [
      "more than 5,000 properties",
      object(Object.fromEntries(numbered(5_001, { type: "null" }))),
      "properties",
    ],
    [
      "more than 1,000 listed values",
      object({ a: { enum: numbered(1_001, "").map(([name]) => name) } }),
      "enum",
    ],
    [
      "more than 120,000 characters of names",
      object({ ["x".repeat(120_001)]: { type: "null" } }),
      "characters",
    ],
  ])("%s makes it not strict", (_name, schema, keyword) => {
    const compiled = compileSchema(schema, "openai-strict");
    expect(compiled).toMatchObject({ strict: false, lossless: false });
    expect(compiled.losses[0]).toMatchObject({ keyword: "strict", action: "dropped" });
    expect(compiled.losses[0]?.note).toMatch(new RegExp(`^${keyword}: `));
    expect(compiled.schema).toEqual(compileSchema(schema, "openai").schema);
  });
  it("ten levels, references, discriminated unions, bounds and known formats can be strict", () => {
    expect(compileSchema(deep(10), "openai-strict").strict).toBe(true);
    const zod = z.object({
      pet: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("cat") }),
        z.object({ kind: z.literal("dog"), age: z.int().min(0).optional() }),
      ]),
      at: z.iso.datetime(),
      tags: z.array(z.string()).min(1).max(3),
    });
    expect(compileSchema(emitJsonSchema(zod), "openai-strict").strict).toBe(true);
    const tree = object({ value: { type: "string" }, child: { $ref: "#/$defs/tree", description: "below" } });
    const compiled = compileSchema(
      object({ tree: { $ref: "#/$defs/tree" } }, { $defs: { tree } }),
      "openai-strict",
    );
    expect(compiled).toMatchObject({
      strict: true,
      schema: {
        $defs: {
          tree: {
            properties: {
              child: { description: "below", anyOf: [{ $ref: "#/$defs/tree" }, { type: "null" }] },
            },
          },
        },
      },
    });
    expect(compiled.restore({ tree: { value: null, child: { value: "x", child: null } } })).toEqual({
      tree: { child: { value: "x" } },
    });
  });
});

describe("values that come back", () => {
  const listed = object({
    n: { type: "integer", enum: [1, 2] },
    c: { const: 0.5 },
    b: { enum: [true, false] },
    z: { const: null },
    s: { enum: ["1", 1] },
    u: { anyOf: [{ const: 3 }, { type: "string" }] },
    list: { type: "array", items: { enum: [{ x: 1 }, "{"] } },
  });

  it("listed numbers, booleans, null and structures are sent to Gemini as text, and turned back", async () => {
    const compiled = compileSchema(listed, "gemini-openapi");
    expect(compiled).toMatchObject({ lossless: true });
    expect(compiled.schema).toMatchObject({
      properties: {
        n: { type: "string", enum: ["1", "2"] },
        c: { type: "string", enum: ["0.5"] },
        b: { type: "string", enum: ["true", "false"] },
        z: { type: "string", nullable: true, enum: ["null"] },
      },
    });
    const written = { n: "2", c: "0.5", b: "false", z: "null", s: "1", u: "3", list: ['{"x":1}', "{"] };
    const meant = { n: 2, c: 0.5, b: false, z: null, s: "1", u: "3", list: [{ x: 1 }, "{"] };
    expect(compiled.restore(written)).toEqual(meant);
    const input = { toolName: "t", schema: listed, strict: false };
    expect(await prepareArguments(input, compiled.restore(written), { origin: "model" })).toMatchObject({
      ok: true,
      argsOrigin: "model",
      args: meant,
    });
  });

  it("without restore, repair does it for what a model wrote and nobody for a program", async () => {
    const input = { toolName: "t", schema: object({ n: { type: "integer", enum: [1, 2] } }), strict: false };
    expect(await prepareArguments(input, { n: "2" }, { origin: "model" })).toMatchObject({
      ok: true,
      argsOrigin: "repaired",
    });
    expect(await prepareArguments(input, { n: "2" }, { origin: "program" })).toMatchObject({ ok: false });
  });

  it("nulls of optional properties go from alternatives too, from the one that is meant", () => {
    const pet = {
      oneOf: [
        object(
          { kind: { const: "cat" }, age: { type: ["integer", "null"] } },
          { required: ["kind"], additionalProperties: false },
        ),
        object(
          { kind: { const: "dog" }, age: { type: "integer" } },
          { required: ["kind"], additionalProperties: false },
        ),
      ],
    };
    const compiled = compileSchema(object({ pets: { type: "array", items: pet } }), "openai-strict");
    expect(compiled).toMatchObject({ strict: true, lossless: true });
    expect(
      compiled.restore({
        pets: [
          { kind: "dog", age: null },
          { kind: "cat", age: null },
        ],
      }),
    ).toEqual({
      pets: [{ kind: "dog" }, { kind: "cat", age: null }],
    });
  });

  it("a null that an alternative asks for is a value, and stays", () => {
    const kind = (schema: JsonSchema) => object({ kind: schema }, { required: ["kind"] });
    const nested = { oneOf: [kind({ const: "one" }), kind({ const: "other" })] };
    const schema = object({ a: { anyOf: [nested, kind({ type: "null" })] } });
    const sent = compileSchema(schema, "openai-strict");
    expect(sent.restore({ a: { kind: null } })).toEqual({ a: { kind: null } });
  });

  it("parameters whose names a provider refuses are sent under others", () => {
    const schema = object(
      {
        $top: { type: "integer" },
        _top: { type: "integer" },
        "page size": { type: "integer" },
        größe: { type: "string" },
        ["a".repeat(70)]: { type: "integer" },
      },
      { required: ["$top", "größe"] },
    );
    const compiled = compileSchema(schema, "anthropic");
    expect(violations(compiled, "anthropic")).toEqual([]);
    expect(compiled).toMatchObject({ lossless: true, schema: { required: ["_top_2", "gr__e"] } });
    expect(compiled.losses[0]).toEqual({
      path: "properties.$top",
      keyword: "properties",
      action: "rewritten",
      note: 'sent as "_top_2"',
    });
    const written = { _top_2: 1, _top: 2, page_size: 3, gr__e: "x", ["a".repeat(60)]: null };
    expect(compiled.restore(written)).toEqual({ $top: 1, _top: 2, "page size": 3, größe: "x" });
    expect(compileSchema(schema, "openai").schema).toEqual(schema);
  });
});

describe("what a schema costs", () => {
  it("is estimated from the characters that are sent, by dialect", () => {
    const schema = object({ a: { type: "string", default: "x".repeat(400) } });
    const sent = compileSchema(schema, "anthropic");
    expect(sent.tokens).toBe(Math.ceil(JSON.stringify(sent.schema).length / 4));
    expect(compileSchema(schema, "gemini-openapi").tokens).toBeLessThan(sent.tokens - 90);
    expect(compileSchema(object({}), "gemini-openapi").tokens).toBe(0);
  });
});

describe("roots with a combinator", () => {
  const schema = object(
    { a: { $ref: "#/$defs/x" }, b: { $ref: "#/properties/a" } },
    { anyOf: [{ required: ["a"] }, { required: ["b"] }], $defs: { x: { type: "string" } } },
  );
  it("are said in words to Anthropic and OpenAI, which refuse them there", () => {
    for (const dialect of ["anthropic", "openai"] as const) {
      const { anyOf, ...rest } = schema;
      const compiled = compileSchema(schema, dialect);
      expect(compiled.schema).toEqual({ ...rest, description: `anyOf: ${JSON.stringify(anyOf)}` });
      expect(compiled).toMatchObject({
        lossless: false,
        losses: [{ keyword: "anyOf", action: "described" }],
      });
      expect(compiled.restore({ a: "x" })).toEqual({ a: "x" });
    }
    expect(compileSchema(schema, "openai-strict").strict).toBe(false);
  });
  it("stay where they are in JSON Schema", () => {
    expect(compileSchema(schema, "json-schema-2020-12").schema).toEqual(schema);
  });
});

describe("openai", () => {
  it("says what an array holds and knows no boolean schemas", () => {
    expect(property({ type: "array" }, "openai")).toEqual({ type: "array", items: {} });
    expect(property(true, "openai")).toEqual({});
    expect(
      compileSchema(
        object({ a: false, b: { type: "object", additionalProperties: true } }, { required: ["a"] }),
        "openai",
      ).schema,
    ).toEqual({
      type: "object",
      properties: { b: { type: "object", additionalProperties: true } },
    });
  });
});

describe("generated schemas that pass the lint", () => {
  it("compile for every dialect with zero violations", () => {
    let passed = 0;
    fastCheck.assert(
      fastCheck.property(arbitrarySchema, arbitrarySchema, (one, two) => {
        const schema = emitJsonSchema(
          JSON.parse(
            JSON.stringify({
              type: "object",
              properties: { one, two },
              ...(isPlainObject(one) ? { $defs: one["$defs"] } : {}),
            }),
          ),
        );
        if (lintSchema(schema, { root: true }).length > 0) return;
        passed += 1;
        for (const dialect of SCHEMA_DIALECTS) {
          const compiled = compileSchema(schema, dialect);
          expect(violations(compiled, dialect), dialect).toEqual([]);
          compiled.restore({ one: null, two: "1" });
        }
      }),
      { numRuns: Math.ceil(2_500 * scale) },
    );
    expect(passed).toBeGreaterThan(125 * scale);
  }, 120_000);
});

function deep(levels: number): JsonSchemaObject {
  return levels === 1 ? object({ a: { type: "string" } }) : object({ a: deep(levels - 1) });
}

/** Why the provider refuses what the schema was compiled to. */
function violations({ schema, strict }: CompiledSchema, dialect: SchemaDialect): readonly string[] {
  if (schema === null) return DIALECT_RULES[dialect].omitsEmptyObjects === true ? [] : ["no schema"];
  return (
    PROVIDER_OPINIONS[dialect === "openai-strict" && !strict ? "openai" : dialect]?.(schema) ?? ["no opinion"]
  );
}
