/** How a run stands, event by event. */

import type { AnyRunEvent } from "./run-event.ts";
import type { RunStatus } from "./run-record.ts";

/** How a run stands after one more event; undefined before its first. */
export function nextStatus(status: RunStatus | undefined, event: AnyRunEvent): RunStatus | undefined {
  switch (event.type) {
    case "run.started":
    case "run.resumed":
      return "running";
    case "run.suspended":
      return "suspended";
    case "run.completed":
      return "completed";
    case "run.limit_reached":
      return "limit_reached";
    case "run.failed":
      return "failed";
    case "run.cancelled":
      return "cancelled";
    default:
      return status;
  }
}
