/** A tool's schema in the words of each provider, with a list of what was lost and the way back. */

import { restoreArguments, WRAPPER_PROPERTY } from "./dialect-restore.ts";
import { type Draft, joinedDescription, type LossAction, type RewriteContext } from "./dialect-rewrites.ts";
import { DIALECT_RULES, type DialectRules, type SchemaDialect } from "./dialect-rules.ts";
import { copyJson, deepFreeze, isPlainObject, type Json, type JsonObject } from "./json.ts";
import { MAX_SCHEMA_JSON_DEPTH } from "./schema-lint.ts";
import {
  mapSubschemas,
  resolveLocalReference,
  type Subschema,
  subschemaPath,
  subschemas,
} from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { shortJson } from "./short-json.ts";

/** One change that a dialect forced. */
export interface Loss {
  /** Dotted place in the schema that was compiled: `properties.url`. */
  readonly path: string;
  readonly keyword: string;
  /** `described`: dropped, but said in the description; `inlined` and `rewritten` lose nothing that validation needs. */
  readonly action: LossAction;
  readonly note: string;
}

/** A schema in one dialect. Deep frozen, and the same object for the same schema and dialect. */
export interface CompiledSchema {
  /** What to send; null where the dialect wants no schema at all (Gemini, for a tool without parameters). */
  readonly schema: Json;
  /** True when no constraint was dropped. Annotations (default, title, examples) do not count. */
  readonly lossless: boolean;
  readonly losses: readonly Loss[];
  /** True only for `openai-strict` when the whole schema could be said: send `strict: true`. */
  readonly strict: boolean;
  /** Undoes the rewrites in arguments the model wrote. The result is validated against the original schema. */
  restore(args: JsonObject): JsonObject;
  /** About what the schema costs in every request: characters of its JSON divided by 4. */
  readonly tokens: number;
}

// Memoised by schema object, which is frozen: the same schema always compiles to the same result.
const compiledSchemas = new WeakMap<JsonSchemaObject, Map<SchemaDialect, CompiledSchema>>();

/**
 * Compiles a (frozen, linted) tool schema for a dialect. Pure, never throws. `openai-strict` that would lose something
 * gives the `openai` form instead, with the reasons as losses: never a half-strict schema.
 */
export function compileSchema(schema: JsonSchemaObject, dialect: SchemaDialect): CompiledSchema {
  const known = compiledSchemas.get(schema) ?? new Map<SchemaDialect, CompiledSchema>();
  compiledSchemas.set(schema, known);
  let compiled = known.get(dialect);
  if (compiled === undefined) {
    compiled = compile(schema, dialect);
    known.set(dialect, compiled);
  }
  return compiled;
}

const ANNOTATIONS: ReadonlySet<string> = new Set(
  "title default examples deprecated readOnly writeOnly $comment $vocabulary contentEncoding contentMediaType contentSchema".split(
    " ",
  ),
);

function compile(schema: JsonSchemaObject, dialect: SchemaDialect): CompiledSchema {
  const rules = DIALECT_RULES[dialect];
  const refused = rules.refusedAtRoot?.find((keyword) => keyword in schema);
  const root = refused === undefined ? schema : wrap(schema, rules);
  const state: CompileState = { rules, root, losses: [], nodes: 0 };
  if (refused !== undefined)
    state.losses.push({
      path: "",
      keyword: refused,
      action: "rewritten",
      note: `moved under "${WRAPPER_PROPERTY}"`,
    });
  const node = hasNoArguments(schema) ? noArguments(rules) : compileNode(root, { path: "", open: [] }, state);
  const sent = node === undefined ? null : copyJson(node, MAX_SCHEMA_JSON_DEPTH).copy;
  const lost = [...state.losses.filter(isLossy), ...tooLarge(sent, rules)];
  if (lost.length > 0 && rules.otherwise !== undefined) {
    const other = compileSchema(schema, rules.otherwise);
    return deepFreeze({ ...other, lossless: false, losses: [...lost, ...other.losses] });
  }
  const options = { wrapped: refused !== undefined, omitsEmptyObjects: rules.omitsEmptyObjects === true };
  const changed = state.losses.some((loss) => loss.action === "rewritten" || loss.keyword === "properties");
  return deepFreeze({
    schema: sent,
    lossless: lost.length === 0,
    losses: distinct(state.losses),
    strict: rules.otherwise !== undefined,
    restore: (args: JsonObject): JsonObject => (changed ? restoreArguments(schema, args, options) : args),
    tokens: sent === null ? 0 : Math.ceil(JSON.stringify(sent).length / 4),
  });
}

