/** The first events of a run that goes on: who writes now, what has changed, and what people answered. */

import { defined } from "./defined.ts";
import type { Resumption } from "./loop-hooks.ts";
import type { RunLog } from "./run-log.ts";
import { describeEnvironment } from "./run-start.ts";

/** Writes them. */
export function reopenLog(log: RunLog, { drift, tickets }: Resumption): void {
  const { process: writer } = describeEnvironment();
  log.emit("run.resumed", defined({ drift: drift.length === 0 ? undefined : drift, process: writer }));
  for (const { ticketId, callId, state, resolved, reason, editedFrom } of tickets) {
    if (resolved === undefined) continue;
    log.emit("approval.resolved", {
      callId,
      ticketId,
      decision: state === "denied" ? "denied" : "approved",
      by: resolved.by,
      ...(editedFrom === undefined ? {} : { editedFrom }),
      ...(reason === undefined ? {} : { reason: log.seal(reason) }),
    });
  }
}
