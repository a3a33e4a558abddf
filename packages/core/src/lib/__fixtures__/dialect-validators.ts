/**
 * Does this provider take this schema? One opinion per dialect, written from the providers' documentation and the errors
 * they answer with, and not from the rules of our compiler. Looked at 2026-11-30.
 */

import { Ajv2020 } from "ajv/dist/2020.js";
import { isPlainObject } from "../json.ts";

/** Where a schema is sent. An answer's schema may have any root where the provider says so. */
export interface SchemaUse {
  readonly as: "tool" | "answer";
}

/** Why the provider refuses the schema, with JSON pointers; empty when it takes it. */
export type ProviderOpinion = (schema: unknown, use?: SchemaUse) => readonly string[];

type Node = Readonly<Record<string, unknown>>;
type Check = (node: Node, path: string, say: (problem: string) => void) => void;

const words = (text: string): readonly string[] => text.split(" ");
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const typesOf = (node: Node): readonly string[] => [node["type"] ?? []].flat().map(String);
const has = (node: Node, keyword: string): boolean => Object.hasOwn(node, keyword);

/** Every schema in a schema with its pointer. `definitions` is left over from older drafts and still looked into. */
function visit(schema: unknown, path: string, check: (node: Node, path: string) => void): void {
  if (!isPlainObject(schema)) return;
  check(schema, path);
  const enter = (keyword: string, below: unknown): void => visit(below, `${path}/${keyword}`, check);
  for (const keyword of words("properties patternProperties $defs definitions dependentSchemas"))
    for (const [name, below] of Object.entries(Object(schema[keyword]))) enter(`${keyword}/${name}`, below);
  for (const keyword of words("anyOf oneOf allOf prefixItems"))
    list(schema[keyword]).forEach((below, index) => enter(`${keyword}/${index}`, below));
  for (const keyword of words(
    "items additionalProperties not if then else contains propertyNames unevaluatedProperties unevaluatedItems",
  ))
    enter(keyword, schema[keyword]);
}

function opinion(whole: Check, each: Check): ProviderOpinion {
  return (schema, { as } = { as: "tool" }) => {
    if (!isPlainObject(schema)) return ["#: no object"];
    const problems: string[] = [];
    whole(schema, as, (problem) => problems.push(`#: ${problem}`));
    visit(schema, "#", (node, path) => each(node, path, (problem) => problems.push(`${path}: ${problem}`)));
    return problems;
  };
}

const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });

/**
 * The meta-schema, as OpenAI's and Anthropic's servers apply it: "'dict' is not valid under any of the given schemas",
 * "It must match JSON Schema draft 2020-12".
 */
const isJsonSchema: Check = (root, _use, say) => {
  if (ajv.validateSchema({ ...root, $schema: "https://json-schema.org/draft/2020-12/schema" }) !== true)
    say(ajv.errorsText(ajv.errors));
  const names = new Set<string>(["#"]);
  visit(root, "#", (_node, path) => names.add(path));
  visit(root, "#", ({ $ref: reference }, path) => {
    if (typeof reference !== "string" || !reference.startsWith("#")) return;
    const decoded = decodeURIComponent(reference).replaceAll("~1", "/").replaceAll("~0", "~");
    if (!names.has(decoded)) say(`${path}: reference to component '${reference}' which was not found in the schema`);
  });
};

const isObjectRoot: Check = (root, _use, say) => {
  if (root["type"] !== "object") say(`schema must be of type "object", got ${JSON.stringify(root["type"])}`);
};

const together =
  (...checks: readonly Check[]): Check =>
  (node, path, say) => {
    for (const check of checks) check(node, path, say);
  };

const without =
  (...keywords: readonly string[]): Check =>
  (node, _path, say) => {
    for (const keyword of keywords) if (has(node, keyword)) say(`'${keyword}' is not permitted`);
  };

const nothing: Check = () => undefined;

/**
 * Anthropic, `tools[].input_schema`. 400s: "input_schema.type: Field required", "input_schema does not support oneOf,
 * allOf, or anyOf at the top level" (anthropics/claude-code#5319), "JSON schema is invalid. It must match JSON Schema
 * draft 2020-12" (#63673), "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
 * (#79418; of the root only: decocms/studio#6874).
 */
