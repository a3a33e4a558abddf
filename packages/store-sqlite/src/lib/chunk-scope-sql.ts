/** Whose documents a query may see, as SQL over `document`: values are parameters, paths too. */

import type { ChunkScope, FilterNode } from "@openfunctions/core/search";
import type { Parameter } from "./database.ts";
import { toKeyBytes } from "./key-bytes.ts";

/** A condition and the values of its question marks, in order. */
export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

/** The condition of a scope; never true without an owner. A filter means what `matchesFilter` of core means. */
export function scopeSql({ owners, filter }: ChunkScope): SqlCondition {
  const sql = `document.owner IN (${owners.map(() => "?").join(", ")})`;
  const mine = { sql, parameters: owners.map(toKeyBytes) };
  return filter === undefined ? mine : joined([mine, filterSql(filter)], "AND");
}

function filterSql(node: FilterNode): SqlCondition {
  if ("parts" in node) {
    const none = { sql: node.type === "and" ? "TRUE" : "FALSE", parameters: [] };
    return joined([none, ...node.parts.map(filterSql)], node.type === "and" ? "AND" : "OR");
  }
  if (node.type === "not") {
    const { sql, parameters } = filterSql(node.part);
    return { sql: `NOT ${sql}`, parameters };
  }
  // The names of a path that core took are letters, digits and underscores.
  const path = ["$.metadata", ...node.path.map((name) => `"${name}"`)].join(".");
  if (node.type === "exists")
    return { sql: "(json_type(document.record, ?) IS NOT NULL)", parameters: [path] };
  // JSON text tells kinds apart and holds every digit, and one value has one text.
  if (node.type === "eq")
    return {
      sql: "coalesce(document.record -> ? = ?, FALSE)",
      parameters: [path, JSON.stringify(node.value)],
    };
  const isText = typeof node.value === "string";
  const kind = `coalesce(json_type(document.record, ?) IN (${isText ? "'text'" : "'integer', 'real'"}), FALSE)`;
  // Text is compared as UTF-8, so by code point. A large number without a point must not be cut to an integer.
  const held = `CAST(json_extract(document.record, ?) AS ${isText ? "TEXT" : "REAL"})`;
  return { sql: `(${kind} AND ${held} ${SIGNS[node.type]} ?)`, parameters: [path, path, node.value] };
}

const SIGNS = { lt: "<", lte: "<=", gt: ">", gte: ">=" } as const;

function joined(parts: readonly SqlCondition[], operator: "AND" | "OR"): SqlCondition {
  const sql = `(${parts.map((part) => part.sql).join(` ${operator} `)})`;
  return { sql, parameters: parts.flatMap(({ parameters }) => parameters) };
}