function isLossy({ action, keyword }: Loss): boolean {
  return (action === "dropped" || action === "described") && !ANNOTATIONS.has(keyword);
}

function noArguments(rules: DialectRules): Draft | undefined {
  return rules.omitsEmptyObjects === true
    ? undefined
    : { type: "object", properties: {}, additionalProperties: false };
}

function hasNoArguments({
  properties = {},
  additionalProperties = false,
  ...rest
}: JsonSchemaObject): boolean {
  const silent = Object.keys(rest).every(
    (keyword) =>
      ["type", "title", "description", "required", "$schema", "$id"].includes(keyword) ||
      keyword.startsWith("x-"),
  );
  return Object.keys(properties).length === 0 && additionalProperties === false && silent;
}

/** The schema as the only property of an object; its references then start one property further down. */
function wrap(schema: JsonSchemaObject, rules: DialectRules): Draft {
  const shift = (node: unknown): unknown => {
    if (!isPlainObject(node)) return node;
    const { $ref } = node;
    const isPointer = typeof $ref === "string" && /^#(\/|$)/.test($ref);
    return mapSubschemas(
      isPointer ? { ...node, $ref: `#/properties/${WRAPPER_PROPERTY}${$ref.slice(1)}` } : node,
      (at) => shift(at.schema),
    );
  };
  const closed = takes(rules, "additionalProperties") ? { additionalProperties: false } : {};
  return {
    type: "object",
    properties: { [WRAPPER_PROPERTY]: shift(schema) },
    required: [WRAPPER_PROPERTY],
    ...closed,
  };
}

function takes(rules: DialectRules, keyword: string): boolean {
  return rules.allowed === undefined ? rules.refused?.has(keyword) !== true : rules.allowed.has(keyword);
}

interface CompileState {
  readonly rules: DialectRules;
  readonly root: unknown;
  readonly losses: Loss[];
  nodes: number;
}

interface NodePlace {
  readonly path: string;
  /** References that were inlined on the way here. */
  readonly open: readonly string[];
}

/** How often one reference may be inlined inside itself. */
const MAX_REFERENCE_DEPTH = 5;

// Inlining can multiply a schema without being recursive; past this many subschemas it is cut as well.
const MAX_NODES = 5_000;

/** Rewrites until nothing changes: a union that collapses may uncover what earlier rewrites are for. */
const MAX_PASSES = 8;

function compileNode(schema: unknown, place: NodePlace, state: CompileState): Draft | undefined {
  if (schema === false) return neverPresent(place, state);
  state.nodes += 1;
  const open = [...place.open];
  const sentences: string[] = [];
  const note: RewriteContext["note"] = (keyword, action, text) => {
    state.losses.push({ path: place.path, keyword, action, note: text });
    if (action === "described") sentences.push(text);
  };
  const context: RewriteContext = {
    root: state.root,
    note,
    open: (reference) => openReference(reference, { open, note, state }),
  };
  const rewritten = rewrite(isPlainObject(schema) ? schema : {}, context, state.rules); // true is said as {}
  if (rewritten === undefined) return undefined;
  const kept = filterKeywords(rewritten, context, state.rules);
  const below = mapSubschemas(kept, (at) =>
    compileSubschema(at, { path: subschemaPath(place.path, at), open }, state),
  );
  const whole = finish(below, { rewritten, context, rules: state.rules });
  if (whole === undefined) return undefined;
  const described = describe(whole, sentences, state.rules);
  return state.rules.spelling?.(described) ?? described;
}

function describe(schema: Draft, sentences: readonly string[], rules: DialectRules): Draft {
  const { anyOf } = schema;
  if (rules.unionsStandAlone !== true || !Array.isArray(anyOf))
    return { ...schema, ...joinedDescription(schema["description"], ...sentences) };
  return {
    anyOf: anyOf.map((branch) => ({ ...branch, ...joinedDescription(branch["description"], ...sentences) })),
  };
}

function neverPresent(place: NodePlace, state: CompileState): undefined {
  state.losses.push({
    path: place.path,
    keyword: "false",
    action: "dropped",
    note: "may never be present, so it is left out",
  });
  return undefined;
}

function compileSubschema(at: Subschema, place: NodePlace, state: CompileState): unknown {
  if (
    typeof at.schema === "boolean" &&
    (state.rules.noBooleanSchemas !== true || at.keyword.endsWith("Properties"))
  )
    return at.schema;
  const compiled = compileNode(at.schema, place, state);
  // A list has to say what it holds, even if the object inside cannot be said.
  if (compiled === undefined && at.keyword === "items" && at.schema !== false)
    return { type: "string", description: "A JSON object, as text." };
  return compiled;
}

