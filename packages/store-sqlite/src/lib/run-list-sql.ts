/** The SQL of a page of runs. */

import type { RunPlan } from "@openfunctions/core/stores";
import type { Parameter } from "./database.ts";

const COLUMNS = {
  status: "status",
  kind: "kind",
  actor: "actor",
  threadId: "thread_id",
  taskId: "task_id",
  correlationId: "correlation_id",
} as const satisfies Record<keyof RunPlan["equal"], string>;

/** The query of a page and one run more, which tells whether there is another. An index serves each filter. */
export function runListSql({ equal, since, until, after, limit }: RunPlan): {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
} {
  const conditions: string[] = [];
  const parameters: Parameter[] = [];
  const add = (condition: string, ...values: readonly Parameter[]): void => {
    conditions.push(condition);
    parameters.push(...values);
  };
  for (const field of FIELDS) if (equal[field] !== undefined) add(`${COLUMNS[field]} = ?`, equal[field]);
  if (since !== undefined) add("started_at >= ?", since);
  if (until !== undefined) add("started_at <= ?", until);
  if (after !== undefined) add("(started_at, run_id) < (?, ?)", after.startedAt, after.runId);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const sql = `SELECT id, run_id, record FROM openfunctions_runs ${where}
    ORDER BY started_at DESC, run_id DESC LIMIT ?`;
  return { sql, parameters: [...parameters, limit + 1] };
}

const FIELDS = ["status", "kind", "actor", "threadId", "taskId", "correlationId"] as const;
