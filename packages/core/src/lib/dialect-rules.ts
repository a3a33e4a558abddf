/** What each dialect takes, as data with its source. */

import * as rewrites from "./dialect-rewrites.ts";

/** The schema dialects we can send. */
export type SchemaDialect =
  | "json-schema-2020-12"
  | "anthropic"
  | "anthropic-output"
  | "openai"
  | "openai-strict"
  | "gemini-openapi"
  | "gemini-json";

/** What a dialect takes. What is left out is as JSON Schema 2020-12 has it. */
export interface DialectRules {
  /** Where the rules come from, and when that was looked at. */
  readonly source: string;
  /** In this order, on every schema before its subschemas. */
  readonly rewrites?: readonly rewrites.Rewrite[];
  /** The only keywords that are sent. */
  readonly allowed?: ReadonlySet<string>;
  /** The only formats that are sent. */
  readonly formats?: ReadonlySet<string>;
  /** Keywords refused at the root: they are said in the root's description. */
  readonly refusedAtRoot?: readonly string[];
  /** `true` is said as `{}`, and what may never be present is left out. */
  readonly noBooleanSchemas?: boolean;
  /**
   * An object without properties is left out as a property, a tool without parameters has no schema, and `anyOf` is the
   * only keyword of its schema.
   */
  readonly omitsEmptyObjects?: boolean;
  /** Which names a tool's parameters may have. Others are sent in other words, which `restore` turns back. */
  readonly names?: { readonly allowed: RegExp; readonly replaced: RegExp };
  /** How large a schema may be. */
  readonly limits?: readonly SizeLimit[];
  /** What is compiled for instead when something would be lost or the depth does not fit. */
  readonly otherwise?: SchemaDialect;
}

/** The most a whole schema may hold: objects inside objects, properties, listed values, characters of names and values. */
export interface SizeLimit {
  readonly of: "depth" | "properties" | "enum" | "characters";
  readonly most: number;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const UNIONS: readonly string[] = ["anyOf", "oneOf", "allOf"];

const STRICT_KEYWORDS =
  "type title description properties required additionalProperties items anyOf enum const $ref $defs definitions";
const GEMINI_KEYWORDS =
  "type title description nullable format enum items properties required anyOf minItems maxItems minProperties maxProperties";

/** One record per dialect; a new dialect is a new record. */
export const DIALECT_RULES: Readonly<Record<SchemaDialect, DialectRules>> = {
  "json-schema-2020-12": { source: "JSON Schema 2020-12" },
  anthropic: {
    source:
      '400 "input_schema does not support oneOf, allOf, or anyOf at the top level" (github.com/anthropics/claude-code/issues/5319; 2026-11-30)',
    refusedAtRoot: UNIONS,
    // 400 "Property keys should match pattern", of the root (github.com/anthropics/claude-code/issues/79418; 2026-11-30).
    names: { allowed: /^[a-zA-Z0-9_.-]{1,64}$/, replaced: /[^a-zA-Z0-9_.-]/g },
  },
  "anthropic-output": {
    source:
      "output_config.format: lib/transform-json-schema of @anthropic-ai/sdk 1.14.0; platform.claude.com/docs/en/build-with-claude/structured-outputs (2026-11-30)",
    noBooleanSchemas: true,
    rewrites: [rewrites.oneOfToAnyOf, rewrites.loneReference, rewrites.closedObjects],
    allowed: words(
      "type title description properties required additionalProperties items anyOf allOf enum const $ref $defs definitions format",
    ),
    formats: words("date-time time date duration email hostname uri ipv4 ipv6 uuid"),
  },
  openai: {
    source:
      '400 "array schema missing items"; "not have oneOf/anyOf/allOf/enum/not at the top level" (github.com/langgenius/dify/issues/32894, github.com/chatanywhere/GPT_API_free/issues/403; 2026-11-30)',
    refusedAtRoot: [...UNIONS, "enum", "not"],
    noBooleanSchemas: true,
    rewrites: [rewrites.declaredItems],
  },
  "openai-strict": {
    source:
      "developers.openai.com/api/docs/guides/structured-outputs, Supported schemas (2026-02; looked at 2026-11-30)",
    refusedAtRoot: [...UNIONS, "enum", "not"],
    noBooleanSchemas: true,
    rewrites: [rewrites.typedValues, rewrites.oneOfToAnyOf, rewrites.loneReference, rewrites.closed],
    allowed: words(
      `${STRICT_KEYWORDS} pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems`,
    ),
    formats: words("date-time time date duration email hostname ipv4 ipv6 uuid"),
    limits: [
      { of: "depth", most: 10 },
      { of: "properties", most: 5_000 },
      { of: "enum", most: 1_000 },
      { of: "characters", most: 120_000 },
    ],
    otherwise: "openai",
  },
  "gemini-openapi": {
    source:
      'cloud.google.com Schema reference; 400 "only enum and date-time are supported" (github.com/hideya/langchain-mcp-tools-ts/issues/36; 2026-11-30)',
    refusedAtRoot: UNIONS,
    noBooleanSchemas: true,
    omitsEmptyObjects: true,
    // @google/genai 3.3.0, FunctionDeclaration.parameters; only documented, no refusal was seen (2026-11-30).
    names: { allowed: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, replaced: /[^a-zA-Z0-9_]/g },
    rewrites: [
      rewrites.inlineReference,
      rewrites.mergeAllOf,
      rewrites.oneOfToAnyOf,
      rewrites.loneAnyOf,
      rewrites.inclusiveBounds,
      rewrites.stringEnum,
      rewrites.tupleToList,
      rewrites.typedAnything,
      rewrites.declaredItems,
      rewrites.nullableTypes,
    ],
    allowed: words(`${GEMINI_KEYWORDS} minimum maximum minLength maxLength pattern`),
    formats: words("enum date-time"),
  },
  "gemini-json": {
    source:
      "@google/genai 3.3.0, GenerateContentConfig.responseJsonSchema and FunctionDeclaration.parametersJsonSchema; also what recorded requests hold that were answered 200 (fixtures google/Client_Tests_*, test_google_*_native_output; 2026-11-30)",
    noBooleanSchemas: true,
    rewrites: [
      rewrites.rootDefinitions,
      rewrites.mergeAllOf,
      rewrites.inclusiveBounds,
      rewrites.plainEnum,
      rewrites.declaredItems,
      rewrites.loneReference,
    ],
    allowed: words(
      "type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required $ref $defs pattern minLength maxLength",
    ),
    formats: words("enum date-time"),
  },
};

/** Every dialect. */
export const SCHEMA_DIALECTS: readonly SchemaDialect[] = Object.keys(DIALECT_RULES).filter(
  (name): name is SchemaDialect => name in DIALECT_RULES,
);