function openReference(
  reference: string,
  at: { readonly open: string[]; readonly note: RewriteContext["note"]; readonly state: CompileState },
): Draft | undefined {
  const target = resolveLocalReference(at.state.root, reference);
  const depth = at.open.filter((name) => name === reference).length;
  if (depth >= MAX_REFERENCE_DEPTH || at.state.nodes > MAX_NODES) {
    at.note("$ref", "dropped", `${reference} is cut at depth ${depth}`);
    return undefined;
  }
  at.open.push(reference);
  at.note("$ref", "inlined", reference);
  return isPlainObject(target) ? target : {};
}

function rewrite(schema: Draft, context: RewriteContext, rules: DialectRules): Draft | undefined {
  let current: Draft = schema;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const before = current;
    for (const change of rules.rewrites ?? []) {
      const next = change(current, context);
      if (next === undefined) return undefined;
      current = next;
    }
    if (Object.keys(before).join() === Object.keys(current).join()) break;
  }
  return current;
}

/** Takes out what the dialect does not take, and says so. */
function filterKeywords(schema: Draft, context: RewriteContext, rules: DialectRules): Draft {
  const kept: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "$schema" || keyword === "$id" || keyword.startsWith("x-")) continue;
    const foreign = keyword === "format" && rules.formats !== undefined && !rules.formats.has(String(value));
    if (takes(rules, keyword) && !foreign)
      kept[keyword] = keyword === "enum" && Array.isArray(value) ? distinct(value) : value;
    else {
      const action = ANNOTATIONS.has(keyword) || keyword === "additionalProperties" ? "dropped" : "described";
      context.note(
        keyword,
        action,
        `${keyword}: ${typeof value === "string" ? value : shortJson(value, 300)}`,
      );
    }
  }
  return kept;
}

/** Equal values once; draft-07 and some providers refuse duplicates. */
function distinct<T>(values: readonly T[]): readonly T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

interface Finishing {
  readonly rewritten: Draft;
  readonly context: RewriteContext;
  readonly rules: DialectRules;
}

/** Puts right what leaving out subschemas did to the schema around them. */
function finish(schema: Draft, { rewritten, context, rules }: Finishing): Draft | undefined {
  const properties = isPlainObject(schema["properties"]) ? schema["properties"] : {};
  const asked = isPlainObject(rewritten["properties"]) ? rewritten["properties"] : {};
  const { required, anyOf, ...rest } = schema;
  const gone = (name: unknown): boolean =>
    !Object.hasOwn(properties, String(name)) &&
    (Object.hasOwn(asked, String(name)) || rules.omitsEmptyObjects === true);
  const names = Array.isArray(required) ? required : [];
  const left = names.filter((name) => !gone(name));
  for (const name of names.filter(gone)) context.note("required", "dropped", `"${String(name)}" is not sent`);
  if (rules.omitsEmptyObjects === true) {
    if (schema["type"] === "object" && Object.keys(properties).length === 0) {
      context.note("properties", "dropped", "an object without properties cannot be sent");
      return undefined;
    }
    if (Array.isArray(anyOf) && anyOf.length < 2)
      return anyOf.length === 0 ? undefined : { ...rest, ...anyOf[0] };
  }
  if (left.length === names.length) return schema;
  return left.length === 0
    ? { ...rest, ...(anyOf !== undefined && { anyOf }) }
    : { ...schema, required: left };
}

/** Why a schema is over the dialect's size limits. */
function tooLarge(schema: Json, { limits }: DialectRules): readonly Loss[] {
  if (limits === undefined) return [];
  const size = { depth: 0, properties: 0, enumValues: 0, characters: 0 };
  const measure = (node: unknown, above: number): void => {
    if (!isPlainObject(node)) return;
    const names = isPlainObject(node["properties"]) ? Object.keys(node["properties"]) : [];
    const values = Array.isArray(node["enum"]) ? node["enum"] : [];
    const depth = above + (node["properties"] === undefined ? 0 : 1);
    size.depth = Math.max(size.depth, depth);
    size.properties += names.length;
    size.enumValues += values.length;
    size.characters += [...names, ...values, node["const"] ?? ""].join("").length;
    for (const at of subschemas(node)) measure(at.schema, depth);
  };
  measure(schema, 0);
  return (["depth", "properties", "enumValues", "characters"] as const)
    .filter((key) => size[key] > limits[key])
    .map((key) => ({
      path: "",
      keyword: key,
      action: "dropped",
      note: `${size[key]} ${key}, at most ${limits[key]} are taken`,
    }));
}
