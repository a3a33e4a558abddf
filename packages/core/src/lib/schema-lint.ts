/** What is wrong with a schema, found at define time by walking it, without ajv. */

import { copyJson, isPlainObject, joinPath, MAX_JSON_DEPTH } from "./json.ts";
import { nearest } from "./nearest.ts";
import {
  declaredProperties,
  IN_PLACE_KEYWORDS,
  inPlaceSubschemas,
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
  /** What is wrong and what would work, to read after the path: `must be a string`. */
  readonly problem: string;
}

/** What to hold a schema to. */
export interface LintOptions {
  /** The schema is a tool's input: `type: "object"` with `properties`. Default false. */
  readonly root?: boolean;
  /** The schema came from elsewhere: deeper nesting, and `required` may name what is not declared. Default false. */
  readonly remote?: boolean;
}

/** The deepest nesting of a schema from elsewhere, in subschemas. */
export const MAX_REMOTE_SCHEMA_DEPTH = 64;

/** The deepest nesting of a schema as a JSON value: one subschema is at most two JSON levels below its parent. */
export const MAX_SCHEMA_JSON_DEPTH: number = 2 * MAX_REMOTE_SCHEMA_DEPTH + MAX_JSON_DEPTH;

const TYPE_NAMES: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/** What a keyword's value has to be: the test, and how the problem reads when it fails. */
interface Kind {
  readonly holds: (value: unknown) => boolean;
  readonly must: string;
}

const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === "string") && new Set(value).size === value.length;

const ANY: Kind = { holds: () => true, must: "" };
const TEXT: Kind = { holds: (value) => typeof value === "string", must: "must be a string" };
const FLAG: Kind = { holds: (value) => typeof value === "boolean", must: "must be true or false" };
const NUMBER: Kind = { holds: (value) => typeof value === "number" && Number.isFinite(value), must: "must be a number" };
const COUNT: Kind = {
  holds: (value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
  must: "must be a whole number of at least 0",
};
const FACTOR: Kind = { holds: (value) => NUMBER.holds(value) && Number(value) > 0, must: "must be a number above 0" };
const LIST: Kind = { holds: (value) => Array.isArray(value), must: "must be an array" };
const CHOICES: Kind = { holds: (value) => Array.isArray(value) && value.length > 0, must: "must be a non-empty array" };
const NAMES: Kind = { holds: isNames, must: "must be an array of unique strings" };
const MAP: Kind = { holds: isPlainObject, must: "must be an object" };
const NAMES_MAP: Kind = {
  holds: (value) => isPlainObject(value) && Object.values(value).every(isNames),
  must: "must be an object of arrays of unique strings",
};
const TYPE: Kind = {
  holds: (value) => (Array.isArray(value) ? value.length > 0 && isNames(value) : true) && [value].flat().every((name) => TYPE_NAMES.includes(name)),
  must: `must be one or several of ${TYPE_NAMES.join(", ")}`,
};
const PATTERN: Kind = { holds: isPattern, must: "must be a valid regular expression (with the u flag)" };
const ANCHOR: Kind = {
  holds: (value) => typeof value === "string" && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value),
  must: "must be a name such as node (letters, digits, - . _)",
};
const REFERENCE: Kind = {
  holds: (value) => typeof value === "string" && value.startsWith("#"),
  must: 'must be a local reference that starts with "#"',
};

const byKind: readonly (readonly [Kind, string])[] = [
  [ANY, "const default"],
  [TEXT, "$schema $id $comment title description format contentEncoding contentMediaType"],
  [FLAG, "uniqueItems deprecated readOnly writeOnly"],
  [NUMBER, "minimum maximum exclusiveMinimum exclusiveMaximum"],
  [FACTOR, "multipleOf"],
  [COUNT, "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties"],
  [LIST, "examples"],
  [CHOICES, "enum"],
  [NAMES, "required"],
  [NAMES_MAP, "dependentRequired"],
  [MAP, "$vocabulary"],
  [TYPE, "type"],
  [PATTERN, "pattern"],
  [ANCHOR, "$anchor"],
  [REFERENCE, "$ref"],
];

const KIND_BY_HOLDER = { schema: ANY, list: CHOICES, map: MAP };

