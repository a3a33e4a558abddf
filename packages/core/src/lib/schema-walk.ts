/** Where subschemas live in a schema, and how local references resolve. */

import { isPlainObject, joinPath } from "./json.ts";

/** How a keyword holds subschemas: one, a list, or a map by name. */
export type SubschemaHolder = "schema" | "list" | "map";

/** Every keyword that holds subschemas (JSON Schema 2020-12, and `definitions`, which its meta-schema still lists). */
export const SUBSCHEMA_HOLDERS: ReadonlyMap<string, SubschemaHolder> = new Map<string, SubschemaHolder>([
  ["properties", "map"],
  ["patternProperties", "map"],
  ["dependentSchemas", "map"],
  ["$defs", "map"],
  ["definitions", "map"],
  ["prefixItems", "list"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["oneOf", "list"],
  ["items", "schema"],
  ["contains", "schema"],
  ["additionalProperties", "schema"],
  ["unevaluatedProperties", "schema"],
  ["unevaluatedItems", "schema"],
  ["propertyNames", "schema"],
  ["not", "schema"],
  ["if", "schema"],
  ["then", "schema"],
  ["else", "schema"],
  ["contentSchema", "schema"],
]);

/** Keywords whose subschemas look at the same value as the schema they stand in. */
export const IN_PLACE_KEYWORDS: ReadonlySet<string> = new Set(
  "allOf anyOf oneOf not if then else dependentSchemas".split(" "),
);

/** A subschema and where it stands below its parent. */
export interface Subschema {
  readonly keyword: string;
  /** The name in a map, the index in a list, absent for a single subschema. */
  readonly key?: string | number;
  readonly schema: unknown;
}

/** The dotted path of a subschema, below the path of its parent. */
export function subschemaPath(path: string, at: Subschema): string {
  const below = joinPath(path, at.keyword);
  return at.key === undefined ? below : joinPath(below, at.key);
}

/** The direct subschemas of a schema, in the order written. Values of the wrong kind are skipped. */
export function subschemas(schema: Readonly<Record<string, unknown>>): readonly Subschema[] {
  return Object.keys(schema).flatMap((keyword) => held(keyword, schema[keyword]));
}

function held(keyword: string, value: unknown): readonly Subschema[] {
  const holder = SUBSCHEMA_HOLDERS.get(keyword);
  if (holder === "schema") return [{ keyword, schema: value }];
  if (holder === "list" && Array.isArray(value)) return value.map((schema: unknown, key) => ({ keyword, key, schema }));
  if (holder === "map" && isPlainObject(value)) return Object.keys(value).map((key) => ({ keyword, key, schema: value[key] }));
  return [];
}

/** A shallow copy of a schema with each direct subschema changed; `undefined` leaves that subschema out. */
export function mapSubschemas(
  schema: Readonly<Record<string, unknown>>,
  change: (at: Subschema) => unknown,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const children = held(keyword, value).map((at) => ({ key: at.key, changed: change(at) }));
    const kept = children.filter((child) => child.changed !== undefined);
    if (Array.isArray(value) && SUBSCHEMA_HOLDERS.get(keyword) === "list") copy[keyword] = kept.map((child) => child.changed);
    else if (isPlainObject(value) && SUBSCHEMA_HOLDERS.get(keyword) === "map")
      copy[keyword] = Object.fromEntries(kept.map((child) => [child.key, child.changed]));
    else if (children.length === 0) copy[keyword] = value;
    else if (kept.length > 0) copy[keyword] = kept[0]?.changed;
  }
  return copy;
}

/** What a local reference (`#`, `#/pointer`, `#anchor`) points at below `root`; undefined when it points nowhere. */
export function resolveLocalReference(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return findAnchor(root, reference.slice(1));
  let here: unknown = root;
  for (const step of pointerSteps(reference)) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return undefined;
    here = Reflect.get(here, step);
  }
  return here;
}

/** The decoded steps of a JSON pointer fragment such as `#/$defs/a~1b`. */
export function pointerSteps(reference: string): readonly string[] {
  const steps = reference.replace(/^#?\/?/, "");
  if (steps === "") return [];
  return steps.split("/").map((step) => decodeStep(step));
}

function decodeStep(step: string): string {
  const plain = step.includes("%") ? decodePercent(step) : step;
  return plain.replaceAll("~1", "/").replaceAll("~0", "~");
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not percent-encoded after all, so the text is the name
  }
}

function findAnchor(schema: unknown, name: string): unknown {
  if (!isPlainObject(schema)) return undefined;
  if (schema["$anchor"] === name) return schema;
  for (const at of subschemas(schema)) {
    if (at.keyword === "prefixItems") continue; // ajv does not look for anchors there
    const found = findAnchor(at.schema, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The schemas that look at the same value as `schema`: its reference and in-place combinators, one level down. */
export function inPlaceSubschemas(schema: Readonly<Record<string, unknown>>, root: unknown): readonly unknown[] {
  const combined = subschemas(schema).filter((at) => IN_PLACE_KEYWORDS.has(at.keyword));
  const reference = schema["$ref"];
  const target = typeof reference === "string" ? [resolveLocalReference(root, reference)] : [];
  return [...combined.map((at) => at.schema), ...target];
}

/** Which properties an object schema knows, its in-place subschemas and references included. */
export interface DeclaredProperties {
  readonly names: ReadonlySet<string>;
  /** True when it says something about further properties, whatever that is. */
  readonly statesRest: boolean;
  /** True when it lets further properties through because it says so. */
  readonly allowsRest: boolean;
}

/** The properties declared for the value that `schema` looks at. */
export function declaredProperties(schema: unknown, root: unknown): DeclaredProperties {
  const names = new Set<string>();
  const found = { names, statesRest: false, allowsRest: false };
  const seen = new Set<unknown>();
  const visit = (node: unknown): void => {
    if (!isPlainObject(node) || seen.has(node)) return;
    seen.add(node);
    if (isPlainObject(node["properties"])) for (const name of Object.keys(node["properties"])) names.add(name);
    const rest = [node["additionalProperties"], node["unevaluatedProperties"], node["patternProperties"]];
    found.statesRest ||= rest.some((value) => value !== undefined);
    found.allowsRest ||= rest.some((value) => value !== undefined && value !== false);
    for (const below of inPlaceSubschemas(node, root)) visit(below);
  };
  visit(schema);
  return found;
}
