import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { arbitrarySchema } from "./__fixtures__/arbitrary-schema.ts";
import { prepareArguments } from "./arguments.ts";
import { type CompiledSchema, compileSchema } from "./dialect.ts";
import { DIALECT_RULES, type SchemaDialect } from "./dialect-rules.ts";
import { deepFreeze, isPlainObject, type JsonObject } from "./json.ts";
import { emitJsonSchema } from "./schema-source.ts";
import { lintSchema } from "./schema-lint.ts";
import type { JsonSchema, JsonSchemaObject } from "./schema.ts";

const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);
const DIALECTS = Object.keys(DIALECT_RULES).filter((name): name is SchemaDialect => name in DIALECT_RULES);

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
    for (const dialect of DIALECTS) {
      const closed = { type: "object", properties: {}, additionalProperties: false };
      const compiled = compileSchema(object({}, { title: "T" }), dialect);
      expect(compiled.schema, dialect).toEqual(dialect === "gemini-openapi" ? null : closed);
      expect(compiled).toMatchObject({ lossless: true, losses: [], strict: dialect === "openai-strict" });
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

describe("gemini-json", () => {
  const json = (schema: JsonSchema, more?: JsonSchemaObject): unknown =>
    property(schema, "gemini-json", more);

  it("sends what the full JSON Schema field takes as it is", () => {
    const taken: JsonSchema = {
      type: ["string", "null"],
      enum: ["a", null],
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
    expect(keywordsOf(compiled)).toContain("patternProperties");
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
    ["eleven levels", deep(11), "depth"],
  ])("%s makes it not strict", (_name, schema, keyword) => {
    const compiled = compileSchema(schema, "openai-strict");
    expect(compiled).toMatchObject({ strict: false, lossless: false });
    expect(compiled.losses[0]?.keyword).toBe(keyword);
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

describe("the stand-ins for the providers", () => {
  it.each<[SchemaDialect, unknown]>([
    ["gemini-openapi", object({ a: { type: "integer", exclusiveMinimum: 0 } })],
    ["gemini-openapi", object({ a: { type: "string", format: "uri" } })],
    ["gemini-openapi", object({ a: { type: "integer", enum: [1] } })],
    ["gemini-openapi", object({ a: { type: "object" } })],
    ["gemini-openapi", object({ a: { type: "array" } })],
    ["gemini-json", object({ a: { type: "integer", exclusiveMinimum: 0 } })],
    ["gemini-json", object({ a: { $ref: "#/definitions/a" } }, { definitions: { a: {} } })],
    ["gemini-json", object({ a: { $ref: "#/$defs/a", title: "A" } }, { $defs: { a: {} } })],
    ["openai", object({}, { anyOf: [{}] })],
    ["openai", object({ a: { type: "array" } })],
    ["anthropic", object({}, { oneOf: [{}] })],
    ["openai-strict", object({ a: { type: "string" } })],
  ])("%s refuses %j", (dialect, schema) => {
    expect(violationsOf(schema, dialect)).not.toEqual([]);
  });
});

const shared = fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));

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
        for (const dialect of DIALECTS) {
          const compiled = compileSchema(schema, dialect);
          expect(violations(compiled, dialect), dialect).toEqual([]);
          if (dialect === "openai-strict" && !compiled.strict)
            expect(violations(compiled, "openai")).toEqual([]);
          compiled.restore({ one: null, two: "1" });
        }
      }),
      { numRuns: Math.ceil(2_500 * scale) },
    );
    expect(passed).toBeGreaterThan(125 * scale);
  }, 120_000);
});

describe.skipIf(!existsSync(shared))("recorded requests (../shared/fixtures)", () => {
  it("every schema that a provider answered with 200 is accepted by its stand-in", () => {
    const recorded = recordedSchemas();
    expect(recorded.length).toBeGreaterThan(100);
    for (const { dialect, schema } of recorded)
      expect(violationsOf(schema, dialect), JSON.stringify(schema)).toEqual([]);
  });
});

