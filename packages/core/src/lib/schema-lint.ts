/** What is wrong with a schema, found at define time by walking it, without ajv. */

import { copyJson, isPlainObject, joinPath, MAX_JSON_DEPTH } from "./json.ts";
import { nearest } from "./nearest.ts";
import {
  declaredProperties,
  HELD_BY,
  IN_PLACE_KEYWORDS,
  inPlaceSubschemas,
  type Keywords,
  resolveLocalReference,
  subschemaPath,
  subschemas,
} from "./schema-walk.ts";
import { shortJson } from "./short-json.ts";

/** One fault of a schema. */
export interface SchemaProblem {
  /** Dotted place in the schema, "" for its root: `properties.age`. */
  readonly path: string;
  readonly keyword?: string;
  /** What is wrong and what would work, to read after the path: `must be a string, got 5`. */
  readonly problem: string;
}

/** The deepest nesting of a schema as a JSON value: one subschema is at most two JSON levels below its parent. */
export const MAX_SCHEMA_JSON_DEPTH: number = 3 * MAX_JSON_DEPTH;

const TYPES: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

type Test = (value: unknown) => boolean;

const isNames: Test = (value) =>
  Array.isArray(value) &&
  value.every((item) => typeof item === "string") &&
  new Set(value).size === value.length;
const isType: Test = (value) =>
  (typeof value === "string" || (isNames(value) && shortJson(value) !== "[]")) &&
  [value].flat().every((name) => TYPES.includes(name));
const isFilled: Test = (value) => Array.isArray(value) && value.length > 0;

/** What values keywords take: how it reads after "must be", the test, and the keywords. */
const KINDS: readonly (readonly [must: string, holds: Test, keywords: string])[] = [
  ["anything", () => true, "const default"],
  [
    "a string",
    (value) => typeof value === "string",
    "$schema $id $anchor $comment title description format contentEncoding contentMediaType",
  ],
  ["true or false", (value) => typeof value === "boolean", "uniqueItems deprecated readOnly writeOnly"],
  ["a number", Number.isFinite, "minimum maximum exclusiveMinimum exclusiveMaximum"],
  ["a number above 0", (value) => typeof value === "number" && value > 0, "multipleOf"],
  [
    "a whole number of at least 0",
    (value) => Number.isSafeInteger(value) && Number(value) >= 0,
    "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties",
  ],
  ["an array", Array.isArray, "examples"],
  ["a non-empty array", isFilled, "enum"],
  ["an array of unique strings", isNames, "required"],
  [
    "an object of arrays of unique strings",
    (value) => isPlainObject(value) && Object.values(value).every(isNames),
    "dependentRequired",
  ],
  [`one or several of ${TYPES.join(", ")}`, isType, "type"],
  ["a valid regular expression (with the u flag)", isPattern, "pattern"],
  ['a local reference: "#" or "#/..."', (value) => /^#(\/|$)/.test(String(value)), "$ref"],
  ["a schema", () => true, HELD_BY.one],
  ["a non-empty array of schemas", isFilled, HELD_BY.list],
  ["an object of schemas", isPlainObject, HELD_BY.map],
];

const KIND_BY_KEYWORD: ReadonlyMap<string, (typeof KINDS)[number]> = new Map(
  KINDS.flatMap((kind) => kind[2].split(" ").map((word) => [word, kind] as const)),
);

/** True for a keyword of JSON Schema 2020-12 that tools can use, and for an extension that starts with `x-`. */
export function isSchemaKeyword(word: string): boolean {
  return KIND_BY_KEYWORD.has(word) || word.startsWith("x-");
}

interface LintState {
  readonly root: Keywords;
  readonly problems: SchemaProblem[];
  readonly visited: Set<unknown>;
}

/** Where the walk stands. `known`: the properties declared for the same value further up; absent for a new value. */
interface Place {
  readonly path: string;
  readonly depth: number;
  readonly known?: { readonly names: ReadonlySet<string>; readonly allowsRest: boolean } | undefined;
}

/**
 * Every fault of a schema, in reading order; empty when there is none, and then ajv compiles it. Takes JSON Schema
 * 2020-12 with local pointers as references; keywords starting with `x-` are ignored. With `root` it is held to what a
 * tool's input is: `type: "object"` with `properties`. Never throws.
 */
export function lintSchema(
  schema: unknown,
  { root = false }: { readonly root?: boolean } = {},
): readonly SchemaProblem[] {
  if (typeof schema === "boolean" && !root) return [];
  if (!isPlainObject(schema))
    return [{ path: "", problem: `must be a JSON Schema object, got ${shortJson(schema)}` }];
  const { problems: notJson } = copyJson(schema, MAX_SCHEMA_JSON_DEPTH);
  if (notJson.length > 0) return notJson;
  const state: LintState = { root: schema, problems: [], visited: new Set() };
  if (root) lintRoot(schema, state.problems);
  lintNode(schema, { path: "", depth: 1 }, state);
  if (state.problems.length === 0) lintReferences(state);
  return state.problems;
}

function lintRoot({ type, properties }: Keywords, problems: SchemaProblem[]): void {
  if (type === "object" && isPlainObject(properties)) return;
  const got = type === "object" ? "no properties" : `type ${shortJson(type)}`;
  const problem = `the root must have type "object" and "properties" (an empty {} is fine), got ${got}`;
  problems.push({ path: "", keyword: type === "object" ? "properties" : "type", problem });
}

function lintNode(schema: unknown, place: Place, state: LintState): void {
  const { path, depth } = place;
  if (typeof schema === "boolean") return;
  if (!isPlainObject(schema) || depth > MAX_JSON_DEPTH) {
    const wrong = `must be a schema (an object, true or false), got ${shortJson(schema)}`;
    const deep = `is nested deeper than ${MAX_JSON_DEPTH} levels`;
    state.problems.push({ path, problem: isPlainObject(schema) ? deep : wrong });
    return;
  }
  state.visited.add(schema);
  for (const keyword of Object.keys(schema)) {
    const problem = keywordProblem(keyword, schema[keyword], depth);
    if (problem !== undefined) state.problems.push({ path: joinPath(path, keyword), keyword, problem });
  }
  const known = knownProperties(schema, place, state);
  lintRequired(schema, { path, depth, known }, state);
  for (const at of subschemas(schema)) {
    const below = IN_PLACE_KEYWORDS.has(at.keyword) ? known : undefined;
    lintNode(at.schema, { path: subschemaPath(path, at), depth: depth + 1, known: below }, state);
  }
}

function keywordProblem(keyword: string, value: unknown, depth: number): string | undefined {
  if (keyword.startsWith("x-")) return undefined;
  const [must, holds] = KIND_BY_KEYWORD.get(keyword) ?? [];
  if (holds === undefined) {
    const [near] = nearest(keyword, KIND_BY_KEYWORD.keys(), 1);
    const hint = near === undefined ? 'extensions start with "x-"' : `did you mean "${near}"?`;
    return `is not a keyword of JSON Schema 2020-12 that tools can use; ${hint}`;
  }
  if (!holds(value)) return `must be ${must}, got ${shortJson(value)}`;
  if (keyword === "$id" && depth > 1) return "is allowed at the root only";
  const patterns = keyword === "patternProperties" ? Object.keys(Object(value)) : [];
  const bad = patterns.find((name) => !isPattern(name));
  return bad && `${shortJson(bad)} must be a valid regular expression (with the u flag)`;
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") instanceof RegExp; // ajv compiles patterns with this flag
  } catch {
    return false;
  }
}

