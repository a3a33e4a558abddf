/** The HTTP side of approvals: what waits, and a person's answer. */

import {
  type ApprovalStore,
  type ApprovalTicket,
  type JsonObject,
  OpenFunctionsError,
  type ToolView,
  isPlainObject,
  resolveApproval,
} from "@openfunctions/core";
import { LOCAL_OWNER, localPerson } from "openfunctions/app";
import { readJsonObject } from "./request-body.ts";
import type { ErrorBody } from "./stream-parts.ts";

/** What the routes work with. */
export interface ApprovalDesk {
  readonly approvals: ApprovalStore;
  readonly tools: ToolView;
}

const STATUS: Readonly<Record<string, number>> = {
  approval_used: 409,
  approval_expired: 410,
  approval_mismatch: 404,
  invalid_argument: 400,
};

/** Everything that waits, oldest first. */
export async function listApprovals({ approvals }: ApprovalDesk): Promise<Response> {
  const tickets = await approvals.list({ state: "pending", owner: LOCAL_OWNER });
  return Response.json({ approvals: tickets.map(toBody) });
}

/** Answers one ticket: `{ decision: "approved" | "denied", reason?, args? }`. */
export async function answerApproval(
  request: Request,
  ticketId: string,
  desk: ApprovalDesk,
): Promise<Response> {
  const body = await readJsonObject(request);
  if (!body.ok) return Response.json({ error: body.error }, { status: body.status });
  const { decision, reason, args } = body.value;
  if (decision !== "approved" && decision !== "denied")
    return refuse(400, "invalid_decision", 'decision is "approved" or "denied".');
  if (reason !== undefined && typeof reason !== "string")
    return refuse(400, "invalid_reason", "reason is a text.");
  if (args !== undefined && !isPlainObject(args))
    return refuse(400, "invalid_args", "args is a JSON object.");
  try {
    const ticket = await resolveApproval(desk, ticketId, {
      decision,
      by: localPerson(),
      owner: LOCAL_OWNER,
      ...(reason === undefined ? {} : { reason }),
      ...(args === undefined ? {} : { editedArgs: args as JsonObject }), // Proof: parsed from JSON
    });
    return Response.json({ approval: toBody(ticket) });
  } catch (cause) {
    if (!OpenFunctionsError.is(cause)) throw cause;
    return refuse(STATUS[cause.code] ?? 403, cause.code, cause.message);
  }
}

/** The answer of a route that the door does not open. */
export function doorClosed(): Response {
  return refuse(
    401,
    "approval_door",
    "Approvals are answered from the page, or with the bearer token of the data folder.",
  );
}

function toBody(ticket: ApprovalTicket): object {
  const { ticketId, runId, callId, threadId, toolName, args, summary, state, requestedAt, expiresAt } =
    ticket;
  return { ticketId, runId, callId, threadId, toolName, args, summary, state, requestedAt, expiresAt };
}

function refuse(status: number, code: string, message: string): Response {
  const error: ErrorBody = { code, message, retryable: false };
  return Response.json({ error }, { status });
}
