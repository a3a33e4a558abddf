/** A tool's schema in the words of each provider, with a list of what was lost and the way back. */

import { restoreArguments } from "./dialect-restore.ts";
import {
  distinct,
  joinedDescription,
  type LossAction,
  type RewriteContext,
  valuesOf,
} from "./dialect-rewrites.ts";
import { DIALECT_RULES, type DialectRules, type SchemaDialect } from "./dialect-rules.ts";
import { copyJson, deepFreeze, isPlainObject, joinPath, type Json, type JsonObject } from "./json.ts";
import { MAX_SCHEMA_JSON_DEPTH } from "./schema-lint.ts";
import {
  type Keywords,
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
  /** About what the schema costs in every request: a token for four characters of its JSON. */
  readonly tokens: number;
  /** Undoes the rewrites in arguments the model wrote. The result is validated against the original schema. */
  restore(args: JsonObject): JsonObject;
}

// Memoised by schema object, which is frozen: the same schema always compiles to the same result.
const compiledSchemas = new WeakMap<JsonSchemaObject, Map<SchemaDialect, CompiledSchema>>();

/**
 * Compiles a (frozen, linted) tool schema for a dialect. Pure, never throws. `openai-strict` that would lose something
 * gives the `openai` form instead, with the reasons as the first losses: never a half-strict schema.
 */
export function compileSchema(schema: JsonSchemaObject, dialect: SchemaDialect): CompiledSchema {
  const known = compiledSchemas.get(schema) ?? new Map<SchemaDialect, CompiledSchema>();
  const compiled = known.get(dialect) ?? compile(schema, dialect);
  compiledSchemas.set(schema, known.set(dialect, compiled));
  return compiled;
}

/** What says nothing about which values are valid. */
const ANNOTATION =
  /^(title|description|default|examples|deprecated|readOnly|writeOnly|\$comment|content(Encoding|MediaType|Schema))$/;

/** Names of the schema itself, and extensions. */
const UNSENT = /^(\$schema|\$id|\$anchor|x-.*)$/s;

function compile(schema: JsonSchemaObject, dialect: SchemaDialect): CompiledSchema {
  const rules = DIALECT_RULES[dialect];
  const compiler = new SchemaCompiler(rules, schema);
  const node = isWithoutArguments(schema) ? compiler.withoutArguments() : compiler.compileRoot();
  const names = sentNames(schema, rules);
  const renamed = node === undefined || names.size === 0 ? node : withNames(node, names);
  const sent = renamed === undefined ? null : copyJson(renamed, MAX_SCHEMA_JSON_DEPTH).copy;
  const losses = distinct([
    ...compiler.losses,
    ...[...names].map(([name, other]) => ({
      ...loss("properties", "rewritten", `sent as "${other}"`),
      path: joinPath("properties", name),
    })),
    ...excessOf(sent, rules),
  ]);
  const lost = losses.filter(isLossy);
  if (lost.length > 0 && rules.otherwise !== undefined) {
    const other = compileSchema(schema, rules.otherwise);
    const reasons = lost.map(({ path, keyword, note }): Loss => {
      const why = note.startsWith(keyword) ? note : `${keyword}: ${note}`;
      return { path, keyword: "strict", action: "dropped", note: why };
    });
    return deepFreeze({ ...other, lossless: false, losses: [...reasons, ...other.losses] });
  }
  const isOpenApi = rules.omitsEmptyObjects === true;
  const isChanged = losses.some(({ action, keyword }) => action === "rewritten" || keyword === "properties");
  return deepFreeze({
    schema: sent,
    lossless: lost.length === 0,
    losses,
    strict: rules.otherwise !== undefined,
    tokens: Math.ceil((sent === null ? "" : JSON.stringify(sent)).length / 4),
    restore: (args: JsonObject): JsonObject =>
      isChanged ? restoreArguments(schema, args, { isOpenApi, names }) : args,
  });
}

/** A loss of the schema as a whole. */
function loss(keyword: string, action: LossAction, note: string): Loss {
  return { path: "", keyword, action, note };
}

/** The parameters that have to be sent under another name, with that name. */
function sentNames(
  { properties = {} }: JsonSchemaObject,
  { names }: DialectRules,
): ReadonlyMap<string, string> {
  const sent = new Map<string, string>();
  if (names === undefined) return sent;
  const taken = new Set(Object.keys(properties).filter((name) => names.allowed.test(name)));
  for (const name of Object.keys(properties).filter((one) => !names.allowed.test(one))) {
    const plain = name.replace(names.replaced, "_").slice(0, 60);
    let other = names.allowed.test(plain) ? plain : `_${plain}`;
    for (let count = 2; taken.has(other); count += 1) other = `${other.replace(/_\d+$/, "")}_${count}`;
    taken.add(other);
    sent.set(name, other);
  }
  return sent;
}

