/** A schema from a remote server or catalogue becomes one that is safe to compile here, or a reason why not. */

import { copyJson, deepFreeze, isPlainObject } from "./json.ts";
import {
  isSchemaKeyword,
  keywordTakes,
  lintSchema,
  MAX_SCHEMA_JSON_DEPTH,
  type SchemaProblem,
} from "./schema-lint.ts";
import { mapSubschemas, subschemas } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { shortText } from "./short-json.ts";

/** The largest schema that is adopted, in bytes of UTF-8 JSON. */
export const MAX_REMOTE_SCHEMA_BYTES: number = 256 * 1024;

/** The schema, or why its tool has to be skipped (the end of a sentence). */
export type AdoptedSchema =
  | { readonly ok: true; readonly schema: JsonSchemaObject }
  | { readonly ok: false; readonly reason: string };

/**
 * Adopts the input schema of a remote tool (spec core.md section 2): `$id` and unknown keywords are removed, tuples and
 * dependencies of older drafts are renamed, regular expressions are told to the model but never run here, a missing root type
 * or `properties` is added. Refused: over 256 KiB, deeper than 64, a `$ref` that is not local, anything that would
 * not compile. The result is a deep-frozen copy. Never throws.
 */
export function adoptRemoteSchema(schema: unknown): AdoptedSchema {
  if (!isPlainObject(schema)) return refused("is not a JSON Schema object");
  const { copy, problems } = copyJson(schema, MAX_SCHEMA_JSON_DEPTH);
  const [notJson] = problems;
  if (notJson !== undefined) return refused(`is not plain JSON: ${placed(notJson)}`);
  const bytes = Buffer.byteLength(JSON.stringify(copy));
  if (bytes > MAX_REMOTE_SCHEMA_BYTES)
    return refused(`is ${bytes} bytes long; at most ${MAX_REMOTE_SCHEMA_BYTES} are taken`);
  if (!isPlainObject(copy)) return refused("is not a JSON Schema object");
  const current = modernise(copy);
  const root = mentionsPattern(current) ? withoutPatterns(current) : current;
  const adopted: Record<string, unknown> = {
    ...root,
    type: root["type"] ?? "object",
    properties: root["properties"] ?? {},
  };
  const [first] = lintSchema(adopted, { root: true, remote: true });
  if (first !== undefined) return refused(`cannot be used: ${placed(first)}`);
  return { ok: true, schema: deepFreeze(declareRequired(adopted)) };
}

function refused(reason: string): AdoptedSchema {
  return { ok: false, reason: `its input schema ${reason}` };
}

function placed({ path, problem }: SchemaProblem): string {
  return `${path === "" ? "" : `at "${shortText(path, 200)}" it `}${shortText(problem, 300)}`;
}

/** Every keyword as 2020-12 spells it, and no unknown one. */
function modernise(schema: Keywords): Record<string, unknown> {
  const entries = Object.entries(schema).flatMap(([keyword, value]) => modernEntry(keyword, value, schema));
  return mapSubschemas(Object.fromEntries(entries), (at) =>
    isPlainObject(at.schema) ? modernise(at.schema) : at.schema,
  );
}

type Keywords = Readonly<Record<string, unknown>>;
type Entries = readonly (readonly [string, unknown])[];

function mentionsPattern(schema: unknown): boolean {
  if (!isPlainObject(schema)) return false;
  return (
    "pattern" in schema ||
    "patternProperties" in schema ||
    subschemas(schema).some((at) => mentionsPattern(at.schema))
  );
}

/** What becomes of one keyword. Draft 4 to 7 spell tuples, dependencies and exclusive bounds in other ways. */
function modernEntry(keyword: string, value: unknown, schema: Keywords): Entries {
  switch (keyword) {
    case "items":
      if (!Array.isArray(value)) return [[keyword, value]];
      return schema["additionalItems"] === undefined
        ? [["prefixItems", value]]
        : [
            ["prefixItems", value],
            ["items", schema["additionalItems"]],
          ];
    case "dependencies":
      return isPlainObject(value) ? dependents(value) : [];
    case "minimum":
    case "maximum":
      return schema[exclusive(keyword)] === true ? [[exclusive(keyword), value]] : [[keyword, value]];
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return typeof value === "boolean" ? [] : [[keyword, value]];
    case "$id":
      return [];
    default:
      return isSchemaKeyword(keyword) && !(ANNOTATIONS.has(keyword) && !keywordTakes(keyword, value))
        ? [[keyword, value]]
        : [];
  }
}

/** A wrong value here says nothing about what is valid, so it does not cost the tool. */
const ANNOTATIONS: ReadonlySet<string> = new Set(
  "$schema $comment title description examples deprecated readOnly writeOnly format contentEncoding contentMediaType".split(
    " ",
  ),
);

function exclusive(keyword: "minimum" | "maximum"): string {
  return keyword === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum";
}

function dependents(value: Keywords): Entries {
  const named = Object.entries(value);
  const required = named.filter(([, item]) => Array.isArray(item));
  const schemas = named.filter(([, item]) => !Array.isArray(item));
  return [
    ["dependentRequired", Object.fromEntries(required)],
    ["dependentSchemas", Object.fromEntries(schemas)],
  ];
}

/**
 * A regular expression of a stranger can hold this process up for hours, so none is run: the model is told of it in words.
 * Whatever would turn "matches more" into "is refused" goes with it: names that no pattern allows, negations, conditions.
 */
function withoutPatterns(schema: Keywords): Record<string, unknown> {
  const entries = Object.entries(schema).flatMap(([keyword, value]) => loosened(keyword, value, schema));
  const open = mapSubschemas(Object.fromEntries(entries), (at) =>
    isPlainObject(at.schema) ? withoutPatterns(at.schema) : at.schema,
  );
  if (schema["pattern"] === undefined) return open;
  const sentence = `Must match the pattern ${shortText(String(schema["pattern"]), 300)}`;
  const { description } = open;
  return {
    ...open,
    description:
      typeof description === "string" && description !== "" ? `${description} ${sentence}` : sentence,
  };
}

function loosened(keyword: string, value: unknown, schema: Keywords): Entries {
  if (RISKY.has(keyword)) return [];
  if (keyword === "oneOf") return schema["anyOf"] === undefined ? [["anyOf", value]] : [];
  const closing = keyword === "additionalProperties" || keyword === "unevaluatedProperties";
  return closing && schema["patternProperties"] !== undefined ? [] : [[keyword, value]];
}

const RISKY: ReadonlySet<string> = new Set(
  "pattern patternProperties not if then else contains minContains maxContains".split(" "),
);

/** A required name that is not declared would be dropped as unknown and then be missing, so it is declared. */
function declareRequired(schema: JsonSchemaObject): JsonSchemaObject {
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(schema.properties ?? {}, name));
  if (missing.length === 0) return schema;
  return {
    ...schema,
    properties: { ...schema.properties, ...Object.fromEntries(missing.map((name) => [name, {}])) },
  };
}