const anthropic = opinion(
  together(isObjectRoot, isJsonSchema, without("oneOf", "allOf", "anyOf"), (root, _use, say) => {
    for (const name of Object.keys(Object(root["properties"])))
      if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) say(`property key ${JSON.stringify(name)}`);
  }),
  nothing,
);

/**
 * Anthropic, `output_config.format.schema`: platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema
 * limitations". Objects have to be closed; no recursion, no bounds of numbers, texts and lists (minItems 0 and 1 aside),
 * no references outside.
 */
const ANTHROPIC_OUTPUT = words(
  "type title description properties required additionalProperties items anyOf allOf enum const $ref $defs definitions format default minItems",
);
const ANTHROPIC_FORMATS = words("date-time time date duration email hostname uri ipv4 ipv6 uuid");

const anthropicOutput = opinion(isJsonSchema, (node, _path, say) => {
  for (const keyword of Object.keys(node))
    if (!ANTHROPIC_OUTPUT.includes(keyword)) say(`'${keyword}' is not supported`);
  if (Number(node["minItems"] ?? 0) > 1) say("minItems above 1");
  if (has(node, "format") && !ANTHROPIC_FORMATS.includes(String(node["format"]))) say("format");
  if (typesOf(node).includes("object") && node["additionalProperties"] !== false)
    say("'additionalProperties' must be explicitly set to false");
});

/**
 * OpenAI functions without `strict`. 400s: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/
 * 'not' at the top level" (chatanywhere/GPT_API_free#403), "In context=(), object schema missing properties"
 * (spring-projects/spring-ai#4776), "In context=('properties', 'refs'), array schema missing items"
 * (langgenius/dify#32894).
 */
const openaiRoot = together(isObjectRoot, isJsonSchema, without(...words("oneOf anyOf allOf enum not")), (root, _use, say) => {
  if (!isPlainObject(root["properties"])) say("object schema missing properties");
});
const openaiNode: Check = (node, _path, say) => {
  if (typesOf(node).includes("array") && !has(node, "items") && !has(node, "prefixItems"))
    say("array schema missing items");
};
const openai = opinion(openaiRoot, openaiNode);

/**
 * OpenAI functions and answers with `strict`: developers.openai.com/api/docs/guides/structured-outputs, "Supported
 * schemas". 400s: "'default' is not permitted" (dotnet/extensions#6196), "'required' is required to be supplied and to be
 * an array including every key in properties" (kevinwatt/mysql-mcp#5), "'additionalProperties' is required to be supplied
 * and to be false", "schema must have a 'type' key" (can1357/oh-my-pi#211), "array schema missing items" for
 * `type: ["array", "null"]` (dcdpr/jp#674), "$ref cannot have keywords".
 */
const STRICT = words(
  "type title description properties required additionalProperties items anyOf enum const $ref $defs definitions pattern format multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems",
);
const STRICT_FORMATS = words("date-time time date duration email hostname ipv4 ipv6 uuid");

const strictNode: Check = (node, path, say) => {
  const types = typesOf(node);
  for (const keyword of Object.keys(node)) if (!STRICT.includes(keyword)) say(`'${keyword}' is not permitted`);
  if (!["type", "anyOf", "$ref"].some((keyword) => has(node, keyword))) say("schema must have a 'type' key");
  if (has(node, "$ref") && Object.keys(node).length > 1) say("$ref cannot have keywords beside it");
  if (has(node, "format") && !STRICT_FORMATS.includes(String(node["format"]))) say(`format ${String(node["format"])}`);
  if (types.length > 1 && types.includes("array")) say("array schema missing items");
  if (types.includes("array") && !isPlainObject(node["items"])) say("array schema missing items");
  if (!types.includes("object")) return;
  if (node["additionalProperties"] !== false) say("'additionalProperties' is required to be supplied and to be false");
  const names = Object.keys(Object(node["properties"]));
  if (!names.every((name) => list(node["required"]).includes(name))) say(`'required' has to hold every key (${path})`);
};

