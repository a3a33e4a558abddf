/** What a schema literal means in TypeScript. Checked by tsc; nothing here runs. */

import { z } from "zod";
import type { InferOutput, InferSchema, StandardSchema } from "./schema.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<T extends true>(): T | undefined {
  return undefined;
}

/** The type that a literal infers, kept narrow as `defineTool` keeps it. */
function infer<const S>(_schema: S): InferSchema<S> {
  throw new Error("types only");
}

const scalars = infer({
  type: "object",
  properties: {
    s: { type: "string" },
    n: { type: "number" },
    i: { type: "integer" },
    b: { type: "boolean" },
    z: { type: "null" },
  },
  required: ["s", "n", "i", "b", "z"],
});
same<Equal<typeof scalars, { s: string; n: number; i: number; b: boolean; z: null }>>();

const optional = infer({
  type: "object",
  properties: { a: { type: "string" }, b: { type: "number" } },
  required: ["a"],
});
same<Equal<typeof optional, { a: string; b?: number }>>();

const noRequired = infer({ type: "object", properties: { a: { type: "string" } } });
same<Equal<typeof noRequired, { a?: string }>>();

const empty = infer({ type: "object", properties: {} });
same<Equal<typeof empty, {}>>();

const nested = infer({
  type: "object",
  properties: {
    o: {
      type: "object",
      properties: {
        list: {
          type: "array",
          items: { type: "object", properties: { k: { type: "string" } }, required: ["k"] },
        },
      },
      required: ["list"],
    },
  },
  required: ["o"],
});
same<Equal<typeof nested, { o: { list: { k: string }[] } }>>();

const choices = infer({
  type: "object",
  properties: { e: { type: "string", enum: ["a", "b"] }, n: { enum: [1, 2, null] }, c: { const: "x" } },
  required: ["e", "n", "c"],
});
same<Equal<typeof choices, { e: "a" | "b"; n: 1 | 2 | null; c: "x" }>>();

const lists = infer({
  type: "object",
  properties: {
    any: { type: "array" },
    many: { type: "array", items: { type: ["string", "null"] } },
    pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
  },
  required: ["any", "many", "pair"],
});
same<Equal<typeof lists, { any: unknown[]; many: (string | null)[]; pair: [string, number] }>>();

const openPair = infer({ type: "array", prefixItems: [{ type: "string" }], items: { type: "number" } });
same<Equal<typeof openPair, [string, ...number[]]>>();

const unions = infer({
  type: "object",
  properties: {
    any: { anyOf: [{ type: "string" }, { type: "number" }] },
    one: { oneOf: [{ type: "null" }, { type: "object", properties: { k: { const: 1 } }, required: ["k"] }] },
    types: { type: ["string", "integer", "null"] },
  },
  required: ["any", "one", "types"],
});
same<Equal<typeof unions, { any: string | number; one: null | { k: 1 }; types: string | number | null }>>();

const defaults = infer({
  type: "object",
  properties: {
    mode: { type: "string", default: "fast" },
    other: { type: "number" },
    nothing: { type: ["string", "null"], default: null },
  },
});
same<Equal<typeof defaults, { mode: string; nothing: string | null; other?: number }>>();

const record = infer({ type: "object", additionalProperties: { type: "number" } });
same<Equal<typeof record, Record<string, number>>>();

const anything = infer({ type: "object" });
same<Equal<typeof anything, Record<string, unknown>>>();

const closed = infer({
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
});
same<Equal<typeof closed, { a: string }>>();

const mixed = infer({
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: { type: "string" },
});
const mixedName: string = mixed.a;
const mixedOther: string | undefined = mixed["other"];
void [mixedName, mixedOther];

const open = infer({
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: true,
});
same<Equal<(typeof open)["a"], string>>();

const requiredElsewhere = infer({
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a", "b"],
  additionalProperties: { type: "number" },
});
void requiredElsewhere.a.length;

const unknowns = infer({
  type: "object",
  properties: {
    r: { $ref: "#/$defs/x" },
    all: { allOf: [{ type: "string" }] },
    not: { not: { type: "string" } },
    cond: { if: { type: "string" }, else: {} },
    none: {},
    yes: true,
    no: false,
  },
  required: ["r", "all", "not", "cond", "none", "yes"],
});
same<Equal<(typeof unknowns)["r"], unknown>>();
same<Equal<(typeof unknowns)["all"], unknown>>();
same<Equal<(typeof unknowns)["not"], unknown>>();
same<Equal<(typeof unknowns)["cond"], unknown>>();
same<Equal<(typeof unknowns)["none"], unknown>>();
same<Equal<(typeof unknowns)["yes"], unknown>>();
same<Equal<(typeof unknowns)["no"], unknown>>();

const union = infer({
  anyOf: [
    { type: "object", properties: { kind: { const: "a" }, n: { type: "number" } }, required: ["kind", "n"] },
    { type: "object", properties: { kind: { const: "b" } }, required: ["kind"] },
  ],
});
if (union.kind === "a") same<Equal<typeof union.n, number>>();

// A schema that is not a literal means nothing in particular, and stays usable.
declare const loose: InferSchema<{
  type: "object";
  properties: Record<string, { type: "string" }>;
  required: string[];
}>;
same<Equal<(typeof loose)[string], string>>();

const zod = z.object({ a: z.string(), n: z.string().transform(Number), d: z.number().default(1) });
same<Equal<InferOutput<typeof zod>, { a: string; n: number; d: number }>>();
const asStandard: StandardSchema<
  { a: string; n: string; d?: number | undefined },
  { a: string; n: number; d: number }
> = zod;
void asStandard;
