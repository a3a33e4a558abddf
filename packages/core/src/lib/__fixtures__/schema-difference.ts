/**
 * What a schema says that its compiled form no longer says, and whether the reported losses account for it: an account of
 * our own, written without the compiler. Keywords are compared by the place of the value they are about, so that a
 * rewrite may move them between schemas that look at the same value.
 */

import type { CompiledSchema, Loss } from "../dialect.ts";
import { isPlainObject } from "../json.ts";

type Keywords = Readonly<Record<string, unknown>>;

/** One schema and how one gets there. */
interface Visited {
  readonly node: Keywords;
  /** The dotted path without the steps that stay at the same value: `properties.a.items`. */
  readonly place: string;
  /** The keywords that were entered on the way, each with the place where it stands: `properties.a items`. */
  readonly trail: readonly string[];
}

const IN_PLACE = ["allOf", "anyOf", "oneOf"];
const MAPS = ["properties", "patternProperties"];
const SINGLE = ["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames"];
const HOLDERS = [...IN_PLACE, ...MAPS, ...SINGLE, "prefixItems", "$defs", "definitions"];
/** The schema's own names: never sent, and never reported. */
const UNSENT = /^(\$schema|\$id|\$anchor|x-.*)$/s;
/** A schema as a whole that could not be sent. */
const WHOLE = ["false", "properties", "$ref"];

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const map = (value: unknown): Keywords => (isPlainObject(value) ? value : {});
const text = (value: unknown): string => JSON.stringify(value);
const join = (place: string, step: string): string => (place === "" ? step : `${place}.${step}`);

/** The place of a loss. */
export function placeOf(path: string): string {
  return path.replace(/(^|\.)(?:allOf|anyOf|oneOf)\[\d+\]/g, "").replace(/^\./, "");
}

/** What is wrong with the account that a compiled schema gives of its losses; empty when it is true. */
export function untruths(original: unknown, compiled: CompiledSchema): readonly string[] {
  if (compiled.schema === null && compiled.lossless && Object.keys(map(map(original)["properties"])).length === 0) return [];
  const keepsReferences = text(compiled.schema).includes('"$ref"') || !text(original).includes('"$ref"');
  const { losses } = compiled;
  const inlined = new Set(
    losses.filter(({ keyword, action }) => keyword === "$ref" && action === "inlined").map(({ path }) => placeOf(path)),
  );
  const before = visit(original, { keepsReferences, inlined });
  const after = visit(withOwnNames(compiled), { keepsReferences, inlined });
  const unsaid = before.flatMap((visited) => {
    const said = after.filter(({ place }) => place === visited.place).map(({ node }) => node);
    return Object.entries(visited.node)
      .filter(([keyword, value]) => !UNSENT.test(keyword) && !isSaid(keyword, value, said))
      .filter(([keyword]) => !losses.some((loss) => accounts(loss, keyword, visited)))
      .filter(() => compiled.schema !== null || !losses.some(({ path, keyword }) => path === "" && keyword === "properties"))
      .map(([keyword, value]) => `not reported: ${visited.place} ${keyword}: ${text(value)}`);
  });
  const places = new Set(before.map(({ place }) => place));
  const isCut = losses.some(({ keyword, action }) => keyword === "$ref" && action === "dropped");
  const nowhere = losses
    .filter(({ path }) => !isCut && !/(^|\.)(not|if|then|else|dependentSchemas)\b/.test(path))
    .filter(({ path }) => !places.has(placeOf(path)))
    .filter(({ path }) => !losses.some((one) => join(placeOf(one.path), one.keyword) === placeOf(path))) // made by it
    .map((loss) => `nowhere in the original: ${text(loss)}`);
  const unheard = losses
    .filter(({ action }) => action === "described")
    .filter(({ path, note }) => {
      const here = after.filter(({ place }) => place === placeOf(path));
      return !here.some(({ node }) => String(node["description"]).includes(note));
    })
    .map((loss) => `not in the description: ${text(loss)}`);
  return [...unsaid, ...nowhere, ...unheard];
}

/** The compiled schema with the parameters under the names they have in the original. */
function withOwnNames({ schema, losses }: CompiledSchema): unknown {
  const renamed = losses.filter(({ keyword, action }) => keyword === "properties" && action === "rewritten");
  const own = new Map(renamed.map(({ path, note }) => [/^sent as "(.*)"$/s.exec(note)?.[1], path.slice("properties.".length)]));
  if (own.size === 0 || !isPlainObject(schema)) return schema;
  const properties = Object.entries(map(schema["properties"])).map(([name, one]) => [own.get(name) ?? name, one]);
  const required = list(schema["required"]).map((name) => own.get(String(name)) ?? name);
  return { ...schema, properties: Object.fromEntries(properties), required };
}