/** "A schema may have up to 5000 object properties total, with up to 10 levels of nesting" and the other size limits. */
const strictSize: Check = (root, _use, say) => {
  let properties = 0;
  let characters = 0;
  let values = 0;
  visit(root, "#", (node) => {
    const names = [
      ...Object.keys(Object(node["properties"])),
      ...Object.keys(Object(node["$defs"])),
      ...Object.keys(Object(node["definitions"])),
    ];
    const options = list(node["enum"]);
    const texts = [...options, ...(has(node, "const") ? [node["const"]] : [])].filter((value) => typeof value === "string");
    properties += Object.keys(Object(node["properties"])).length;
    values += options.length;
    characters += [...names, ...texts].join("").length;
    if (options.length > 250 && texts.join("").length > 15_000) say("more than 15,000 characters in one enum");
  });
  if (properties > 5_000) say(`${properties} properties`);
  if (values > 1_000) say(`${values} enum values`);
  if (characters > 120_000) say(`${characters} characters of names and values`);
  if (levels(root) > 10) say(`${levels(root)} levels of nesting exceeds limit of 10`);
};

function levels(node: unknown): number {
  if (Array.isArray(node)) return Math.max(0, ...node.map(levels));
  if (!isPlainObject(node)) return 0;
  const below = Math.max(0, ...["items", "anyOf"].map((keyword) => levels(node[keyword])));
  const maps = ["properties", "$defs", "definitions"].flatMap((keyword) => Object.values(Object(node[keyword])));
  return Math.max(below, ...maps.map(levels)) + (typesOf(node).includes("object") ? 1 : 0);
}

const openaiStrict = opinion(together(openaiRoot, strictSize), together(openaiNode, strictNode));

/**
 * Gemini, `functionDeclarations[].parameters` and `responseSchema`: the fields of the proto `Schema` (@google/genai 3.3.0,
 * interface Schema; ai.google.dev/api/caching#Schema), each with the types it is for. 400s: "Unknown name \"const\" ...
 * Cannot find field" (zed-industries/zed#44875), "Proto field is not repeating, cannot start list" for a list of types
 * (#53919), "items: missing field" (cline/cline#7339), "properties: only allowed for OBJECT type"
 * (anomalyco/opencode#11888), "properties: should be non-empty for OBJECT type", "required[0]: property is not defined"
 * (goruck/home-generative-agent#525), "enum[0]: cannot be empty" (anomalyco/opencode#46676), "enum: only allowed for
 * STRING type", "format: only 'enum' and 'date-time' are supported for STRING type"
 * (hideya/langchain-mcp-tools-ts#36), "schema specified other fields alongside any_of" and "schema didn't specify the
 * schema type field" (Vertex AI).
 */
const FIELD_TYPES: Readonly<Record<string, readonly string[]>> = {
  properties: ["OBJECT"],
  required: ["OBJECT"],
  propertyOrdering: ["OBJECT"],
  minProperties: ["OBJECT"],
  maxProperties: ["OBJECT"],
  items: ["ARRAY"],
  minItems: ["ARRAY"],
  maxItems: ["ARRAY"],
  enum: ["STRING"],
  pattern: ["STRING"],
  minLength: ["STRING"],
  maxLength: ["STRING"],
  minimum: ["INTEGER", "NUMBER"],
  maximum: ["INTEGER", "NUMBER"],
};
const ANY_TYPE = words("type format title description nullable default example anyOf");
const GEMINI_FORMATS: Readonly<Record<string, readonly string[]>> = {
  STRING: ["enum", "date-time"],
  INTEGER: ["int32", "int64"],
  NUMBER: ["float", "double"],
};