function withNames(root: Keywords, names: ReadonlyMap<string, string>): Keywords {
  const { properties, required } = root;
  const sentName = (name: unknown): string => names.get(String(name)) ?? String(name);
  const sent = Object.entries(Object(properties)).map(([name, property]) => [sentName(name), property]);
  return {
    ...root,
    properties: Object.fromEntries(sent),
    ...(Array.isArray(required) && { required: required.map(sentName) }),
  };
}

/** What is over the limits of a dialect. */
function excessOf(sent: Json, { limits = [] }: DialectRules): readonly Loss[] {
  if (limits.length === 0) return [];
  const nodes = schemasIn(sent, 0);
  const names = nodes.flatMap(({ node }) => subschemas(node)).filter(({ key }) => typeof key === "string");
  const values = nodes.flatMap(({ node }) => valuesOf(node));
  const texts = [...names.map(({ key }) => key), ...values.filter((value) => typeof value === "string")];
  const sizes = {
    depth: Math.max(0, ...nodes.map(({ depth }) => depth)),
    properties: names.filter(({ keyword }) => keyword === "properties").length,
    enum: values.length,
    characters: texts.join("").length,
  };
  return limits
    .filter(({ of, most }) => sizes[of] > most)
    .map(({ of, most }) => loss(of, "dropped", `${sizes[of]}, at most ${most}`));
}

interface NodeAt {
  readonly node: Keywords;
  /** How many objects with properties stand around it, itself included. */
  readonly depth: number;
}

function schemasIn(node: unknown, above: number): readonly NodeAt[] {
  if (!isPlainObject(node)) return [];
  const depth = above + (node["properties"] === undefined ? 0 : 1);
  return [{ node, depth }, ...subschemas(node).flatMap((at) => schemasIn(at.schema, depth))];
}

function isLossy({ action, keyword }: Loss): boolean {
  return (action === "dropped" || action === "described") && !ANNOTATION.test(keyword);
}

/** What a schema without arguments may say beside `properties`. */
const SILENT = /^(type|title|description|required|\$defs|definitions)$/;

function isWithoutArguments(schema: JsonSchemaObject): boolean {
  const { properties = {}, additionalProperties = false, ...rest } = schema;
  const isSilent = Object.keys(rest).every((keyword) => SILENT.test(keyword) || UNSENT.test(keyword));
  return Object.keys(properties).length === 0 && additionalProperties === false && isSilent;
}

const DEFINITIONS = /^(\$defs|definitions)$/;

/** How often one reference may be inlined inside itself. */
const MAX_REFERENCE_DEPTH = 5;

// Inlining can multiply a schema without being recursive; past this many subschemas it is cut as well.
const MAX_NODES = 5_000;

/** Rewrites until nothing changes, since a union that collapses uncovers what earlier rewrites are for. */
const MAX_PASSES = 8;

/** Where the compiler stands, and the references that were inlined on the way. */
interface Place {
  readonly path: string;
  readonly open: readonly string[];
}

/** The one mechanism: walks a schema and applies the rules of a dialect to each subschema. */
class SchemaCompiler {
  readonly losses: Loss[] = [];
  readonly #rules: DialectRules;
  readonly #root: Keywords;
  #nodes = 0;

  constructor(rules: DialectRules, root: Keywords) {
    this.#rules = rules;
    this.#root = root;
  }

  compileRoot(): Keywords | undefined {
    return this.#compileNode(this.#root, { path: "", open: [] });
  }

