/** The JSON Schema we accept, and the TypeScript it means. */

/** A type name of JSON Schema 2020-12. */
export type JsonTypeName = "object" | "array" | "string" | "number" | "integer" | "boolean" | "null";

/** A JSON Schema 2020-12 schema: `true`, `false`, or an object of keywords. */
export type JsonSchema = boolean | JsonSchemaObject;

/** The keyword form of a schema. Keywords that start with `x-` are allowed and ignored. */
export interface JsonSchemaObject {
  readonly type?: JsonTypeName | readonly JsonTypeName[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly [keyword: string]: unknown;
}

/** The part of Standard Schema (standardschema.dev, version 1) that we use, with its JSON Schema extension. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** What a Standard Schema's `validate` answers. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One problem a Standard Schema found. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What `inputSchema` and `outputSchema` take. */
export type ToolSchema = JsonSchemaObject | StandardSchema;

/** The type a handler receives for a schema: a Standard Schema's output, or what the JSON Schema means. */
export type InferOutput<S> = S extends StandardSchema<unknown, infer Output> ? Output : InferSchema<S>;

/**
 * The TypeScript that a JSON Schema literal means. `$ref`, `allOf`, `not` and `if` infer `unknown` for that
 * branch. A property with a `default` is present in the result, since validation fills it in.
 */
export type InferSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: infer A extends readonly unknown[] }
      ? InferSchema<A[number]>
      : S extends { readonly oneOf: infer O extends readonly unknown[] }
        ? InferSchema<O[number]>
        : S extends
              | { readonly $ref: string }
              | { readonly allOf: unknown }
              | { readonly not: unknown }
              | { readonly if: unknown }
          ? unknown
          : S extends { readonly type: infer T }
            ? InferType<S, T extends readonly (infer U)[] ? U : T>
            : unknown;

type InferType<S, T> = T extends "string"
  ? string
  : T extends "number" | "integer"
    ? number
    : T extends "boolean"
      ? boolean
      : T extends "null"
        ? null
        : T extends "array"
          ? InferArray<S>
          : T extends "object"
            ? InferObject<S>
            : unknown;

type InferArray<S> = S extends { readonly prefixItems: infer P extends readonly unknown[] }
  ? [...{ -readonly [I in keyof P]: InferSchema<P[I]> }, ...InferTail<S>]
  : S extends { readonly items: infer I }
    ? InferSchema<I>[]
    : unknown[];

// What may follow a tuple; said only when the schema says it, since nobody reads what nobody described.
type InferTail<S> = S extends { readonly items: infer I extends JsonSchemaObject } ? InferSchema<I>[] : [];

type PresentKeys<P, S> = {
  [K in keyof P]: P[K] extends { readonly default: unknown }
    ? K
    : S extends { readonly required: readonly (infer R)[] }
      ? K extends R
        ? K
        : never
      : never;
}[keyof P];

type Flat<T> = { [K in keyof T]: T[K] } & {};

type InferObject<S> = S extends { readonly properties: infer P }
  ? Flat<
      { -readonly [K in PresentKeys<P, S>]: InferSchema<P[K]> } & {
        -readonly [K in Exclude<keyof P, PresentKeys<P, S>>]?: InferSchema<P[K]>;
      } & InferRest<S>
    >
  : S extends { readonly additionalProperties: infer A }
    ? A extends JsonSchemaObject
      ? Record<string, InferSchema<A>>
      : Record<string, unknown>
    : Record<string, unknown>;

type InferRest<S> = S extends { readonly additionalProperties: infer A extends JsonSchemaObject }
  ? { [key: string]: InferSchema<A> | undefined } extends infer R
    ? R
    : never
  : unknown;

/** True for a Standard Schema (also one that is a function, as ArkType's are). */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return typeof standard === "object" && standard !== null && "validate" in standard;
}