const geminiNode: Check = (node, path, say) => {
  const type = String(node["type"] ?? "").toUpperCase();
  for (const field of Object.keys(node)) {
    const only = FIELD_TYPES[field];
    if (only === undefined && !ANY_TYPE.includes(field)) say(`Unknown name "${field}"`);
    if (only?.includes(type) === false) say(`${field}: only allowed for ${only.join(" and ")} type`);
  }
  if (has(node, "anyOf")) {
    if (Object.keys(node).length > 1) say("other fields alongside any_of");
    if (list(node["anyOf"]).length === 0) say("any_of is empty");
    return;
  }
  if (typeof node["type"] !== "string") return say("schema didn't specify the schema type field");
  if (!words("STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL").includes(type)) say(`type ${type}`);
  if (has(node, "format") && GEMINI_FORMATS[type]?.includes(String(node["format"])) !== true) say("format");
  if (type === "ARRAY" && !isPlainObject(node["items"])) say("items: missing field");
  if (!list(node["enum"]).every((value) => typeof value === "string" && value !== "")) say("enum: text that is not empty");
  if (has(node, "enum") && list(node["enum"]).length === 0) say("enum: empty");
  const names = Object.keys(Object(node["properties"]));
  // Recorded requests with an empty object at the root were answered 200.
  if (type === "OBJECT" && names.length === 0 && path !== "#") say("properties: should be non-empty for OBJECT type");
  for (const name of list(node["required"])) if (!names.includes(String(name))) say(`required: ${String(name)} is not defined`);
  for (const below of Object.values(Object(node["properties"]))) if (!isPlainObject(below)) say("a property that is no schema");
};

/** "Parameter names must start with a letter or an underscore and must only contain chars a-z, A-Z, 0-9, or underscores". */
const geminiOpenapi = opinion((root, use, say) => {
  if (use !== "tool") return;
  if (String(root["type"]).toUpperCase() !== "OBJECT") say("parameters have to be of type OBJECT");
  for (const name of Object.keys(Object(root["properties"])))
    if (!/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(name)) say(`parameter name ${JSON.stringify(name)}`);
}, geminiNode);

/**
 * Gemini, `parametersJsonSchema` and `responseJsonSchema`: the list of supported properties in the documentation of
 * `responseJsonSchema` (@google/genai 3.3.0), and what recorded requests hold beside it that were answered 200
 * ($schema, pattern, minLength, maxLength, default). "Cyclic references ... may only be used within non-required
 * properties. If $ref is set on a sub-schema, no other properties, except for those starting as a $, may be set."
 */
const GEMINI_JSON = words(
  "$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering $schema pattern minLength maxLength default",
);

const geminiJson = opinion(
  (root, use, say) => {
    isJsonSchema(root, use, say);
    if (use === "tool") isObjectRoot(root, use, say);
    if (isRequiredCycle(root)) say("a cyclic reference in a required property");
  },
  (node, path, say) => {
    for (const keyword of Object.keys(node)) if (!GEMINI_JSON.includes(keyword)) say(`${keyword} is not supported`);
    if (path !== "#" && has(node, "$ref") && Object.keys(node).some((keyword) => !keyword.startsWith("$"))) say("$ref with other properties");
    const isScalar = (value: unknown): boolean => typeof value === "string" || typeof value === "number" || value === null;
    if (!list(node["enum"]).every(isScalar)) say("enum is for strings and numbers");
  },
);

/** True when a chain of required properties, items and alternatives leads back to a definition. */
function isRequiredCycle(root: Node): boolean {
  const leads = (node: unknown, open: readonly string[]): boolean => {
    if (!isPlainObject(node)) return false;
    const { $ref: reference } = node;
    if (typeof reference === "string") {
      if (open.includes(reference)) return true;
      const target = reference.startsWith("#/$defs/") ? Object(root["$defs"])[reference.slice(8)] : root;
      return leads(target, [...open, reference]);
    }
    const needed = list(node["required"]).map((name) => Object(node["properties"])[String(name)]);
    const items = Number(node["minItems"] ?? 0) > 0 ? [node["items"], ...list(node["prefixItems"])] : [];
    return [...needed, ...items].some((below) => leads(below, open));
  };
  return leads(root, []) || Object.values(Object(root["$defs"])).some((definition) => leads(definition, []));
}

/** By dialect. JSON Schema itself has no provider: its meta-schema decides. */
export const PROVIDER_OPINIONS: Readonly<Record<string, ProviderOpinion>> = {
  "json-schema-2020-12": opinion(isJsonSchema, nothing),
  anthropic,
  "anthropic-output": anthropicOutput,
  openai,
  "openai-strict": openaiStrict,
  "gemini-openapi": geminiOpenapi,
  "gemini-json": geminiJson,
};
