/** Whose documents a query may see, as SQL over `document`: values are parameters, paths too. */

import type { ChunkScope, FilterNode } from "@openfunctions/core/search";
import type { Parameter } from "./database.ts";
import { toKeyBytes } from "./key-bytes.ts";

/** A condition and the values of its question marks, in order. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

/** The condition of a scope. It is never true without an owner. */
export function scopeSql({ owners, filter }: ChunkScope): SqlCondition {
  const mine = {
    sql: `document.owner IN (${owners.map(() => "?").join(", ")})`,
    parameters: owners.map(toKeyBytes),
  };
  return filter === undefined ? mine : joined([mine, filterSql(filter)], "AND");
}

/** What `matchesFilter` of core means. */
export function filterSql(node: FilterNode): SqlCondition {
  switch (node.type) {
    case "and":
      return joined([TRUE, ...node.parts.map(filterSql)], "AND");
    case "or":
      return joined([FALSE, ...node.parts.map(filterSql)], "OR");
    case "not": {
      const { sql, parameters } = filterSql(node.part);
      return { sql: `NOT ${sql}`, parameters };
    }
    case "exists":
      return { sql: `(${TYPE} IS NOT NULL)`, parameters: [pathOf(node.path)] };
    case "eq":
      // The JSON text of a value is the same wherever it was written, and keeps its kind and every digit.
      return {
        sql: "coalesce(document.record -> ? = ?, FALSE)",
        parameters: [pathOf(node.path), JSON.stringify(node.value)],
      };
    default:
      return orderSql(node);
  }
}

const TYPE = "json_type(document.record, ?)";
const TRUE: SqlCondition = { sql: "TRUE", parameters: [] };
const FALSE: SqlCondition = { sql: "FALSE", parameters: [] };
const SIGNS = { lt: "<", lte: "<=", gt: ">", gte: ">=" } as const;

// Text is compared as UTF-8, so by code point. A number may be written without a point, and is no integer for that.
function orderSql({ type, path, value }: FilterNode & { readonly type: keyof typeof SIGNS }): SqlCondition {
  const isText = typeof value === "string";
  const kinds = isText ? "'text'" : "'integer', 'real'";
  const held = isText ? "json_extract(document.record, ?)" : "CAST(json_extract(document.record, ?) AS REAL)";
  const at = pathOf(path);
  return {
    sql: `(coalesce(${TYPE} IN (${kinds}), FALSE) AND ${held} ${SIGNS[type]} ?)`,
    parameters: [at, at, value],
  };
}

function joined(parts: readonly SqlCondition[], operator: "AND" | "OR"): SqlCondition {
  return {
    sql: `(${parts.map(({ sql }) => sql).join(` ${operator} `)})`,
    parameters: parts.flatMap(({ parameters }) => parameters),
  };
}

// The names of a path that core took are letters, digits and underscores.
function pathOf(path: readonly string[]): string {
  return ["$.metadata", ...path.map((name) => `"${name}"`)].join(".");
}
