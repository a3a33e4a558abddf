/** What each dialect takes, as data with its source. */

import {
  closedObject,
  constToEnum,
  declaredItems,
  type Draft,
  draft07Spelling,
  inclusiveBounds,
  inlineReference,
  knownType,
  loneReference,
  mergeAllOf,
  nullableTypes,
  oneOfToAnyOf,
  type Rewrite,
  stringEnum,
  tupleToList,
  typedAnything,
  typedValues,
} from "./dialect-rewrites.ts";

/** The schema dialects we can send. */
export type SchemaDialect = "json-schema-2020-12" | "anthropic" | "openai" | "openai-strict" | "gemini-json" | "gemini-openapi" | "draft-07";

/** How large a schema may be. */
export interface SizeLimits {
  /** Objects inside objects, the root included. */
  readonly depth: number;
  readonly properties: number;
  readonly enumValues: number;
  /** Characters of all names and of all enumeration values together. */
  readonly characters: number;
}

/** What a dialect takes. Left out means: as JSON Schema 2020-12 has it. */
export interface DialectRules {
  /** Where the rules come from, and when that was looked at. */
  readonly source: string;
  /** In this order, on every schema before its subschemas. */
  readonly rewrites?: readonly Rewrite[];
  /** The only keywords that are sent. */
  readonly allowed?: ReadonlySet<string>;
  /** Keywords that are not sent. */
  readonly refused?: ReadonlySet<string>;
  /** The only formats that are sent. */
  readonly formats?: ReadonlySet<string>;
  /** Keywords refused at the root: a schema with one moves under a property. */
  readonly refusedAtRoot?: readonly string[];
  /** `true` is said as `{}`, and what may never be present is left out. */
  readonly noBooleanSchemas?: boolean;
  /** On every schema after its subschemas. */
  readonly spelling?: (schema: Draft) => Draft;
  /** An object without properties is refused: left out as a property, and a tool without parameters has no schema. */
  readonly omitsEmptyObjects?: boolean;
  readonly limits?: SizeLimits;
  /** Sent only when nothing was lost and the size fits; otherwise the schema is compiled for this dialect instead. */
  readonly otherwise?: SchemaDialect;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const ROOT_UNIONS: readonly string[] = ["anyOf", "oneOf", "allOf"];

/** One record per dialect; adding a dialect means adding a record. */
export const DIALECT_RULES: Readonly<Record<SchemaDialect, DialectRules>> = {
  "json-schema-2020-12": { source: "JSON Schema 2020-12; what MCP sends" },
  anthropic: {
    source: '400 "input_schema does not support oneOf, allOf, or anyOf at the top level" (github.com/anthropics/claude-code/issues/5319, 2026-11-30)',
    refusedAtRoot: ROOT_UNIONS,
  },
  openai: {
    source: '400 "array schema missing items" and "must not have oneOf/anyOf/allOf/enum/not at the top level" (2026-11-30)',
    refusedAtRoot: [...ROOT_UNIONS, "enum", "not"],
    noBooleanSchemas: true,
    rewrites: [declaredItems],
  },
  "openai-strict": {
    source: "developers.openai.com/api/docs/guides/structured-outputs, Supported schemas (2026-02)",
    refusedAtRoot: [...ROOT_UNIONS, "enum", "not"],
    noBooleanSchemas: true,
    rewrites: [typedValues, oneOfToAnyOf, loneReference, knownType, closedObject],
    allowed: words(
      "type title description properties required additionalProperties items anyOf enum const $ref $defs definitions " +
        "pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
    ),
    formats: words("date-time time date duration email hostname ipv4 ipv6 uuid"),
    limits: { depth: 10, properties: 5_000, enumValues: 1_000, characters: 120_000 },
    otherwise: "openai",
  },
  "gemini-json": {
    source: "ai.google.dev/gemini-api/docs/structured-output, JSON schema support (2026-02); keywords refused with 400 in public issues",
    refusedAtRoot: ROOT_UNIONS,
    noBooleanSchemas: true,
    rewrites: [mergeAllOf, constToEnum, inclusiveBounds, loneReference],
    refused: words(
      "propertyNames patternProperties not if then else dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems " +
        "contains minContains maxContains multipleOf uniqueItems minProperties maxProperties contentSchema contentEncoding contentMediaType " +
        "$anchor $vocabulary $comment",
    ),
  },
  "gemini-openapi": {
    source: 'cloud.google.com Schema reference; 400 "Unknown name" for everything else, "only enum and date-time are supported" for formats (2026-11-30)',
    refusedAtRoot: ROOT_UNIONS,
    noBooleanSchemas: true,
    omitsEmptyObjects: true,
    rewrites: [
      ...[inlineReference, mergeAllOf, constToEnum, oneOfToAnyOf, inclusiveBounds, typedValues, stringEnum],
      ...[tupleToList, declaredItems, nullableTypes, typedAnything],
    ],
    allowed: words(
      "type format title description nullable enum items properties required anyOf minimum maximum minItems maxItems " +
        "minLength maxLength pattern minProperties maxProperties",
    ),
    formats: words("enum date-time"),
  },
  "draft-07": {
    source: "json-schema.org/draft-07",
    refused: words("unevaluatedProperties unevaluatedItems minContains maxContains $vocabulary contentSchema"),
    spelling: draft07Spelling,
  },
};
