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
import { DIALECT_RULES, type SchemaDialect } from "./dialect-rules.ts";
import { isPlainObject, type JsonObject } from "./json.ts";
import { lintSchema } from "./schema-lint.ts";
import { emitJsonSchema } from "./schema-source.ts";
import type { JsonSchemaObject } from "./schema.ts";

const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);
const DIALECTS = Object.keys(DIALECT_RULES).filter((name): name is SchemaDialect => name in DIALECT_RULES);

describe("generated tools", () => {
  it("compile to what each provider takes, with a true account of the losses", () => {
    const checked = { lossless: 0, values: 0 };
    fastCheck.assert(
      fastCheck.property(arbitraryToolSchema, fastCheck.nat(), (made, seed) => {
        const schema = emitJsonSchema(JSON.parse(JSON.stringify(made)));
        if (lintSchema(schema, { root: true }).length > 0) return;
        for (const dialect of DIALECTS) {
          const compiled = compileSchema(schema, dialect);
          expect(refusals(compiled, dialect), dialect).toEqual([]);
          expect(untruths(schema, compiled), dialect).toEqual([]);
          if (!compiled.lossless) continue;
          checked.lossless += 1;
          checked.values += expectSafe(schema, compiled, { dialect, seed, count: 6 });
        }
      }),
      { numRuns: Math.ceil(1_000 * scale) },
    );
    expect(checked.lossless).toBeGreaterThan(1_000 * scale);
    expect(checked.values).toBeGreaterThan(2_000 * scale);
  }, 240_000);
});

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

function validator(schema: unknown): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, logger: false, formats: fullFormats });
  return ajv.compile(Object(schema));
}

function isJsonObject(value: unknown): value is JsonObject {
  return isPlainObject(value);
}
