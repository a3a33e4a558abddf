/** A schema from a remote server or catalogue becomes one that is safe to compile here, or a reason why not. */

import { copyJson, deepFreeze, isPlainObject } from "./json.ts";
import {
  isSchemaKeyword,
  keywordTakes,
  lintSchema,
  MAX_SCHEMA_JSON_DEPTH,
  type SchemaProblem,
} from "./schema-lint.ts";
import { type Keywords, mapSubschemas, subschemas } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { shortText } from "./short-json.ts";

/** The schema, or why its tool has to be skipped (the rest of a sentence about the tool). */
export type AdoptedSchema =
  | { readonly ok: true; readonly schema: JsonSchemaObject }
  | { readonly ok: false; readonly reason: string };

const MAX_BYTES = 256 * 1024;

/**
 * Adopts the input schema of a remote tool (spec core.md section 2): `$id` and unknown keywords are removed, tuples of
 * older drafts are renamed, regular expressions are told to the model but never run here, a missing root type or
 * `properties` is added. Refused: over 256 KiB of JSON, deeper than 64, a `$ref` that is not local, anything that
 * would not compile. The result is a deep-frozen copy. Never throws.
 */
export function adoptRemoteSchema(schema: unknown): AdoptedSchema {
  const { copy, problems } = copyJson(schema, MAX_SCHEMA_JSON_DEPTH);
  if (problems[0] !== undefined) return refused(`is not plain JSON: ${placed(problems[0])}`);
  if (!isPlainObject(copy)) return refused("is not a JSON Schema object");
  const bytes = Buffer.byteLength(JSON.stringify(copy));
  if (bytes > MAX_BYTES) return refused(`is ${bytes} bytes long; at most ${MAX_BYTES} are taken`);
  const modern = modernise(copy);
  const safe = mentionsPattern(modern) ? withoutPatterns(modern) : modern;
  const { type = "object", properties = {}, required } = safe;
  const [fault] = lintSchema({ ...safe, type, properties }, { root: true, remote: true });
  if (fault !== undefined) return refused(`cannot be used: ${placed(fault)}`);
  // A required name that is not declared would be dropped as unknown and then be missing, so it is declared.
  const declared = isPlainObject(properties) ? properties : {};
  const missing = Array.isArray(required) ? required.filter((name) => !Object.hasOwn(declared, name)) : [];
  const all = { ...declared, ...Object.fromEntries(missing.map((name) => [name, {}])) };
  return { ok: true, schema: deepFreeze({ ...safe, type: "object", properties: all }) };
}

function refused(reason: string): AdoptedSchema {
  return { ok: false, reason: `its input schema ${reason}` };
}

function placed({ path, problem }: SchemaProblem): string {
  return `${path === "" ? "" : `at "${shortText(path, 200)}" it `}${shortText(problem, 300)}`;
}

/** A wrong value of these says nothing about what is valid, so it does not cost the tool. */
const ANNOTATIONS: ReadonlySet<string> = new Set(
  "$schema $comment title description examples deprecated readOnly writeOnly format contentEncoding contentMediaType".split(
    " ",
  ),
);

/** Tuples as 2020-12 spells them, and only keywords it has. The boolean exclusive bounds of draft 4 are left out. */
function modernise(schema: Keywords): Record<string, unknown> {
  const entries = Object.entries(schema).flatMap(([keyword, value]): (readonly [string, unknown])[] => {
    if (keyword === "items" && Array.isArray(value)) return [["prefixItems", value]];
    if (keyword === "additionalItems" && Array.isArray(schema["items"])) return [["items", value]];
    if (keyword === "$id" || !isSchemaKeyword(keyword)) return [];
    const isHarmless = ANNOTATIONS.has(keyword) || typeof value === "boolean";
    return isHarmless && !keywordTakes(keyword, value) ? [] : [[keyword, value]];
  });
  return mapSubschemas(Object.fromEntries(entries), (at) =>
    isPlainObject(at.schema) ? modernise(at.schema) : at.schema,
  );
}

function mentionsPattern(schema: unknown): boolean {
  if (!isPlainObject(schema)) return false;
  return (
    "pattern" in schema ||
    "patternProperties" in schema ||
    subschemas(schema).some((at) => mentionsPattern(at.schema))
  );
}

const RISKY = "pattern patternProperties not if then else contains minContains maxContains".split(" ");

/**
 * A regular expression of a stranger can hold this process up for hours, so none is run: the model is told of it in
 * words. Whatever would turn "matches more" into "is refused" goes with it: names that no pattern allows, negations,
 * conditions.
 */
function withoutPatterns(schema: Keywords): Record<string, unknown> {
  const { pattern, patternProperties, description } = schema;
  const closing = patternProperties === undefined ? [] : ["additionalProperties", "unevaluatedProperties"];
  const entries = Object.entries(schema).filter(
    ([keyword]) => !RISKY.includes(keyword) && !closing.includes(keyword),
  );
  const renamed = entries.map(([keyword, value]) => [keyword === "oneOf" ? "anyOf" : keyword, value]);
  if (typeof pattern === "string") {
    const sentence = `Must match the pattern ${shortText(pattern, 300)}`;
    renamed.push(["description", typeof description === "string" ? `${description} ${sentence}` : sentence]);
  }
  return mapSubschemas(Object.fromEntries(renamed), (at) =>
    isPlainObject(at.schema) ? withoutPatterns(at.schema) : at.schema,
  );
}
