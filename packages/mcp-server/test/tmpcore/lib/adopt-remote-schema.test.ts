import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { adoptRemoteSchema } from "./adopt-remote-schema.ts";
import { prepareArguments } from "./arguments.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { warmValidators } from "./validate.ts";

function adopted(schema: unknown): JsonSchemaObject {
  const result = adoptRemoteSchema(schema);
  if (!result.ok) throw new Error(result.reason);
  return result.schema;
}

function reasonFor(schema: unknown): string {
  const result = adoptRemoteSchema(schema);
  return result.ok ? "" : result.reason;
}

describe("adoptRemoteSchema", () => {
  it("gives a frozen copy without names, with type and properties", () => {
    const given = { $id: "https://example.com/a", properties: { a: { $id: "b", type: "string" } } };
    const schema = adopted(given);
    expect(schema).toEqual({ properties: { a: { type: "string" } }, type: "object" });
    expect(Object.isFrozen(schema.properties)).toBe(true);
    expect(adopted({})).toEqual({ type: "object", properties: {} });
    expect(given.properties.a.$id).toBe("b");
  });
  it("tolerates unknown keywords and annotations of the wrong kind, without which ajv would refuse the schema", () => {
    const schema = adopted({
      type: "object",
      properties: {
        a: { type: "string", id: "#a", nullable: true, $async: true, minLenght: 1, title: 5, examples: "x" },
      },
    });
    expect(schema.properties?.["a"]).toEqual({ type: "string" });
  });
  it("keeps local references and refuses remote ones", () => {
    expect(
      adopted({ properties: { a: { $ref: "#/$defs/x" } }, $defs: { x: { type: "string" } } }).properties?.[
        "a"
      ],
    ).toEqual({ $ref: "#/$defs/x" });
    expect(reasonFor({ properties: { a: { $ref: "https://example.com/x.json" } } })).toContain(
      "local reference",
    );
    expect(reasonFor({ properties: { a: { $ref: "#/$defs/none" } } })).toContain("where no schema is");
    expect(reasonFor({ allOf: [{ $ref: "#" }] })).toContain("never ends");
  });
  it("spells the tuples of older drafts as 2020-12 does and leaves their boolean bounds out", () => {
    const schema = adopted({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        pair: { type: "array", items: [{ type: "string" }, { type: "number" }], additionalItems: false },
        n: { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      },
    });
    expect(schema.properties).toEqual({
      pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
      n: { type: "number", minimum: 0, maximum: 9 },
    });
  });
  it("never runs a stranger's regular expression, and tells the model about it instead", async () => {
    const schema = adopted({
      type: "object",
      properties: {
        a: { type: "string", description: "A word.", pattern: "^(a+)+$" },
        b: { propertyNames: { pattern: "(" } },
      },
    });
    expect(schema.properties?.["a"]).toEqual({
      type: "string",
      description: "A word. Must match the pattern ^(a+)+$",
    });
    expect(
      await prepareArguments(
        { toolName: "t", schema, strict: false },
        { a: `${"a".repeat(50)}!` },
        { origin: "model" },
      ),
    ).toMatchObject({ ok: true });
  });
  it("refuses nothing more because a pattern was left out", async () => {
    const property = { type: "string", pattern: "^x" };
    const schema = adopted({
      type: "object",
      properties: {
        not: { not: property },
        one: { oneOf: [property, { type: "string", maxLength: 1 }] },
        map: { type: "object", patternProperties: { "^x": {} }, additionalProperties: false },
      },
    });
    const value = { not: "a", one: "x", map: { x1: 1 } };
    expect(
      await prepareArguments({ toolName: "t", schema, strict: false }, value, { origin: "model" }),
    ).toMatchObject({ ok: true, args: value });
  });
  it("leaves a property alone that is called pattern", () => {
    const schema = { type: "object", properties: { pattern: { type: "string" } }, not: { required: ["x"] } };
    expect(adopted(schema)).toEqual(schema);
  });
  it("declares what it requires", () => {
    expect(adopted({ type: "object", required: ["a"] }).properties).toEqual({ a: {} });
  });
  it("refuses what is too large, too deep, not JSON or no object schema", () => {
    const deep = (levels: number): unknown => (levels === 0 ? {} : { items: deep(levels - 1) });
    expect(reasonFor({ description: "x".repeat(256 * 1024) })).toContain("bytes long");
    expect(reasonFor({ properties: { a: deep(70) } })).toContain("deeper than 64");
    expect(reasonFor({ properties: { a: deep(5_000) } })).toContain("nested deeper");
    expect(adoptRemoteSchema({ properties: { a: deep(60) } }).ok).toBe(true);
    expect(reasonFor({ default: () => 1 })).toContain("function");
    expect(reasonFor({ type: "array" })).toContain('type "object"');
    expect(reasonFor({ properties: { a: { enum: [] } } })).toContain("properties.a.enum");
    for (const value of [null, "x", true, [], new Map()])
      expect(reasonFor(value)).toMatch(/not a JSON Schema object|a Map, which is not plain JSON/);
  });
  it("drops __proto__ wherever it stands", () => {
    const schema = adopted(
      JSON.parse('{"properties":{"__proto__":{"type":"string"},"a":{"default":{"__proto__":{"x":1}}}}}'),
    );
    expect(JSON.stringify(schema)).toBe('{"properties":{"a":{"default":{}}},"type":"object"}');
  });
});

const folder = fileURLToPath(new URL("../../../../../shared/fixtures/mcp-tools", import.meta.url));

describe.skipIf(!existsSync(folder))("public MCP servers (../shared/fixtures/mcp-tools)", () => {
  it("every tool is adopted and compiles", async () => {
    const texts = readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .map((name) => readFileSync(`${folder}/${name}`, "utf8"));
    const tools = texts.flatMap((text): { inputSchema: unknown }[] => JSON.parse(text));
    expect(tools.length).toBeGreaterThan(200);
    await warmValidators(tools.map((tool) => adopted(tool.inputSchema)));
  });
});