describe.skipIf(!existsSync(shared))("public MCP tools (../shared/fixtures/mcp-tools)", () => {
  it("compile for every dialect with zero violations", () => {
    for (const { name, schema } of mcpTools()) {
      for (const dialect of DIALECTS) {
        const compiled = compileSchema(schema, dialect);
        expect(violations(compiled, dialect), `${name} ${dialect}`).toEqual([]);
        if (dialect === "openai-strict" && !compiled.strict)
          expect(violations(compiled, "openai"), name).toEqual([]);
      }
    }
  });
  it("take what a strict model may write, after restore", async () => {
    const strict = mcpTools().filter(({ schema }) => compileSchema(schema, "openai-strict").strict);
    expect(strict.length).toBeGreaterThan(100);
    for (const { name, schema } of strict) {
      const { schema: sent, restore } = compileSchema(schema, "openai-strict");
      if (!isPlainObject(sent)) throw new Error("no schema");
      const fits = ajv2020.compile(sent);
      for (const written of fastCheck.sample(valuesFor(sent), { numRuns: Math.ceil(20 * scale), seed: 1 })) {
        if (!fits(written) || !isJsonObject(written)) continue;
        const prepared = await prepareArguments({ toolName: name, schema, strict: false }, restore(written), {
          origin: "program",
        });
        expect(prepared, `${name} ${JSON.stringify(written)}`).toMatchObject({ ok: true, droppedArgs: [] });
      }
    }
  });
});

function deep(levels: number): JsonSchemaObject {
  return levels === 1 ? object({ a: { type: "string" } }) : object({ a: deep(levels - 1) });
}

function isJsonObject(value: unknown): value is JsonObject {
  return isPlainObject(value);
}

interface NamedSchema {
  readonly name: string;
  readonly schema: JsonSchemaObject;
}

function mcpTools(): readonly NamedSchema[] {
  const files = readdirSync(`${shared}/mcp-tools`).filter((name) => name.endsWith(".json"));
  const tools = files.flatMap((file): { name: string; inputSchema: unknown }[] =>
    JSON.parse(readFileSync(`${shared}/mcp-tools/${file}`, "utf8")),
  );
  return tools.flatMap(({ name, inputSchema }) => {
    const schema = emitJsonSchema({ properties: {}, ...(isPlainObject(inputSchema) ? inputSchema : {}) });
    return lintSchema(schema, { root: true }).length === 0 ? [{ name, schema }] : [];
  });
}

/** Tool schemas of recorded requests, with the dialect they were sent in. */
function recordedSchemas(): readonly { dialect: SchemaDialect; schema: unknown }[] {
  const found: { dialect: SchemaDialect; schema: unknown }[] = [];
  for (const provider of ["anthropic", "google", "openai", "openrouter", "xai"]) {
    for (const file of readdirSync(`${shared}/${provider}`).filter((name) =>
      name.endsWith(".cassette.json"),
    )) {
      const exchanges: { request: { body?: unknown }; response: { status: number } }[] = JSON.parse(
        readFileSync(`${shared}/${provider}/${file}`, "utf8"),
      );
      for (const { request, response } of exchanges)
        if (response.status === 200) found.push(...toolSchemas(provider, request.body));
    }
  }
  return found;
}

function toolSchemas(
  provider: string,
  body: unknown,
): readonly { dialect: SchemaDialect; schema: unknown }[] {
  const tools =
    isPlainObject(body) && Array.isArray(body["tools"]) ? body["tools"].filter(isPlainObject) : [];
  if (provider === "google") {
    const declared = tools
      .flatMap((tool) => [tool["functionDeclarations"] ?? []].flat())
      .filter(isPlainObject);
    const config = isPlainObject(body) ? body["generationConfig"] : undefined;
    const answer = isPlainObject(config) ? config["responseJsonSchema"] : undefined;
    const json = [
      ...declared.map((tool) => tool["parametersJsonSchema"] ?? tool["parameters_json_schema"]),
      // The stand-in wants an object at the root, which an answer need not be.
      ...(isPlainObject(answer) && answer["type"] === "object" ? [answer] : []),
    ].filter((schema) => schema !== undefined);
    return [
      ...json.map((schema) => ({ dialect: "gemini-json" as const, schema: withoutDollarSchema(schema) })),
      ...declared.flatMap(({ parameters }) =>
        parameters === undefined ? [] : [{ dialect: "gemini-openapi" as const, schema: parameters }],
      ),
    ];
  }
  if (provider === "anthropic")
    return tools.flatMap((tool) =>
      tool["input_schema"] === undefined
        ? []
        : [{ dialect: "anthropic" as const, schema: tool["input_schema"] }],
    );
  const functions = tools
    .filter((tool) => tool["type"] === "function")
    .map((tool) => (isPlainObject(tool["function"]) ? tool["function"] : tool));
  return functions.flatMap(({ parameters, strict }) =>
    parameters === undefined || parameters === null
      ? []
      : [{ dialect: strict === true ? ("openai-strict" as const) : ("openai" as const), schema: parameters }],
  );
}