const KIND_BY_KEYWORD: ReadonlyMap<string, Kind> = new Map([
  ...byKind.flatMap(([kind, words]) => words.split(" ").map((word) => [word, kind] as const)),
  ...[...SUBSCHEMA_HOLDERS].map(([word, holder]) => [word, KIND_BY_HOLDER[holder]] as const),
]);

/** Keywords that people expect to work, and what to write instead. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ["$dynamicRef", "use $ref"], // 2020-12 has it, but ajv calls the wrong schema for one without a dynamic anchor
  ["$dynamicAnchor", "use $anchor"],
  ["nullable", 'use type: ["string", "null"]'],
  ["dependencies", "use dependentRequired or dependentSchemas"],
  ["additionalItems", "use items beside prefixItems"],
  ["optional", "leave the property out of required"],
  ["id", "use $id"],
]);

/** True for a keyword of JSON Schema 2020-12 and for an extension that starts with `x-`. */
export function isSchemaKeyword(word: string): boolean {
  return KIND_BY_KEYWORD.has(word) || word.startsWith("x-");
}

/** True when the value is of the kind the keyword takes. */
export function keywordTakes(keyword: string, value: unknown): boolean {
  return KIND_BY_KEYWORD.get(keyword)?.holds(value) === true;
}

interface LintState {
  readonly root: unknown;
  readonly remote: boolean;
  readonly maxDepth: number;
  readonly problems: SchemaProblem[];
  readonly anchors: Set<string>;
  readonly references: { readonly path: string; readonly keyword: string; readonly target: string }[];
  readonly visited: Set<unknown>;
}

/** Where the walk stands. `known` holds the properties declared for the same value further up; absent for a new value. */
interface Place {
  readonly path: string;
  readonly depth: number;
  readonly known?: { readonly names: ReadonlySet<string>; readonly allowsRest: boolean };
}

/**
 * Every fault of a schema, in reading order; empty when there is none, and then ajv compiles it. Never throws. Takes
 * JSON Schema 2020-12 with local references; keywords starting with `x-` are ignored.
 */
export function lintSchema(schema: unknown, options: LintOptions = {}): readonly SchemaProblem[] {
  if (!isPlainObject(schema)) {
    if (typeof schema === "boolean" && options.root !== true) return [];
    return [{ path: "", problem: `must be a JSON Schema object, got ${shortJson(schema)}` }];
  }
  const { problems: notJson } = copyJson(schema, MAX_SCHEMA_JSON_DEPTH);
  if (notJson.length > 0) return notJson;
  const remote = options.remote === true;
  const maxDepth = remote ? MAX_REMOTE_SCHEMA_DEPTH : MAX_JSON_DEPTH;
  const problems: SchemaProblem[] = options.root === true ? [...rootProblems(schema)] : [];
  const state: LintState = { root: schema, remote, maxDepth, problems, anchors: new Set(), references: [], visited: new Set() };
  lintNode(schema, { path: "", depth: 1 }, state);
  for (const reference of state.references) lintReference(reference, state);
  if (problems.length === 0) lintLoops(state);
  return problems;
}

function rootProblems(schema: Record<string, unknown>): readonly SchemaProblem[] {
  const hint = 'the root must have type "object" and "properties" (an empty {} is fine)';
  if (schema["type"] !== "object") return [{ path: "", keyword: "type", problem: `${hint}, got type ${shortJson(schema["type"])}` }];
  if (!isPlainObject(schema["properties"])) return [{ path: "", keyword: "properties", problem: `${hint}, got no properties` }];
  return [];
}

function lintNode(schema: unknown, place: Place, state: LintState): void {
  const { path, depth } = place;
  if (typeof schema === "boolean") return;
  if (!isPlainObject(schema)) {
    state.problems.push({ path, problem: `must be a schema (an object, true or false), got ${shortJson(schema)}` });
    return;
  }
  if (depth > state.maxDepth) {
    state.problems.push({ path, problem: `is nested deeper than ${state.maxDepth} levels` });
    return;
  }
  state.visited.add(schema);
  for (const keyword of Object.keys(schema)) lintKeyword(schema, keyword, { path, depth, state });
  const known = knownProperties(schema, place, state);
  lintRequired(schema, { path, ...(known && { known }) }, state);
  for (const at of subschemas(schema)) {
    const inPlace = IN_PLACE_KEYWORDS.has(at.keyword) && known !== undefined;
    lintNode(at.schema, { path: subschemaPath(path, at), depth: depth + 1, ...(inPlace && { known }) }, state);
  }
}

