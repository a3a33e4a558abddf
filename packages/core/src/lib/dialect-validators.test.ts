import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { PROVIDER_OPINIONS } from "./__fixtures__/dialect-validators.ts";
import { recordedSchemas } from "./__fixtures__/recorded-schemas.ts";
import { DIALECT_RULES } from "./dialect-rules.ts";

const shared = fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));

/** `{type: "object"}` with one property. */
function tool(a: unknown, more: object = {}): object {
  return { type: "object", properties: { a }, ...more };
}

/** The same, as strict mode wants it. */
function strict(a: unknown, more: object = {}): object {
  return tool(a, { required: ["a"], additionalProperties: false, ...more });
}

function opinionOf(dialect: string, schema: unknown): readonly string[] {
  return PROVIDER_OPINIONS[dialect]?.(schema) ?? ["no opinion"];
}

it("there is a stand-in for the provider of every dialect", () => {
  expect(Object.keys(PROVIDER_OPINIONS)).toEqual(expect.arrayContaining(Object.keys(DIALECT_RULES)));
});

describe("the stand-ins for the providers, on schemas as they are answered", () => {
  it.each<[string, object]>([
    ["anthropic", { type: "object", properties: {}, additionalProperties: false }],
    ["anthropic", tool({ anyOf: [{ type: "string" }, { type: "null" }], default: null, title: "A" })],
    [
      "anthropic",
      {
        type: "object",
        properties: { "a.b-c_1": { $ref: "#/$defs/x" } },
        $defs: { x: { type: "string", minLength: 1 } },
      },
    ],
    ["anthropic-output", strict({ anyOf: [{ type: "number" }, { type: "string" }] })],
    ["openai", { type: "object", properties: {}, additionalProperties: false }],
    ["openai", tool({ type: "array", items: { type: "string" }, default: [] }, { required: ["a"] })],
    ["openai", tool({ type: "object", additionalProperties: true })],
    ["openai-strict", strict({ type: ["string", "null"], description: "A" })],
    ["openai-strict", strict({ anyOf: [{ type: "string", enum: ["x"] }, { type: "null" }] })],
    ["openai-strict", strict({ $ref: "#/$defs/n" }, { $defs: { n: strict({ $ref: "#" }) } })],
    ["openai-strict", { type: "object", properties: {}, required: [], additionalProperties: false }],
    [
      "gemini-openapi",
      { type: "OBJECT", properties: { x: { type: "NUMBER", description: "X" } }, required: ["x"] },
    ],
    ["gemini-openapi", { type: "object", properties: {} }],
    ["gemini-openapi", tool({ type: "string", nullable: true, enum: ["x"], format: "enum" })],
    ["gemini-openapi", tool({ anyOf: [{ type: "string" }, { type: "integer" }] })],
    [
      "gemini-json",
      tool(
        { type: ["string", "number", "null"] },
        { $schema: "https://json-schema.org/draft/2020-12/schema" },
      ),
    ],
    [
      "gemini-json",
      tool(
        { type: "array", items: { $ref: "#/$defs/n" } },
        { $defs: { n: { type: "string", pattern: "^a" } } },
      ),
    ],
    ["gemini-json", tool({ type: "array", prefixItems: [{ type: "number" }], minItems: 1, maxItems: 1 })],
  ])("%s takes %j", (dialect, schema) => {
    expect(opinionOf(dialect, schema)).toEqual([]);
  });

  it.each<[string, object, RegExp]>([
    ["anthropic", { properties: {} }, /type/],
    ["anthropic", tool({}, { oneOf: [{ required: ["a"] }] }), /oneOf/],
    ["anthropic", { type: "object", properties: { "filter[id]": { type: "string" } } }, /property key/],
    ["anthropic", { type: "object", properties: { ["a".repeat(65)]: { type: "string" } } }, /property key/],
    ["anthropic", tool({ type: "integer", minimum: 0, exclusiveMinimum: true }), /exclusiveMinimum/],
    ["anthropic", tool({ type: "dict" }), /type/],
    ["anthropic-output", tool({ type: "string" }), /additionalProperties/],
    ["anthropic-output", strict({ type: "integer", minimum: 1 }), /minimum/],
    ["openai", { type: "object" }, /missing properties/],
    ["openai", { type: "object", properties: {}, anyOf: [{ required: ["a"] }] }, /anyOf/],
    ["openai", tool({ type: "array" }), /missing items/],
    ["openai", tool({ type: "dict" }), /type/],
    ["openai", tool({ type: "string", required: true }), /required/],
    ["openai", tool({ $ref: "#/$defs/none" }), /not found/],
    ["openai-strict", tool({ type: "string" }, { required: ["a"] }), /additionalProperties/],
    ["openai-strict", tool({ type: "string" }, { additionalProperties: false }), /required/],
    ["openai-strict", strict({ type: "string", default: "x" }), /default/],
    ["openai-strict", strict({ oneOf: [{ type: "string" }] }), /oneOf/],
    ["openai-strict", strict({ type: "array", items: {} }), /'type' key/],
    ["openai-strict", strict({ type: ["array", "null"], items: { type: "string" } }), /missing items/],
    ["openai-strict", strict({ type: "string", format: "uri" }), /format/],
    [
      "openai-strict",
      strict({ type: "integer", enum: Array.from({ length: 1_001 }, (_, index) => index) }),
      /1001 enum/,
    ],
    ["gemini-openapi", tool({ type: "integer", exclusiveMinimum: 0 }), /exclusiveMinimum/],
    ["gemini-openapi", tool({ const: "x" }), /const/],
    ["gemini-openapi", tool({ type: ["string", "null"] }), /type/],
    ["gemini-openapi", tool({ type: "array" }), /items: missing/],
    ["gemini-openapi", tool({ type: "object" }), /non-empty/],
    [
      "gemini-openapi",
      tool({ type: "object", properties: { x: { type: "string" } }, required: ["y"] }),
      /not defined/,
    ],
    [
      "gemini-openapi",
      tool({ type: "string", properties: { x: { type: "string" } } }),
      /only allowed for OBJECT/,
    ],
    ["gemini-openapi", tool({ type: "integer", enum: ["1"] }), /only allowed for STRING/],
    ["gemini-openapi", tool({ type: "string", enum: ["", "x"] }), /not empty/],
    ["gemini-openapi", tool({ type: "string", format: "uri" }), /format/],
    ["gemini-openapi", tool({ type: "string", anyOf: [{ type: "string" }] }), /alongside/],
    [
      "gemini-openapi",
      { $schema: "http://json-schema.org/draft-07/schema#", ...tool({ type: "string" }) },
      /schema/,
    ],
    ["gemini-json", tool({ type: "integer", exclusiveMinimum: 0 }), /exclusiveMinimum/],
    ["gemini-json", tool({ $ref: "#/$defs/n", description: "N" }, { $defs: { n: {} } }), /\$ref/],
    [
      "gemini-json",
      tool({ $ref: "#/$defs/n" }, { $defs: { n: tool({ $ref: "#/$defs/n" }, { required: ["a"] }) } }),
      /cyclic/,
    ],
  ])("%s refuses %j", (dialect, schema, why) => {
    expect(opinionOf(dialect, schema).join("\n")).toMatch(why);
  });
});

