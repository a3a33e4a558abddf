/** Which documents a statement may see: of one store, of these owners, and what a filter leaves of them. */

import type { ChunkScope, FilterNode, OrderedValue } from "@openfunctions/core/search";
import { type SQL, sql } from "drizzle-orm/sql/sql";

/**
 * The condition on a table of documents called `d`. Every statement that reads or removes documents or chunks holds it;
 * owners are looked at here and nowhere else.
 */
export function scopeSql(store: string, { owners, filter }: ChunkScope): SQL {
  if (owners.length === 0) return sql`false`;
  const names = sql.join(
    owners.map((owner) => sql`${owner}`),
    sql`, `,
  );
  const condition = sql`d.store = ${store} AND d.owner IN (${names})`;
  return filter === undefined ? condition : sql`${condition} AND ${filterSql(filter)}`;
}

/** A list of texts as rows of one column. */
export function textRows(texts: readonly string[]): SQL {
  return sql`(SELECT json_array_elements_text(${JSON.stringify(texts)}::json))`;
}

/** True or false as `matchesFilter` has it, never NULL; whatever the filter holds is a parameter. */
function filterSql(node: FilterNode): SQL {
  switch (node.type) {
    case "and":
    case "or":
      return joinSql(node.parts.map(filterSql), node.type);
    case "not":
      return sql`(NOT ${filterSql(node.part)})`;
    case "exists":
      return sql`(${valueSql(node.path)} IS NOT NULL)`;
    case "eq":
      return sql`((${valueSql(node.path)} = ${JSON.stringify(node.value)}::jsonb) IS TRUE)`;
    default:
      return orderSql(valueSql(node.path), OPERATORS[node.type], node.value);
  }
}

const OPERATORS = { lt: sql.raw("<"), lte: sql.raw("<="), gt: sql.raw(">"), gte: sql.raw(">=") } as const;

/** CASE looks at the kind first, so that nothing of another kind is cast. */
function orderSql(value: SQL, operator: SQL, bound: OrderedValue): SQL {
  return typeof bound === "string"
    ? sql`(CASE WHEN jsonb_typeof(${value}) = 'string' THEN (${value} #>> '{}') COLLATE "C" ${operator} ${bound} ELSE false END)`
    : sql`(CASE WHEN jsonb_typeof(${value}) = 'number' THEN (${value})::numeric ${operator} ${JSON.stringify(bound)}::numeric ELSE false END)`;
}

/** The operator with a text goes into objects alone; the ones that take a path count in lists too. */
function valueSql(path: readonly string[]): SQL {
  return sql`(d.metadata${sql.join(path.map((key) => sql` -> ${key}::text`))})`;
}

function joinSql(parts: readonly SQL[], type: "and" | "or"): SQL {
  if (parts.length === 0) return type === "and" ? sql`true` : sql`false`;
  return sql`(${sql.join([...parts], type === "and" ? sql` AND ` : sql` OR `)})`;
}
