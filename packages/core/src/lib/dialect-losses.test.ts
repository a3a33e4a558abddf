import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryToolSchema } from "./__fixtures__/arbitrary-tool-schema.ts";
import { PROVIDER_OPINIONS } from "./__fixtures__/dialect-validators.ts";
import { untruths } from "./__fixtures__/schema-difference.ts";
import { valuesFor } from "./__fixtures__/schema-values.ts";
import { type CompiledSchema, compileSchema } from "./dialect.ts";
import { DIALECT_RULES, type SchemaDialect, SCHEMA_DIALECTS } from "./dialect-rules.ts";
import { isPlainObject, type JsonObject } from "./json.ts";
import { lintSchema } from "./schema-lint.ts";
import { emitJsonSchema } from "./schema-source.ts";
import type { JsonSchemaObject } from "./schema.ts";

const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);

describe("generated tools", () => {
  it("compile to what each provider takes, with a true account of the losses", () => {
    const checked = { lossless: 0, values: 0 };
    fastCheck.assert(
      fastCheck.property(arbitraryToolSchema, fastCheck.nat(), (made, seed) => {
        const schema = emitJsonSchema(JSON.parse(JSON.stringify(made)));
        if (lintSchema(schema, { root: true }).length > 0) return;
        for (const dialect of SCHEMA_DIALECTS) {
          const compiled = compileSchema(schema, dialect);
          expect(refusals(compiled, dialect), dialect).toEqual([]);
          expect(untruths(schema, compiled), dialect).toEqual([]);
          if (!compiled.lossless) continue;
          checked.lossless += 1;
          checked.values += expectSafe(schema, compiled, { dialect, seed, count: 6 });
        }
      }),
      { numRuns: Math.ceil(1_000 * scale), seed: 20_261_130 }, // what it finds is told again by the same seed
    );
    expect(checked.lossless).toBeGreaterThan(1_000 * scale);
    expect(checked.values).toBeGreaterThan(2_000 * scale);
  }, 240_000);
});

const shared = fileURLToPath(new URL("../../../../../shared/fixtures", import.meta.url));
const isThere = existsSync(shared);

interface NamedSchema {
  readonly name: string;
  readonly schema: JsonSchemaObject;
}

describe.skipIf(!isThere)("public tools (../shared/fixtures)", () => {
  const mcp = isThere ? mcpTools() : [];
  const bfcl = isThere ? bfclTools() : [];
  const tools = [...mcp, ...bfcl];

  it("are all there, and all can be defined", () => {
    expect(mcp.length).toBeGreaterThanOrEqual(236);
    expect(bfcl.length).toBeGreaterThanOrEqual(418);
    for (const { name, schema } of tools) expect(lintSchema(schema, { root: true }), name).toEqual([]);
  });

  it.each(SCHEMA_DIALECTS)(
    "compile for %s to what its provider takes, always the same, with a true account",
    (dialect) => {
      for (const { name, schema } of tools) {
        const compiled = compileSchema(schema, dialect);
        expect(refusals(compiled, dialect), name).toEqual([]);
        expect(untruths(schema, compiled), name).toEqual([]);
        const again = compileSchema(emitJsonSchema(JSON.parse(JSON.stringify(schema))), dialect);
        expect(JSON.stringify(again), name).toBe(JSON.stringify(compiled));
      }
    },
  );

  it.each(SCHEMA_DIALECTS)("take what fits them in %s, where the account says lossless", (dialect) => {
    const lossless = tools.filter(({ schema }) => compileSchema(schema, dialect).lossless);
    expect(lossless.length).toBeGreaterThan(50);
    const seen = lossless.map(({ schema }) =>
      expectSafe(schema, compileSchema(schema, dialect), { dialect, seed: 1, count: Math.ceil(20 * scale) }),
    );
    expect(seen.filter((count) => count > 0).length / lossless.length).toBeGreaterThan(0.9);
  });

  it("keep the calls that are known to be right", () => {
    for (const { name, schema, args } of bfclCalls())
      for (const dialect of SCHEMA_DIALECTS)
        expect(compileSchema(schema, dialect).restore(args), `${name} ${dialect}`).toEqual(args);
  });
});

describe.skipIf(!isThere)("functions with the types of another language (../shared/fixtures/bfcl)", () => {
  it("are refused at definition with the types that would work", () => {
    for (const word of ["dict", "float", "tuple", "any", "String", "ArrayList", "long"]) {
      const [problem] = lintSchema({ type: "object", properties: { a: { type: word } } }, { root: true });
      expect(problem).toMatchObject({ path: "properties.a.type" });
      expect(problem?.problem).toContain("object, array, string, number, integer, boolean, null");
      expect(problem?.problem).toContain(`"${word}"`);
    }
    const asWritten = bfclFunctions().filter(
      ({ raw }) => lintSchema(raw.parameters, { root: true }).length > 0,
    );
    expect(asWritten).toHaveLength(120);
  });
});