/** The properties declared for this value, or undefined where nothing is said about an object's properties. */
function knownProperties(schema: Keywords, { known: above }: Place, { root }: LintState): Place["known"] {
  const silent = schema["properties"] === undefined && schema["type"] !== "object";
  if (above === undefined && silent) return undefined;
  const here = declaredProperties(schema, root);
  if (above === undefined) return here;
  return { names: new Set([...here.names, ...above.names]), allowsRest: here.allowsRest || above.allowsRest };
}

function lintRequired({ required }: Keywords, { path, known }: Place, state: LintState): void {
  if (known === undefined || known.allowsRest || !Array.isArray(required)) return;
  for (const name of required.filter((item) => !known.names.has(item))) {
    const [near] = nearest(String(name), known.names, 1);
    const hint = near === undefined ? "declare it" : `did you mean "${near}"?`;
    const problem = `names ${shortJson(name)}, which is not in properties; ${hint}`;
    state.problems.push({ path: joinPath(path, "required"), keyword: "required", problem });
  }
}

/** References have to resolve, and a schema that refers to itself for the same value would validate for ever. */
function lintReferences({ root, visited, problems }: LintState): void {
  const done = new Set<unknown>();
  const open = new Set<unknown>();
  const loops = (schema: unknown): boolean => {
    if (open.has(schema)) return true;
    if (done.has(schema) || !isPlainObject(schema)) return false;
    open.add(schema);
    const found = inPlaceSubschemas(schema, root).some(loops);
    open.delete(schema);
    done.add(schema);
    return found;
  };
  const report = (problem: string): void => void problems.push({ path: "", keyword: "$ref", problem });
  for (const schema of visited) {
    const reference = isPlainObject(schema) ? schema["$ref"] : undefined;
    const target = resolveLocalReference(root, reference);
    if (reference !== undefined && !visited.has(target) && typeof target !== "boolean")
      report(`$ref ${shortJson(reference)} points where no schema is`);
    else if (loops(schema)) return report("refers to itself for the same value, which never ends");
  }
}
