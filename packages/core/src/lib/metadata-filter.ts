/** Which documents a search may look at: conditions on their metadata, read once into a tree that stores compile. */

import { InputError } from "./errors.ts";
import { isPlainObject, type Json, type JsonObject } from "./json.ts";

/** A value that a condition compares with. */
export type FilterValue = string | number | boolean | null;

/** A value with an order. */
export type OrderedValue = string | number;

/**
 * One condition on a dotted path (`year`, `author.name`), or several joined. `ne` is true where the path is missing;
 * every other comparison is false there, and false between values of two kinds. Text is ordered by code point.
 */
export type MetadataFilter =
  | { readonly path: string; readonly eq: FilterValue }
  | { readonly path: string; readonly ne: FilterValue }
  | { readonly path: string; readonly in: readonly FilterValue[] }
  | { readonly path: string; readonly lt: OrderedValue }
  | { readonly path: string; readonly lte: OrderedValue }
  | { readonly path: string; readonly gt: OrderedValue }
  | { readonly path: string; readonly gte: OrderedValue }
  | { readonly path: string; readonly exists: boolean }
  | { readonly and: readonly MetadataFilter[] }
  | { readonly or: readonly MetadataFilter[] }
  | { readonly not: MetadataFilter };

/** A filter that was read: what stores compile. `ne` and `in` are already `not` and `or`. */
export type FilterNode =
  | { readonly type: "and" | "or"; readonly parts: readonly FilterNode[] }
  | { readonly type: "not"; readonly part: FilterNode }
  | { readonly type: "exists"; readonly path: readonly string[] }
  | { readonly type: "eq"; readonly path: readonly string[]; readonly value: FilterValue }
  | {
      readonly type: "lt" | "lte" | "gt" | "gte";
      readonly path: readonly string[];
      readonly value: OrderedValue;
    };

const PATH = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$/;
const MAX_PATH_LENGTH = 64;
const MAX_DEPTH = 8;
const MAX_CONDITIONS = 200;
const TOO_MANY = `it holds more than ${MAX_CONDITIONS} conditions and values`;

/**
 * Reads a filter from outside. Throws `InputError` `bad_filter` for an unknown operator, a path or a value that none
 * takes, a tree deeper than 8 and more than 200 conditions. Spec state.md section 7.
 */
export function readFilter(filter: unknown): FilterNode {
  return readNode(filter, { depth: 1, budget: { left: MAX_CONDITIONS } });
}

/** Whether metadata meets a filter; for stores that hold documents in memory, and what the others must agree with. */
export function matchesFilter(metadata: JsonObject, node: FilterNode): boolean {
  switch (node.type) {
    case "and":
      return node.parts.every((part) => matchesFilter(metadata, part));
    case "or":
      return node.parts.some((part) => matchesFilter(metadata, part));
    case "not":
      return !matchesFilter(metadata, node.part);
    case "exists":
      return valueAt(metadata, node.path) !== undefined;
    case "eq":
      return valueAt(metadata, node.path) === node.value;
    default:
      return isOrdered(valueAt(metadata, node.path), node);
  }
}

function isOrdered(
  value: Json | undefined,
  { type, value: bound }: FilterNode & { readonly type: "lt" | "lte" | "gt" | "gte" },
): boolean {
  const order =
    typeof value === "string" && typeof bound === "string"
      ? Buffer.compare(Buffer.from(value), Buffer.from(bound))
      : typeof value === "number" && typeof bound === "number"
        ? value - bound
        : undefined;
  if (order === undefined) return false;
  if (type === "lt") return order < 0;
  if (type === "lte") return order <= 0;
  return type === "gt" ? order > 0 : order >= 0;
}

function valueAt(metadata: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = metadata;
  for (const key of path) {
    if (!isPlainObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

interface Place {
  readonly depth: number;
  readonly budget: { left: number };
}

function readNode(filter: unknown, { depth, budget }: Place): FilterNode {
  budget.left -= 1;
  if (depth > MAX_DEPTH) throw badFilter(`it is more than ${MAX_DEPTH} levels deep`);
  if (budget.left < 0) throw badFilter(TOO_MANY);
  if (!isPlainObject(filter)) throw badFilter("each condition is an object");
  const { path, ...rest } = filter;
  const [entry, ...others] = Object.entries(rest);
  if (entry === undefined || others.length > 0) throw badFilter("each condition has one operator");
  const [operator, operand] = entry;
  if (path !== undefined) {
    if (Array.isArray(operand)) budget.left -= operand.length;
    if (budget.left < 0) throw badFilter(TOO_MANY);
    return readCondition(readPath(path), operator, operand);
  }
  const below = (part: unknown): FilterNode => readNode(part, { depth: depth + 1, budget });
  if (operator === "not") return { type: "not", part: below(operand) };
  if (operator === "and" || operator === "or")
    return { type: operator, parts: readList(operand, operator).map(below) };
  throw badFilter(`"${operator.slice(0, 40)}" joins nothing, and has no "path" to compare`);
}

function readCondition(path: readonly string[], operator: string, operand: unknown): FilterNode {
  switch (operator) {
    case "eq":
      return { type: "eq", path, value: readValue(operand, operator) };
    case "ne":
      return { type: "not", part: { type: "eq", path, value: readValue(operand, operator) } };
    case "in":
      return {
        type: "or",
        parts: readList(operand, operator).map((one) => ({
          type: "eq",
          path,
          value: readValue(one, operator),
        })),
      };
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      return { type: operator, path, value: readOrdered(operand, operator) };
    case "exists":
      if (operand === true) return { type: "exists", path };
      if (operand === false) return { type: "not", part: { type: "exists", path } };
      throw badFilter('"exists" takes true or false');
    default:
      throw badFilter(`"${operator.slice(0, 40)}" is no operator`);
  }
}

function readPath(path: unknown): readonly string[] {
  if (typeof path === "string" && path.length <= MAX_PATH_LENGTH && PATH.test(path)) return path.split(".");
  throw badFilter("a path is names of letters, digits and _ joined by dots, at most 64 characters");
}

function readList(operand: unknown, operator: string): readonly unknown[] {
  if (Array.isArray(operand) && operand.length <= MAX_CONDITIONS) return operand;
  throw badFilter(`"${operator}" takes a list of at most ${MAX_CONDITIONS}`);
}

function readValue(operand: unknown, operator: string): FilterValue {
  if (operand === null || typeof operand === "boolean") return operand;
  return readOrdered(operand, operator);
}

function readOrdered(operand: unknown, operator: string): OrderedValue {
  if (typeof operand === "string" || (typeof operand === "number" && Number.isFinite(operand)))
    return operand;
  throw badFilter(`"${operator}" cannot compare with that value`);
}

function badFilter(problem: string): InputError {
  return new InputError(`The filter was refused: ${problem}.`, {
    code: "bad_filter",
    hint: 'Use { path, eq | ne | in | lt | lte | gt | gte | exists } or { and | or | not }, such as { path: "year", gte: 2020 }.',
  });
}
