/** The SQL of a page of runs. */

import type { RunPlan } from "@openfunctions/core/stores";
import { type SQL, sql } from "drizzle-orm/sql/sql";
import type { Tables } from "./tables.ts";

const COLUMNS = {
  status: sql`status`,
  kind: sql`kind`,
  actor: sql`actor`,
  threadId: sql`thread_id`,
  taskId: sql`task_id`,
  correlationId: sql`correlation_id`,
} as const satisfies Record<keyof RunPlan["equal"], SQL>;

const FIELDS = ["status", "kind", "actor", "threadId", "taskId", "correlationId"] as const;

/** The query of a page and one run more, which tells whether there is another. */
export function runListSql({ equal, since, until, after, limit }: RunPlan, { runs }: Tables): SQL {
  const conditions = FIELDS.flatMap((field) =>
    equal[field] === undefined ? [] : [sql`${COLUMNS[field]} = ${equal[field]}`],
  );
  if (since !== undefined) conditions.push(sql`started_at >= ${since}`);
  if (until !== undefined) conditions.push(sql`started_at <= ${until}`);
  if (after !== undefined) conditions.push(sql`(started_at, run_id) < (${after.startedAt}, ${after.runId})`);
  const where = conditions.length === 0 ? sql`` : sql`WHERE ${sql.join(conditions, sql` AND `)}`;
  return sql`SELECT number, run_id, record FROM ${runs} ${where}
    ORDER BY started_at DESC, run_id DESC LIMIT ${limit + 1}::bigint`;
}