interface KeywordPlace {
  readonly path: string;
  readonly depth: number;
  readonly state: LintState;
}

function lintKeyword(schema: Record<string, unknown>, keyword: string, place: KeywordPlace): void {
  const { path, state } = place;
  const value = schema[keyword];
  const report = (problem: string): void => void state.problems.push({ path: joinPath(path, keyword), keyword, problem });
  const kind = KIND_BY_KEYWORD.get(keyword);
  if (kind === undefined) {
    if (!keyword.startsWith("x-")) report(`is not a keyword of JSON Schema 2020-12 that tools can use${suggestion(keyword)}`);
  } else if (!kind.holds(value)) report(`${kind.must}, got ${shortJson(value)}`);
  else if (keyword === "$id" && place.depth > 1) report("is allowed at the root only");
  else if (keyword === "patternProperties") lintPatterns(value, path, state);
  else if (kind === REFERENCE) state.references.push({ path: joinPath(path, keyword), keyword, target: String(value) });
  else if (kind === ANCHOR) {
    if (state.anchors.has(String(value))) report(`names ${shortJson(value)} a second time`);
    state.anchors.add(String(value));
  }
}

function suggestion(keyword: string): string {
  const known = ELSEWHERE.get(keyword);
  if (known !== undefined) return `; ${known}`;
  const [near] = nearest(keyword, KIND_BY_KEYWORD.keys(), 1);
  return near === undefined ? '; extensions start with "x-"' : `; did you mean "${near}"?`;
}

function lintPatterns(patterns: unknown, path: string, state: LintState): void {
  if (!isPlainObject(patterns)) return;
  for (const pattern of Object.keys(patterns)) {
    if (isPattern(pattern)) continue;
    state.problems.push({ path: joinPath(path, "patternProperties"), keyword: "patternProperties", problem: `${shortJson(pattern)} ${PATTERN.must}` });
  }
}

function isPattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    return new RegExp(value, "u") instanceof RegExp; // ajv compiles patterns with this flag (ajv option unicodeRegExp)
  } catch {
    return false;
  }
}

/** The properties declared for this value, or undefined where nothing is said about an object's properties. */
function knownProperties(schema: Record<string, unknown>, place: Place, state: LintState): Place["known"] {
  if (state.remote) return undefined;
  if (place.known === undefined && schema["properties"] === undefined && schema["type"] !== "object") return undefined;
  const here = declaredProperties(schema, state.root);
  const above = place.known;
  return { names: new Set([...here.names, ...(above?.names ?? [])]), allowsRest: here.allowsRest || above?.allowsRest === true };
}

function lintRequired(schema: Record<string, unknown>, place: Omit<Place, "depth">, state: LintState): void {
  const { path, known } = place;
  const required = schema["required"];
  if (known === undefined || known.allowsRest || !NAMES.holds(required) || !Array.isArray(required)) return;
  for (const name of required) {
    if (known.names.has(name)) continue;
    const [near] = nearest(name, known.names, 1);
    const hint = near === undefined ? "declare it" : `did you mean "${near}"?`;
    state.problems.push({ path: joinPath(path, "required"), keyword: "required", problem: `names "${name}", which is not in properties; ${hint}` });
  }
}

function lintReference(reference: LintState["references"][number], state: LintState): void {
  const target = resolveLocalReference(state.root, reference.target);
  if (state.visited.has(target) || typeof target === "boolean") return;
  const { path, keyword } = reference;
  state.problems.push({ path, keyword, problem: `points at "${reference.target}", where no schema is` });
}

/** A schema that refers to itself for the same value would validate for ever. */
function lintLoops(state: LintState): void {
  const done = new Set<unknown>();
  const open = new Set<unknown>();
  const visit = (schema: unknown): boolean => {
    if (open.has(schema)) return true;
    if (done.has(schema) || !isPlainObject(schema)) return false;
    open.add(schema);
    const loops = inPlaceSubschemas(schema, state.root).some(visit);
    open.delete(schema);
    done.add(schema);
    return loops;
  };
  if ([...state.visited].some(visit))
    state.problems.push({ path: "", keyword: "$ref", problem: "refers to itself for the same value, which never ends" });
}