function mcpTools(): readonly NamedSchema[] {
  const files = readdirSync(`${shared}/mcp-tools`).filter((name) => name.endsWith(".json"));
  return files.flatMap((file) => {
    const tools: readonly { name: string; inputSchema: object }[] = JSON.parse(
      readFileSync(`${shared}/mcp-tools/${file}`, "utf8"),
    );
    return tools.map(({ name, inputSchema }) => ({
      name: `${file} ${name}`,
      schema: emitJsonSchema({ properties: {}, ...inputSchema }),
    }));
  });
}

interface BfclFunction {
  readonly name: string;
  readonly parameters: unknown;
}

function lines<T>(file: string): readonly T[] {
  const text = readFileSync(`${shared}/bfcl/${file}`, "utf8").trim();
  return text.split("\n").map((line): T => JSON.parse(line));
}

function bfclFunctions(): readonly { readonly raw: BfclFunction }[] {
  return lines("tools.jsonl");
}

function bfclCalls(): readonly (NamedSchema & { readonly args: JsonObject })[] {
  const asked: readonly { calls: { name: string; args: JsonObject; tool: BfclFunction }[] }[] =
    lines("calls.jsonl");
  return asked.flatMap(({ calls }) =>
    calls.map(({ name, args, tool }) => ({
      name,
      args,
      schema: emitJsonSchema(Object(converted(tool.parameters))),
    })),
  );
}

function bfclTools(): readonly NamedSchema[] {
  const functions = bfclFunctions().map(({ raw }) => ({
    name: raw.name,
    schema: emitJsonSchema(Object(converted(raw.parameters))),
  }));
  return [...functions, ...bfclCalls()];
}

/** The types of Python and Java in the words of JSON Schema, as a user has to write them. */
const TYPES: Readonly<Record<string, string | undefined>> = {
  dict: "object",
  HashMap: "object",
  float: "number",
  long: "integer",
  tuple: "array",
  Array: "array",
  ArrayList: "array",
  String: "string",
  char: "string",
  Boolean: "boolean",
  any: undefined,
};

function converted(schema: unknown): unknown {
  if (!isPlainObject(schema)) return schema;
  const { type: name, optional: _unknown, properties, items, required, ...rest } = schema;
  const type = typeof name === "string" && name in TYPES ? TYPES[name] : name;
  const known = Object.entries(isPlainObject(properties) ? properties : {}).map(([key, below]) => [
    key,
    converted(below),
  ]);
  const declared = Array.isArray(required)
    ? required.filter((key) => Object.hasOwn(Object(properties), key))
    : [];
  return {
    ...(type !== undefined && { type }),
    ...rest,
    ...(properties !== undefined && { properties: Object.fromEntries(known) }),
    ...(items !== undefined && { items: converted(items) }),
    ...(declared.length > 0 && { required: declared }),
  };
}

function refusals({ schema, strict }: CompiledSchema, dialect: SchemaDialect): readonly string[] {
  if (schema === null) return DIALECT_RULES[dialect].omitsEmptyObjects === true ? [] : ["no schema"];
  const opinion = PROVIDER_OPINIONS[dialect === "openai-strict" && !strict ? "openai" : dialect];
  return opinion?.(schema) ?? ["no opinion"];
}

interface Sampling {
  readonly dialect: SchemaDialect;
  readonly seed: number;
  readonly count: number;
}

/** Everything that fits the compiled schema fits the original after `restore`. Says how many values that was seen with. */
function expectSafe(
  original: JsonSchemaObject,
  compiled: CompiledSchema,
  { dialect, seed, count }: Sampling,
): number {
  const sent = compiled.schema ?? { type: "object", properties: {}, additionalProperties: false };
  const [fits, holds] = [validator(asJsonSchema(sent)), validator(original)];
  let seen = 0;
  for (const written of fastCheck.sample(valuesFor(sent), { numRuns: count, seed })) {
    const value: unknown = JSON.parse(JSON.stringify(written));
    if (!isJsonObject(value) || !fits(value)) continue;
    const restored = compiled.restore(value);
    const what = `${dialect} ${JSON.stringify({ value, restored, sent })}`;
    expect(holds(restored) ? [] : holds.errors, what).toEqual([]);
    seen += 1;
  }
  return seen;
}

/** Gemini's `nullable`, in words that a validator knows. */
function asJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(asJsonSchema);
  if (!isPlainObject(schema)) return schema;
  const { nullable, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, asJsonSchema(value)]),
  );
  return nullable === true ? { anyOf: [rest, { type: "null" }] } : rest;
}

const ajv = new Ajv2020({
  strict: false,
  logger: false,
  formats: fullFormats,
  validateSchema: false,
  addUsedSchema: false,
});

function validator(schema: unknown): ValidateFunction {
  const { $schema: _draft, $id: _id, ...rest } = Object(schema);
  return ajv.compile(rest);
}

function isJsonObject(value: unknown): value is JsonObject {
  return isPlainObject(value);
}
