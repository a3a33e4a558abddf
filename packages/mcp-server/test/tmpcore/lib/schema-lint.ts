/** What is wrong with a schema, found at define time by walking it, without ajv. */

import { copyJson, isPlainObject, joinPath, MAX_JSON_DEPTH } from "./json.ts";
import { nearest } from "./nearest.ts";
import {
  declaredProperties,
  IN_PLACE_KEYWORDS,
  inPlaceSubschemas,
  type Keywords,
  resolveLocalReference,
  SUBSCHEMA_HOLDERS,
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

/** What to hold a schema to. */
export interface LintOptions {
  /** The schema is a tool's input: `type: "object"` with `properties`. Default false. */
  readonly root?: boolean;
  /** It came from elsewhere: 64 levels instead of 32, and `required` may name what is not declared. Default false. */
  readonly remote?: boolean;
}

const MAX_REMOTE_DEPTH = 64;

/** The deepest nesting of a schema as a JSON value: one subschema is at most two JSON levels below its parent. */
export const MAX_SCHEMA_JSON_DEPTH: number = 2 * MAX_REMOTE_DEPTH + MAX_JSON_DEPTH;

const TYPES: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === "string";
const isNames: Test = (value) =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;
const isType: Test = (value) =>
  (isNames(value) || isText(value)) && [value].flat().every((name) => TYPES.includes(name));
const isCount: Test = (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

/** What values keywords take: how it reads after "must be", the test, and the keywords. */
const KINDS: readonly (readonly [string, Test, string])[] = [
  ["anything", () => true, "const default"],
  ["a string", isText, "$schema $id $comment title description format contentEncoding contentMediaType"],
  ["true or false", (value) => typeof value === "boolean", "uniqueItems deprecated readOnly writeOnly"],
  ["a number", Number.isFinite, "minimum maximum exclusiveMinimum exclusiveMaximum"],
  ["a number above 0", (value) => typeof value === "number" && value > 0, "multipleOf"],
  ["a whole number of at least 0", isCount, "minLength maxLength minItems maxItems minContains maxContains"],
  ["a whole number of at least 0", isCount, "minProperties maxProperties"],
  ["an array", Array.isArray, "examples"],
  ["a non-empty array", (value) => Array.isArray(value) && value.length > 0, "enum"],
  ["an array of unique strings", isNames, "required"],
  [
    "an object of arrays of unique strings",
    (value) => isPlainObject(value) && Object.values(value).every(isNames),
    "dependentRequired",
  ],
  [`one or several of ${TYPES.join(", ")}`, (value) => isType(value) && shortJson(value) !== "[]", "type"],
  ["a valid regular expression (with the u flag)", isPattern, "pattern"],
  [
    "a name of letters, digits, - . and _",
    (value) => isText(value) && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(String(value)),
    "$anchor",
  ],
  [
    'a local reference that starts with "#"',
    (value) => isText(value) && String(value).startsWith("#"),
    "$ref",
  ],
];

const HELD_KINDS = {
  one: ["a schema", () => true],
  list: ["a non-empty array of schemas", (value: unknown) => Array.isArray(value) && value.length > 0],
  map: ["an object of schemas", isPlainObject],
} as const;

type Kind = readonly [must: string, holds: Test];

const KIND_BY_KEYWORD: ReadonlyMap<string, Kind> = new Map([
  ...KINDS.flatMap(([must, holds, keywords]) =>
    keywords.split(" ").map((word): [string, Kind] => [word, [must, holds]]),
  ),
  ...[...SUBSCHEMA_HOLDERS].map(([word, holder]): [string, Kind] => [word, HELD_KINDS[holder]]),
]);

/** True for a keyword of JSON Schema 2020-12 that tools can use, and for an extension that starts with `x-`. */
export function isSchemaKeyword(word: string): boolean {
  return KIND_BY_KEYWORD.has(word) || word.startsWith("x-");
}

/** True when the value is of the kind the keyword takes; an extension takes anything. */
export function keywordTakes(keyword: string, value: unknown): boolean {
  return keyword.startsWith("x-") || KIND_BY_KEYWORD.get(keyword)?.[1](value) === true;
}

interface LintState {
  readonly root: Keywords;
  readonly remote: boolean;
  readonly problems: SchemaProblem[];
  readonly anchors: Set<unknown>;
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
 * 2020-12 with local references and without dynamic ones; keywords starting with `x-` are ignored. Never throws.
 */
export function lintSchema(schema: unknown, options: LintOptions = {}): readonly SchemaProblem[] {
  const { root = false, remote = false } = options;
  if (typeof schema === "boolean" && !root) return [];
  if (!isPlainObject(schema))
    return [{ path: "", problem: `must be a JSON Schema object, got ${shortJson(schema)}` }];
  const { problems: notJson } = copyJson(schema, MAX_SCHEMA_JSON_DEPTH);
  if (notJson.length > 0) return notJson;
  const problems: SchemaProblem[] = [];
  const state: LintState = { root: schema, remote, problems, anchors: new Set(), visited: new Set() };
  if (root) lintRoot(schema, problems);
  lintNode(schema, { path: "", depth: 1 }, state);
  if (problems.length === 0) lintReferences(state);
  return problems;
}

function lintRoot(schema: Keywords, problems: SchemaProblem[]): void {
  const { type, properties } = schema;
  if (type === "object" && isPlainObject(properties)) return;
  const got = type === "object" ? "no properties" : `type ${shortJson(type)}`;
  const problem = `the root must have type "object" and "properties" (an empty {} is fine), got ${got}`;
  problems.push({ path: "", keyword: type === "object" ? "properties" : "type", problem });
}

function lintNode(schema: unknown, place: Place, state: LintState): void {
  const { path, depth } = place;
  const maxDepth = state.remote ? MAX_REMOTE_DEPTH : MAX_JSON_DEPTH;
  if (typeof schema === "boolean") return;
  if (!isPlainObject(schema)) {
    state.problems.push({
      path,
      problem: `must be a schema (an object, true or false), got ${shortJson(schema)}`,
    });
  } else if (depth > maxDepth) {
    state.problems.push({ path, problem: `is nested deeper than ${maxDepth} levels` });
  } else {
    state.visited.add(schema);
    for (const keyword of Object.keys(schema)) {
      const problem = keywordProblem(schema, keyword, { depth, state });
      if (problem !== undefined) state.problems.push({ path: joinPath(path, keyword), keyword, problem });
    }
    const known = knownProperties(schema, place, state);
    lintRequired(schema, { path, depth, known }, state);
    for (const at of subschemas(schema)) {
      const below = IN_PLACE_KEYWORDS.has(at.keyword) ? known : undefined;
      lintNode(at.schema, { path: subschemaPath(path, at), depth: depth + 1, known: below }, state);
    }
  }
}

function keywordProblem(
  schema: Keywords,
  keyword: string,
  at: { readonly depth: number; readonly state: LintState },
): string | undefined {
  const value = schema[keyword];
  const kind = KIND_BY_KEYWORD.get(keyword);
  if (kind === undefined) {
    const [near] = nearest(keyword, KIND_BY_KEYWORD.keys(), 1);
    const hint = near === undefined ? 'extensions start with "x-"' : `did you mean "${near}"?`;
    return keyword.startsWith("x-")
      ? undefined
      : `is not a keyword of JSON Schema 2020-12 that tools can use; ${hint}`;
  }
  const [must, holds] = kind;
  if (!holds(value)) return `must be ${must}, got ${shortJson(value)}`;
  if (keyword === "$id" && at.depth > 1) return "is allowed at the root only";
  if (keyword === "$anchor" && at.state.anchors.has(value)) return `names ${shortJson(value)} a second time`;
  if (keyword === "$anchor") at.state.anchors.add(value);
  const bad =
    keyword === "patternProperties" && isPlainObject(value)
      ? Object.keys(value).find((name) => !isPattern(name))
      : undefined;
  return bad === undefined
    ? undefined
    : `${shortJson(bad)} must be a valid regular expression (with the u flag)`;
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") instanceof RegExp; // ajv compiles patterns with this flag
  } catch {
    return false;
  }
}

/** The properties declared for this value, or undefined where nothing is said about an object's properties. */
function knownProperties(schema: Keywords, place: Place, state: LintState): Place["known"] {
  const { known: above } = place;
  const silent = schema["properties"] === undefined && schema["type"] !== "object";
  if (state.remote || (above === undefined && silent)) return undefined;
  const here = declaredProperties(schema, state.root);
  if (above === undefined) return here;
  return { names: new Set([...here.names, ...above.names]), allowsRest: here.allowsRest || above.allowsRest };
}

function lintRequired(schema: Keywords, { path, known }: Place, state: LintState): void {
  const { required } = schema;
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
  for (const schema of visited) {
    const reference = isPlainObject(schema) ? schema["$ref"] : undefined;
    const target = resolveLocalReference(root, reference);
    if (reference !== undefined && !visited.has(target) && typeof target !== "boolean") {
      problems.push({
        path: "",
        keyword: "$ref",
        problem: `$ref ${shortJson(reference)} points where no schema is`,
      });
    } else if (loops(schema)) {
      problems.push({
        path: "",
        keyword: "$ref",
        problem: "refers to itself for the same value, which never ends",
      });
      return;
    }
  }
}