/** `$schema` is taken at the root, and never sent by us. */
function withoutDollarSchema(schema: unknown): unknown {
  if (!isPlainObject(schema)) return schema;
  const { $schema: _, ...rest } = schema;
  return rest;
}

function violations(compiled: CompiledSchema, dialect: SchemaDialect): readonly string[] {
  if (compiled.schema === null) return dialect === "gemini-openapi" ? [] : ["no schema"];
  if (dialect === "openai-strict" && !compiled.strict) return [];
  return violationsOf(compiled.schema, dialect);
}

/** A stand-in for what the provider checks, written from its documentation and not from our rules. */
function violationsOf(schema: unknown, dialect: SchemaDialect): readonly string[] {
  if (dialect === "json-schema-2020-12") return metaErrors(ajv2020, schema);
  const problems: string[] = [];
  if (!isPlainObject(schema) || String(schema["type"]).toLowerCase() !== "object")
    problems.push("the root is no object");
  if (isPlainObject(schema) && ["anyOf", "oneOf", "allOf"].some((keyword) => keyword in schema))
    problems.push("a combinator at the root");
  each(schema, "#", (node, path) =>
    problems.push(...nodeViolations(node, dialect).map((problem) => `${path}: ${problem}`)),
  );
  // Recorded requests show that Gemini takes an empty object at the root.
  return problems.filter((problem) => problem !== "#: an object without properties");
}

const ajv2020 = new Ajv2020({ strict: false, logger: false });

function metaErrors(ajv: Ajv2020, schema: unknown): readonly string[] {
  if (!isPlainObject(schema)) return ["no schema"];
  try {
    ajv.compile(schema);
    return [];
  } catch (error) {
    return [String(error)];
  } finally {
    ajv.removeSchema(schema);
  }
}

function each(
  node: unknown,
  path: string,
  visit: (node: Record<string, unknown>, path: string) => void,
): void {
  if (!isPlainObject(node)) return;
  visit(node, path);
  for (const keyword of ["properties", "$defs", "definitions"])
    if (isPlainObject(node[keyword]))
      for (const [name, below] of Object.entries(node[keyword]))
        each(below, `${path}/${keyword}/${name}`, visit);
  for (const keyword of ["anyOf", "oneOf", "allOf", "prefixItems"])
    if (Array.isArray(node[keyword]))
      node[keyword].forEach((below, index) => each(below, `${path}/${keyword}/${index}`, visit));
  for (const keyword of ["items", "additionalProperties", "not"])
    each(node[keyword], `${path}/${keyword}`, visit);
}

const OPENAPI_FIELDS =
  "type format title description nullable default items minItems maxItems enum properties propertyOrdering required minProperties maxProperties minimum maximum minLength maxLength pattern example anyOf".split(
    " ",
  );
const STRICT_FIELDS =
  "type title description properties required additionalProperties items anyOf enum const $ref $defs definitions pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems".split(
    " ",
  );
// The doc comment of responseJsonSchema in @google/genai 3.3.0, and what recorded requests hold beside it.
const GEMINI_JSON_FIELDS =
  "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required $ref $defs $id $anchor pattern minLength maxLength default".split(
    " ",
  );
const STRICT_FORMATS = "date-time time date duration email hostname ipv4 ipv6 uuid".split(" ");

