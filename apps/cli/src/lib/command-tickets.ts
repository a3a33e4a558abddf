/** `openfunctions approvals`: the calls that wait for a person, and the person's answers. */

import {
  type ApprovalTicket,
  InputError,
  type JsonObject,
  isPlainObject,
  resolveApproval,
} from "@openfunctions/core";
import { LOCAL_OWNER, localPerson } from "./answer-tickets.ts";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { openTools } from "./open-tools.ts";
import { print, printJson, oneLine } from "./output.ts";

/** Options of an answer. */
export interface AnswerOptions {
  readonly reason?: string;
  readonly args?: string;
  readonly from?: readonly string[];
}

/** What waits, oldest first. */
export async function listTickets(options: {
  readonly all?: boolean;
  readonly json?: boolean;
}): Promise<void> {
  await withHomeStores(dataHome(), async ({ approvals }) => {
    const tickets = await approvals.list(options.all === true ? {} : { state: "pending" });
    if (options.json === true) return printJson(tickets);
    if (tickets.length === 0) print("Nothing waits for approval.");
    for (const ticket of tickets) print(describeTicket(ticket));
  });
}

function describeTicket({
  ticketId,
  state,
  summary,
  runId,
  requestedAt,
  expiresAt,
  reason,
}: ApprovalTicket): string {
  const when = state === "pending" ? `asked ${requestedAt}, until ${expiresAt}` : `asked ${requestedAt}`;
  const why = reason === undefined ? "" : `\n  reason: ${oneLine(reason)}`;
  return `${ticketId}  ${state}  ${oneLine(summary)}\n  run ${runId}, ${when}${why}`;
}

/** Answers one ticket for the person at this terminal. */
export async function answerTicket(
  decision: "approved" | "denied",
  ticketId: string,
  { reason, args, from }: AnswerOptions,
): Promise<void> {
  const home = dataHome();
  const editedArgs = args === undefined ? undefined : parseArguments(args);
  const tools = await openTools({ home, ...(from === undefined ? {} : { from }) });
  await withHomeStores(home, async ({ approvals }) => {
    const asked = editedArgs === undefined ? undefined : await approvals.get(ticketId);
    if (asked !== undefined && !tools.has(asked.toolName))
      throw new InputError(
        `"${asked.toolName}" is not among the tools, so its new arguments cannot be checked.`,
        {
          hint: "Pass the --from that the run was started with.",
        },
      );
    const ticket = await resolveApproval({ approvals, tools }, ticketId, {
      decision,
      by: localPerson(),
      owner: LOCAL_OWNER,
      ...(reason === undefined ? {} : { reason }),
      ...(editedArgs === undefined ? {} : { editedArgs }),
    });
    print(
      `${ticket.ticketId} ${ticket.state}. Go on with: openfunctions resume ${ticket.runId} (and the --from it was started with)`,
    );
  });
}

function parseArguments(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InputError("--args is not JSON.");
  }
  if (isPlainObject(value)) return value as JsonObject; // Proof: parsed from JSON
  throw new InputError("--args is not a JSON object.");
}