  withoutArguments(): Keywords | undefined {
    for (const keyword of ["title", "description"].filter((name) => this.#root[name] !== undefined))
      this.losses.push(loss(keyword, "dropped", "of a tool without arguments"));
    if (this.#rules.omitsEmptyObjects === true) return undefined;
    return { type: "object", properties: {}, additionalProperties: false };
  }

  #compileNode(schema: unknown, { path, open: above }: Place): Keywords | undefined {
    if (schema === false) {
      const why = "may never be present, so it is left out";
      this.losses.push({ path, keyword: "false", action: "dropped", note: why });
      return undefined;
    }
    this.#nodes += 1;
    const before = this.losses.length;
    const open = [...above];
    const sentences: string[] = [];
    const note: RewriteContext["note"] = (keyword, action, text) => {
      this.losses.push({ path, keyword, action, note: text });
      if (action === "described") sentences.push(text);
    };
    const context: RewriteContext = {
      root: this.#root,
      note,
      open: (reference) => this.#openReference(reference, open, note),
    };
    const rewritten = this.#rewrite(isPlainObject(schema) ? schema : {}, context); // true is said as {}
    if (rewritten === undefined) return this.#silence(before);
    const kept = this.#filterKeywords(rewritten, path === "" ? this.#rules.refusedAtRoot : [], note);
    const below = mapSubschemas(kept, (at) =>
      this.#compileBelow(at, { path: subschemaPath(path, at), open }),
    );
    const whole = this.#tidy(below, rewritten, note);
    return whole === undefined ? this.#silence(before) : this.#describe(whole, sentences);
  }

  /** What was to be said in a schema that is left out is not said. */
  #silence(before: number): undefined {
    const silent = this.losses.splice(before).map((one): Loss => ({
      ...one,
      action: one.action === "described" ? "dropped" : one.action,
    }));
    this.losses.push(...silent);
  }

  #compileBelow(at: Subschema, place: Place): unknown {
    const isStated = this.#rules.noBooleanSchemas !== true || at.keyword.endsWith("Properties");
    if (typeof at.schema === "boolean" && isStated) return at.schema;
    const compiled = this.#compileNode(at.schema, place);
    if (compiled === undefined && DEFINITIONS.test(at.keyword)) return {}; // what is referred to has to be there
    if (compiled !== undefined || at.keyword !== "items" || at.schema === false) return compiled;
    return { type: "string", description: "A JSON object, as text." }; // a list has to say what it holds
  }

  #openReference(reference: string, open: string[], note: RewriteContext["note"]): Keywords | undefined {
    const depth = open.filter((name) => name === reference).length;
    if (depth >= MAX_REFERENCE_DEPTH || this.#nodes > MAX_NODES) {
      note("$ref", "dropped", `${reference} is cut at depth ${depth}`);
      return undefined;
    }
    open.push(reference);
    note("$ref", "inlined", reference);
    const target = resolveLocalReference(this.#root, reference);
    if (target === false) note("$ref", "dropped", "fits nothing");
    return isPlainObject(target) ? target : {};
  }

  #rewrite(schema: Keywords, context: RewriteContext): Keywords | undefined {
    let current: Keywords | undefined = schema;
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      const before = Object.keys(current).join();
      for (const rewrite of this.#rules.rewrites ?? []) {
        current = rewrite(current, context);
        if (current === undefined) return undefined;
      }
      if (Object.keys(current).join() === before) break;
    }
    return current;
  }

  /** Takes out what the dialect does not take, and says so. */
  #filterKeywords(schema: Keywords, refused: readonly string[] = [], note: RewriteContext["note"]): Keywords {
    const { allowed, formats } = this.#rules;
    const kept: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (UNSENT.test(keyword)) continue;
      const isForeign =
        refused.includes(keyword) || (keyword === "format" && formats?.has(String(value)) === false);
      const isUnsaid = ANNOTATION.test(keyword) || keyword === "additionalProperties";
      const said = (): string => `${keyword}: ${typeof value === "string" ? value : shortJson(value, 300)}`;
      if (allowed?.has(keyword) === false || isForeign)
        note(keyword, isUnsaid ? "dropped" : "described", said());
      else kept[keyword] = keyword === "enum" && Array.isArray(value) ? distinct(value) : value; // some refuse duplicates
    }
    return kept;
  }

  /** Puts right what leaving out subschemas did to the schema around them. */
  #tidy(schema: Keywords, asked: Keywords, note: RewriteContext["note"]): Keywords | undefined {
    const omits = this.#rules.omitsEmptyObjects === true;
    const { required, ...rest } = schema;
    const { properties: left = {}, anyOf } = schema;
    const isGone = (name: string): boolean =>
      !Object.hasOwn(Object(left), name) && (omits || Object.hasOwn(Object(asked["properties"]), name));
    const names = Array.isArray(required) ? required.map(String) : [];
    const stay = names.filter((name) => !isGone(name));
    for (const name of names.filter(isGone)) note("required", "dropped", `"${name}" is not sent`);
    if (omits && schema["type"] === "object" && Object.keys(Object(left)).length === 0) {
      note("properties", "dropped", "an object without properties cannot be sent");
      return undefined;
    }
    if (omits && asked["anyOf"] !== undefined && !(Array.isArray(anyOf) && anyOf.length > 1)) {
      note("anyOf", "dropped", "not all alternatives can be sent");
      return Array.isArray(anyOf) ? anyOf[0] : undefined;
    }
    if (stay.length === names.length) return schema;
    return stay.length === 0 ? rest : { ...schema, required: stay };
  }

  #describe(schema: Keywords, sentences: readonly string[]): Keywords {
    const { anyOf, description } = schema;
    if (this.#rules.omitsEmptyObjects === true && Array.isArray(anyOf))
      return { anyOf: anyOf.map((branch: Keywords) => this.#describe(branch, sentences)) };
    return { ...schema, ...joinedDescription(description, ...sentences) };
  }
}