/** True when the loss explains why the keyword of a schema is not said any more. */
function accounts(loss: Loss, keyword: string, { place, trail }: Visited): boolean {
  const at = placeOf(loss.path);
  if (at === place && loss.keyword === keyword) return true;
  if (at === join(place, keyword) && loss.keyword === "false") return true;
  // A listed value brings its own type, and null is said with another keyword.
  if (at === place && keyword === "type" && ["enum", "const", "anyOf", "oneOf"].includes(loss.keyword)) return true;
  const isGone = loss.action === "dropped" || loss.action === "described";
  // What holds the items of a list says nothing about a text, and goes as a whole.
  const isIdle = loss.action === "rewritten" && ["items", "properties"].includes(loss.keyword);
  if ((isGone || isIdle) && trail.includes(`${at} ${loss.keyword}`)) return true;
  const isAbove = at === "" || place === at || place.startsWith(`${at}.`);
  return WHOLE.includes(loss.keyword) && loss.action === "dropped" && at !== "" && isAbove;
}

function isSaid(keyword: string, value: unknown, said: readonly Keywords[]): boolean {
  if (keyword === "$defs" || keyword === "definitions") return true; // compared one by one, where they can be sent
  if (keyword === "required" && list(value).length === 0) return true;
  const values = said.map((node) => node[keyword]).filter((other) => other !== undefined);
  if (keyword === "required")
    return list(value).every((name) => values.some((names) => list(names).includes(name)));
  if (values.length === 0) return false;
  const isNullable = said.some((node) => node["nullable"] === true); // Gemini's word for null among the values
  if (keyword === "enum") return list(value).filter((one) => one !== null || !isNullable).every((one) => values.some((other) => list(other).map(text).includes(text(one))));
  if (keyword === "type") return list(Array.isArray(value) ? value : [value]).every((one) => values.some((other) => other === one || list(other).includes(one)));
  if (keyword === "description") return values.some((other) => String(other).includes(String(value)));
  if (HOLDERS.includes(keyword) && typeof value === "object") return true; // what it holds is compared by itself
  if (["not", "if", "then", "else", "dependentSchemas"].includes(keyword)) return true;
  return values.map(text).includes(text(value)) || value === true;
}

interface References {
  readonly keepsReferences: boolean;
  /** Where a reference was replaced by what it points at all the same. */
  readonly inlined: ReadonlySet<string>;
}

function visit(root: unknown, { keepsReferences, inlined }: References): readonly Visited[] {
  const found: Visited[] = [];
  const enter = (node: unknown, place: string, way: { trail: readonly string[]; open: readonly string[] }): void => {
    if (typeof node === "boolean") found.push({ node: {}, place, trail: way.trail });
    if (!isPlainObject(node)) return;
    found.push({ node, place, trail: way.trail });
    const by = (keyword: string): typeof way => ({ ...way, trail: [...way.trail, `${place} ${keyword}`] });
    const { $ref: reference } = node;
    const isFollowed = !keepsReferences || inlined.has(place);
    if (typeof reference === "string" && isFollowed && !way.open.includes(reference))
      enter(pointedAt(root, reference), place, { ...by("$ref"), open: [...way.open, reference] });
    for (const keyword of IN_PLACE) for (const below of list(node[keyword])) enter(below, place, by(keyword));
    for (const keyword of SINGLE) enter(node[keyword], join(place, keyword), by(keyword));
    list(node["prefixItems"]).forEach((below, index) =>
      enter(below, `${join(place, "prefixItems")}[${index}]`, by("prefixItems")),
    );
    for (const keyword of [...MAPS, ...(keepsReferences ? ["$defs", "definitions"] : [])])
      for (const [name, below] of Object.entries(map(node[keyword])))
        enter(below, `${join(place, keyword)}.${name}`, by(keyword));
  };
  enter(root, "", { trail: [], open: [] });
  return found;
}

function pointedAt(root: unknown, reference: string): unknown {
  const steps = reference.slice(1).split("/").slice(1);
  const names = steps.map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  return names.reduce<unknown>((node, name) => (Array.isArray(node) ? node[Number(name)] : map(node)[name]), root);
}
