/** Who answers tickets on this machine, and how a waiting call is shown. */

import { userInfo } from "node:os";
import type { ApprovalTicket, Principal } from "@openfunctions/core";
import { note, oneLine, paint } from "./output.ts";

/** The owner of what the apps of one data folder run. */
export const LOCAL_OWNER = "local";

/** The person at this terminal. */
export function localPerson(): Principal {
  return { kind: "human", id: userName(), via: "local" };
}

/** Says what waits, and how to answer it; `from` is where the tools came from. */
export function noteWaiting(
  runId: string,
  tickets: readonly ApprovalTicket[],
  from: readonly string[] = [],
): void {
  for (const { ticketId, summary, expiresAt } of tickets) {
    note(paint("yellow", `waits for approval: ${oneLine(summary)}`));
    note(`  openfunctions approvals approve ${ticketId}    (or deny; until ${expiresAt})`);
  }
  note(`then: openfunctions resume ${runId}${from.map((file) => ` --from ${oneLine(file)}`).join("")}`);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "local"; // A container may run under a number that no user has.
  }
}