describe.skipIf(!existsSync(shared))(
  "the stand-ins for the providers, on recorded requests (../shared/fixtures)",
  () => {
    const recorded = existsSync(shared) ? recordedSchemas(shared) : [];

    it("take every schema of every request that was answered 200", () => {
      const taken = recorded.filter(({ status }) => status === 200);
      const counts = new Map<string, number>();
      for (const { dialect, as, schema, file } of taken) {
        expect(PROVIDER_OPINIONS[dialect]?.(schema, { as }), `${file} ${JSON.stringify(schema)}`).toEqual([]);
        counts.set(`${dialect} ${as}`, (counts.get(`${dialect} ${as}`) ?? 0) + 1);
      }
      // What was recorded on 2026-11-30; more may be added.
      const least = {
        "anthropic tool": 13,
        "openai tool": 50,
        "openai-strict tool": 55,
        "gemini-openapi tool": 18,
        "gemini-json tool": 52,
        "anthropic-output answer": 1,
        "openai answer": 4,
        "openai-strict answer": 3,
        "gemini-json answer": 11,
      };
      for (const [kind, count] of Object.entries(least))
        expect(counts.get(kind), kind).toBeGreaterThanOrEqual(count);
    });

    // No cassette of 2026-11-30 holds one: its 400s are about roles, models, effort and a model's arguments.
    it("refuse a schema of every request that was answered 400 for a schema", () => {
      const refused = recorded.filter(({ isRefused }) => isRefused);
      for (const request of new Set(refused.map((one) => one.request))) {
        const schemas = refused.filter((one) => one.request === request);
        const opinions = schemas.flatMap(
          ({ dialect, as, schema }) => PROVIDER_OPINIONS[dialect]?.(schema, { as }) ?? [],
        );
        expect(opinions, request).not.toEqual([]);
      }
    });
  },
);