function nodeViolations(node: Record<string, unknown>, dialect: SchemaDialect): readonly string[] {
  const types = [node["type"] ?? []]
    .flat()
    .map((type) => JSON.stringify(type).toLowerCase().replaceAll('"', ""));
  const properties = isPlainObject(node["properties"]) ? node["properties"] : {};
  const required = Array.isArray(node["required"]) ? node["required"] : [];
  const problems: string[] = [];
  const check = (holds: boolean, problem: string): void => void (holds || problems.push(problem));
  const unknownFields = (known: readonly string[]): readonly string[] =>
    Object.keys(node).filter((keyword) => !known.includes(keyword));
  if (dialect !== "anthropic")
    check(
      !types.includes("array") || node["items"] !== undefined || node["prefixItems"] !== undefined,
      "an array without items",
    );
  if (dialect === "gemini-openapi") {
    check(unknownFields(OPENAPI_FIELDS).length === 0, `unknown name ${unknownFields(OPENAPI_FIELDS).join()}`);
    check(
      node["anyOf"] === undefined
        ? types.length === 1 && typeof node["type"] === "string"
        : Object.keys(node).length === 1,
      "type missing, or anyOf not alone",
    );
    check(
      node["format"] === undefined ||
        ["enum", "date-time"].some((format) => format === node["format"]) ||
        !types.includes("string"),
      "format",
    );
    check(
      !Array.isArray(node["enum"]) ||
        (types.includes("string") && node["enum"].every((value) => typeof value === "string")),
      "enum of other than strings",
    );
    check(!types.includes("object") || Object.keys(properties).length > 0, "an object without properties");
    check(
      required.every((name) => Object.hasOwn(properties, String(name))),
      "required is not defined",
    );
  }
  if (dialect === "gemini-json") {
    const unknown = unknownFields(GEMINI_JSON_FIELDS).join();
    check(unknown === "", `not supported: ${unknown}`);
    const beside = Object.keys(node).filter((keyword) => !keyword.startsWith("$"));
    check(!("$ref" in node) || beside.length === 0, "$ref with other keywords");
    check(!("$ref" in node) || /^#\/\$defs\/[^/]+$/.test(String(node["$ref"])), "$ref to no definition");
  }
  if (dialect === "openai-strict") {
    check(unknownFields(STRICT_FIELDS).length === 0, `not permitted: ${unknownFields(STRICT_FIELDS).join()}`);
    check(
      !types.includes("object") ||
        (node["additionalProperties"] === false &&
          Object.keys(properties).every((name) => required.includes(name))),
      "open, or not all required",
    );
    check(
      ["type", "anyOf", "$ref"].some((keyword) => keyword in node),
      "no type",
    );
    check(!("$ref" in node) || Object.keys(node).length === 1, "$ref with other keywords");
    check(
      node["format"] === undefined || STRICT_FORMATS.some((format) => format === node["format"]),
      "format",
    );
  }
  return problems;
}

/** Values a model could write under a strict schema. */
function valuesFor(schema: unknown): fastCheck.Arbitrary<unknown> {
  if (!isPlainObject(schema)) return fastCheck.constant(null);
  if (Array.isArray(schema["enum"])) return fastCheck.constantFrom(...schema["enum"]);
  if ("const" in schema) return fastCheck.constant(schema["const"]);
  if (Array.isArray(schema["anyOf"])) return fastCheck.oneof(...schema["anyOf"].map(valuesFor));
  const least = Number(schema["minItems"] ?? 0);
  const types = [schema["type"]].flat().map((type): fastCheck.Arbitrary<unknown> => {
    if (type === "object")
      return fastCheck.record(
        Object.fromEntries(
          Object.entries(schema["properties"] ?? {}).map(([name, below]) => [name, valuesFor(below)]),
        ),
        { noNullPrototype: true },
      );
    if (type === "array")
      return fastCheck.array(valuesFor(schema["items"]), { minLength: least, maxLength: least + 2 });
    if (type === "string") return fastCheck.constantFrom("", "a", "1", "true", "null");
    if (type === "boolean") return fastCheck.boolean();
    return type === "null"
      ? fastCheck.constant(null)
      : fastCheck.integer({
          min: Math.ceil(Number(schema["minimum"] ?? 0)),
          max: Math.max(
            Math.ceil(Number(schema["minimum"] ?? 0)),
            Math.min(99, Number(schema["maximum"] ?? 99)),
          ),
        });
  });
  return fastCheck.oneof(...types);
}
