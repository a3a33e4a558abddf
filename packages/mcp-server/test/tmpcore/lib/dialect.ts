/** A tool's schema in the words of each provider, with a list of what was lost and the way back. */

import { restoreArguments, WRAPPER_PROPERTY } from "./dialect-restore.ts";
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
  /** About what the schema costs in every request: characters of its JSON divided by 4. */
  readonly tokens: number;
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

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** What says nothing about which values are valid. */
const ANNOTATIONS = words(
  "title default examples deprecated readOnly writeOnly $comment $vocabulary contentEncoding contentMediaType contentSchema",
);

function compile(schema: JsonSchemaObject, dialect: SchemaDialect): CompiledSchema {
  const rules = DIALECT_RULES[dialect];
  const refused = rules.refusedAtRoot?.find((keyword) => keyword in schema);
  const compiler = new SchemaCompiler(rules, refused === undefined ? schema : wrap(schema, rules));
  if (refused !== undefined)
    compiler.lose("", { keyword: refused, action: "rewritten", note: `moved under "${WRAPPER_PROPERTY}"` });
  const node = isWithoutArguments(schema) ? noArguments(rules) : compiler.compileRoot();
  const sent = node === undefined ? null : copyJson(node, MAX_SCHEMA_JSON_DEPTH).copy;
  const losses = distinct(compiler.losses);
  const lost = [...losses.filter(isLossy), ...tooLarge(sent, rules)];
  if (lost.length > 0 && rules.otherwise !== undefined) {
    const other = compileSchema(schema, rules.otherwise);
    return deepFreeze({ ...other, lossless: false, losses: [...lost, ...other.losses] });
  }
  const options = { wrapped: refused !== undefined, omitsEmptyObjects: rules.omitsEmptyObjects === true };
  const isChanged = losses.some(({ action, keyword }) => action === "rewritten" || keyword === "properties");
  return deepFreeze({
    schema: sent,
    lossless: lost.length === 0,
    losses,
    strict: rules.otherwise !== undefined,
    restore: (args: JsonObject): JsonObject => (isChanged ? restoreArguments(schema, args, options) : args),
    tokens: sent === null ? 0 : Math.ceil(JSON.stringify(sent).length / 4),
  });
}

function isLossy({ action, keyword }: Loss): boolean {
  return (action === "dropped" || action === "described") && !ANNOTATIONS.has(keyword);
}

const SILENT = words("type title description required $schema $id");

function isWithoutArguments({
  properties = {},
  additionalProperties = false,
  ...rest
}: JsonSchemaObject): boolean {
  const isSilent = Object.keys(rest).every((keyword) => SILENT.has(keyword) || keyword.startsWith("x-"));
  return Object.keys(properties).length === 0 && additionalProperties === false && isSilent;
}

function noArguments(rules: DialectRules): Keywords | undefined {
  return rules.omitsEmptyObjects === true
    ? undefined
    : { type: "object", properties: {}, additionalProperties: false };
}

/** The schema as the only property of an object; its references then start one property further down. */
function wrap(schema: JsonSchemaObject, rules: DialectRules): Keywords {
  const shift = (node: unknown): unknown => {
    if (!isPlainObject(node)) return node;
    const { $ref } = node;
    const isPointer = typeof $ref === "string" && /^#(\/|$)/.test($ref);
    const moved = isPointer ? { ...node, $ref: `#/properties/${WRAPPER_PROPERTY}${$ref.slice(1)}` } : node;
    return mapSubschemas(moved, (at) => shift(at.schema));
  };
  const closed = takes(rules, "additionalProperties") ? { additionalProperties: false } : {};
  return {
    type: "object",
    properties: { [WRAPPER_PROPERTY]: shift(schema) },
    required: [WRAPPER_PROPERTY],
    ...closed,
  };
}

function takes({ allowed, refused }: DialectRules, keyword: string): boolean {
  return allowed === undefined ? refused?.has(keyword) !== true : allowed.has(keyword);
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

  lose(path: string, loss: Omit<Loss, "path">): void {
    this.losses.push({ path, ...loss });
  }

  compileRoot(): Keywords | undefined {
    return this.#compileNode(this.#root, { path: "", open: [] });
  }

  #compileNode(schema: unknown, { path, open: above }: Place): Keywords | undefined {
    if (schema === false) {
      this.lose(path, {
        keyword: "false",
        action: "dropped",
        note: "may never be present, so it is left out",
      });
      return undefined;
    }
    this.#nodes += 1;
    const open = [...above];
    const sentences: string[] = [];
    const note: RewriteContext["note"] = (keyword, action, text) => {
      this.lose(path, { keyword, action, note: text });
      if (action === "described") sentences.push(text);
    };
    const context: RewriteContext = {
      root: this.#root,
      note,
      open: (reference) => this.#openReference(reference, open, note),
    };
    const rewritten = this.#rewrite(isPlainObject(schema) ? schema : {}, context); // true is said as {}
    if (rewritten === undefined) return undefined;
    const kept = this.#filterKeywords(rewritten, note);
    const below = mapSubschemas(kept, (at) =>
      this.#compileBelow(at, { path: subschemaPath(path, at), open }),
    );
    const whole = this.#tidy(below, rewritten, note);
    return whole && (this.#rules.spelling ?? unchanged)(this.#describe(whole, sentences));
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
  #filterKeywords(schema: Keywords, note: RewriteContext["note"]): Keywords {
    const { formats } = this.#rules;
    const kept: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === "$schema" || keyword === "$id" || keyword.startsWith("x-")) continue;
      const isForeign = keyword === "format" && formats?.has(String(value)) === false;
      // Draft-07 and some providers refuse an enumeration with duplicates.
      if (takes(this.#rules, keyword) && !isForeign)
        kept[keyword] = keyword === "enum" && Array.isArray(value) ? distinct(value) : value;
      else {
        const isUnsaid = ANNOTATIONS.has(keyword) || keyword === "additionalProperties";
        note(
          keyword,
          isUnsaid ? "dropped" : "described",
          `${keyword}: ${typeof value === "string" ? value : shortJson(value, 300)}`,
        );
      }
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
    const gone = names.filter(isGone);
    for (const name of gone) note("required", "dropped", `"${name}" is not sent`);
    if (omits && schema["type"] === "object" && Object.keys(Object(left)).length === 0) {
      note("properties", "dropped", "an object without properties cannot be sent");
      return undefined;
    }
    if (omits && Array.isArray(anyOf) && anyOf.length < 2) return anyOf[0];
    if (gone.length === 0) return schema;
    return gone.length === names.length
      ? rest
      : { ...schema, required: names.filter((name) => !isGone(name)) };
  }

  #describe(schema: Keywords, sentences: readonly string[]): Keywords {
    const { anyOf, description } = schema;
    if (this.#rules.omitsEmptyObjects !== true || !Array.isArray(anyOf))
      return { ...schema, ...joinedDescription(description, ...sentences) };
    return {
      anyOf: anyOf.map((branch) => ({
        ...branch,
        ...joinedDescription(branch["description"], ...sentences),
      })),
    };
  }
}

function unchanged(schema: Keywords): Keywords {
  return schema;
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
