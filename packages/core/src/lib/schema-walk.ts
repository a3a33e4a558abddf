/** Where subschemas live in a schema, and how local references resolve. */

import { isPlainObject, joinPath } from "./json.ts";

/** The keywords that hold subschemas, by whether they hold one, a list, or a map by name. */
export const HELD_BY = {
  map: "properties patternProperties dependentSchemas $defs definitions",
  list: "prefixItems allOf anyOf oneOf",
  one: "items contains additionalProperties unevaluatedProperties unevaluatedItems propertyNames not if then else contentSchema",
} as const;

const HOLDERS: ReadonlyMap<string, string> = new Map(
  Object.entries(HELD_BY).flatMap(([holder, words]) => words.split(" ").map((word) => [word, holder])),
);

/** Keywords whose subschemas look at the same value as the schema they stand in. */
export const IN_PLACE_KEYWORDS: ReadonlySet<string> = new Set(
  "allOf anyOf oneOf not if then else dependentSchemas".split(" "),
);

/** The keywords of a schema as they were read. */
export type Keywords = Readonly<Record<string, unknown>>;

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
export function subschemas(schema: Keywords): readonly Subschema[] {
  return Object.keys(schema).flatMap((keyword): readonly Subschema[] => {
    const value = schema[keyword];
    const holder = HOLDERS.get(keyword);
    if (holder === "one") return [{ keyword, schema: value }];
    if (holder === "list" && Array.isArray(value))
      return value.map((item, key) => ({ keyword, key, schema: item }));
    if (holder !== "map" || !isPlainObject(value)) return [];
    return Object.entries(value).map(([key, item]) => ({ keyword, key, schema: item }));
  });
}

/** A copy of a schema with each direct subschema changed; `undefined` leaves that subschema out. */
export function mapSubschemas(schema: Keywords, change: (at: Subschema) => unknown): Record<string, unknown> {
  const copy: Record<string, unknown> = { ...schema };
  for (const keyword of Object.keys(schema)) {
    const holder = HOLDERS.get(keyword);
    if (holder === undefined) continue;
    const below = subschemas({ [keyword]: schema[keyword] });
    const changed = below.map((at) => [at.key, change(at)] as const).filter(([, item]) => item !== undefined);
    if (holder === "map") copy[keyword] = Object.fromEntries(changed);
    else if (changed.length === 0) delete copy[keyword];
    else if (holder === "list") copy[keyword] = changed.map(([, item]) => item);
    else copy[keyword] = changed[0]?.[1];
  }
  return copy;
}

/** What a local reference (`#` or `#/pointer`) points at below `root`; undefined when it points nowhere. */
export function resolveLocalReference(root: unknown, reference: unknown): unknown {
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) return undefined;
  return pointerSteps(reference.slice(1)).reduce<unknown>(ownValue, root);
}

/** The value of an own property or index, or undefined. */
export function ownValue(holder: unknown, key: string | number): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, key)
    ? Reflect.get(holder, key)
    : undefined;
}

/** The decoded steps of a JSON pointer such as `/$defs/a~1b`; percent-encoding is decoded too. */
export function pointerSteps(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => decodePercent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not percent-encoded after all, so the text is the name
  }
}

/** The schemas that look at the same value as `schema`: its reference and in-place combinators, one level down. */
export function inPlaceSubschemas(schema: Keywords, root: unknown): readonly unknown[] {
  const combined = subschemas(schema).filter((at) => IN_PLACE_KEYWORDS.has(at.keyword));
  return [...combined.map((at) => at.schema), resolveLocalReference(root, schema["$ref"])];
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
  const seen = new Set<Keywords>();
  const visit = (node: unknown): void => {
    if (!isPlainObject(node) || seen.has(node)) return;
    seen.add(node);
    for (const below of inPlaceSubschemas(node, root)) visit(below);
  };
  visit(schema);
  const nodes = [...seen];
  const rest = nodes
    .flatMap((node) => [
      node["additionalProperties"],
      node["unevaluatedProperties"],
      node["patternProperties"],
    ])
    .filter((value) => value !== undefined);
  return {
    names: new Set(
      nodes.flatMap(({ properties }) => (isPlainObject(properties) ? Object.keys(properties) : [])),
    ),
    statesRest: rest.length > 0,
    allowsRest: rest.some((value) => value !== false),
  };
}
