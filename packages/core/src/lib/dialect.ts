/** A tool's schema in the words of each provider, with a list of what was lost and the way back. */

import { restoreArguments } from "./dialect-restore.ts";
import { distinct, joinedDescription, type LossAction, type RewriteContext } from "./dialect-rewrites.ts";
import { DIALECT_RULES, type DialectRules, type SchemaDialect } from "./dialect-rules.ts";
import { copyJson, deepFreeze, isPlainObject, type Json, type JsonObject } from "./json.ts";
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
const ANNOTATIONS: ReadonlySet<string> = new Set(
  "title default examples deprecated readOnly writeOnly $comment contentEncoding contentMediaType contentSchema".split(
    " ",
  ),
);

/** Names of the schema itself, and extensions. */
const UNSENT = /^(\$schema|\$id|\$anchor|x-.*)$/s;

function compile(schema: JsonSchemaObject, dialect: SchemaDialect): CompiledSchema {
  const rules = DIALECT_RULES[dialect];
  const compiler = new SchemaCompiler(rules, schema);
  const node = isWithoutArguments(schema) ? noArguments(rules) : compiler.compileRoot();
  const sent = node === undefined ? null : copyJson(node, MAX_SCHEMA_JSON_DEPTH).copy;
  if (depthOf(sent) > (rules.maxDepth ?? Infinity))
    compiler.losses.push({
      path: "",
      keyword: "depth",
      action: "dropped",
      note: "objects are nested too deep",
    });
  const losses = distinct(compiler.losses);
  const lost = losses.filter(isLossy);
  if (lost.length > 0 && rules.otherwise !== undefined) {
    const other = compileSchema(schema, rules.otherwise);
    return deepFreeze({ ...other, lossless: false, losses: [...lost, ...other.losses] });
  }
  const fillsEmpty = rules.omitsEmptyObjects === true;
  const isChanged = losses.some(({ action, keyword }) => action === "rewritten" || keyword === "properties");
  return deepFreeze({
    schema: sent,
    lossless: lost.length === 0,
    losses,
    strict: rules.otherwise !== undefined,
    restore: (args: JsonObject): JsonObject =>
      isChanged ? restoreArguments(schema, args, fillsEmpty) : args,
  });
}

function isLossy({ action, keyword }: Loss): boolean {
  return (action === "dropped" || action === "described") && !ANNOTATIONS.has(keyword);
}

function isWithoutArguments(schema: JsonSchemaObject): boolean {
  const {
    properties = {},
    additionalProperties = false,
    type,
    title,
    description,
    required,
    ...rest
  } = schema;
  const isSilent = Object.keys(rest).every((keyword) => UNSENT.test(keyword));
  return Object.keys(properties).length === 0 && additionalProperties === false && isSilent;
}

function noArguments(rules: DialectRules): Keywords | undefined {
  if (rules.omitsEmptyObjects === true) return undefined;
  return { type: "object", properties: {}, additionalProperties: false };
}

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

  #compileNode(schema: unknown, { path, open: above }: Place): Keywords | undefined {
    if (schema === false) {
      const why = "may never be present, so it is left out";
      this.losses.push({ path, keyword: "false", action: "dropped", note: why });
      return undefined;
    }
    this.#nodes += 1;
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
    if (rewritten === undefined) return undefined;
    const kept = this.#filterKeywords(rewritten, path === "" ? this.#rules.refusedAtRoot : [], note);
    const below = mapSubschemas(kept, (at) =>
      this.#compileBelow(at, { path: subschemaPath(path, at), open }),
    );
    const whole = this.#tidy(below, rewritten, note);
    return whole && this.#describe(whole, sentences);
  }

  #compileBelow(at: Subschema, place: Place): unknown {
    const isStated = this.#rules.noBooleanSchemas !== true || at.keyword.endsWith("Properties");
    if (typeof at.schema === "boolean" && isStated) return at.schema;
    const compiled = this.#compileNode(at.schema, place);
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
      const isUnsaid = ANNOTATIONS.has(keyword) || keyword === "additionalProperties";
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
    if (omits && Array.isArray(anyOf) && anyOf.length < 2) return anyOf[0];
    if (stay.length === names.length) return schema;
    return stay.length === 0 ? rest : { ...schema, required: stay };
  }

  #describe(schema: Keywords, sentences: readonly string[]): Keywords {
    const { anyOf } = schema;
    const told = (node: Keywords): Keywords => ({
      ...node,
      ...joinedDescription(node["description"], ...sentences),
    });
    return this.#rules.omitsEmptyObjects === true && Array.isArray(anyOf)
      ? { anyOf: anyOf.map(told) }
      : told(schema);
  }
}

/** How many objects with properties stand inside each other. */
function depthOf(node: unknown): number {
  if (!isPlainObject(node)) return 0;
  const below = Math.max(0, ...subschemas(node).map((at) => depthOf(at.schema)));
  return below + (node["properties"] === undefined ? 0 : 1);
}
