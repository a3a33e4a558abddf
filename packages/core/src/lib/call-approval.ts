/** A call that needs a person: finds, uses or asks for its ticket (spec runs.md section 7). */

import { type ApprovalStore, type ApprovalTicket, type TicketCall, holdsSecret } from "./approval-store.ts";
import type { AuthorityVerdict } from "./authority.ts";
import type { CallJournal } from "./call-context.ts";
import { describeThrown } from "./describe-thrown.ts";
import { OpenFunctionsError } from "./errors.ts";
import type { Logger } from "./logger.ts";
import type { JsonObject } from "./json.ts";
import type { CallAuthority } from "./run-event.ts";

/** The call at the gate. `verdict` said that it needs approval. */
export interface ApprovalOrder {
  readonly call: TicketCall;
  readonly verdict: AuthorityVerdict;
  readonly journal: CallJournal | undefined;
  readonly logger: Logger;
}

/** What a ticket makes of a call. */
export type ApprovalVerdict =
  | {
      readonly type: "granted";
      readonly authority: CallAuthority;
      readonly ticketId: string;
      readonly args?: JsonObject;
    }
  | {
      readonly type: "refused";
      readonly authority: CallAuthority;
      readonly code: RefusalCode;
      readonly message: string;
    }
  /** Nobody was asked, and nobody has to be. */
  | { readonly type: "free"; readonly authority: CallAuthority }
  /** Asked for, not answered: the call has not ended. */
  | {
      readonly type: "pending";
      readonly authority: CallAuthority;
      readonly ticketId: string;
      readonly message: string;
    };

type RefusalCode =
  | "not_permitted"
  | "approval_expired"
  | "approval_used"
  | "approval_mismatch"
  | "store_failed";

/** Looks the call's ticket up, and asks for one where there is none. */
export async function settleApproval(
  approvals: ApprovalStore,
  order: ApprovalOrder,
): Promise<ApprovalVerdict> {
  const { call } = order;
  try {
    const ticket = await approvals.find(call.runId, call.callId);
    if (ticket !== undefined) return answerOf(ticket, order);
    if (order.verdict.refusal === undefined) return { type: "free", authority: order.verdict.authority };
    return await ask(approvals, order);
  } catch (cause) {
    order.logger.error("A ticket could not be looked up.", { cause: describeThrown(cause) });
    return refuse(
      order,
      "store_failed",
      `The approval of "${call.toolName}" could not be looked up. It did not run.`,
    );
  }
}

/** Uses an approved ticket up; the last step before the call runs. */
export async function consumeApproval(
  approvals: ApprovalStore,
  ticketId: string,
  order: ApprovalOrder,
): Promise<ApprovalVerdict> {
  const authority = { ...order.verdict.authority, decision: "granted" as const, ticketId };
  try {
    await approvals.consume(ticketId, order.call);
  } catch (cause) {
    if (!OpenFunctionsError.is(cause) || !isRefusal(cause.code)) {
      order.logger.error("A ticket could not be used.", { cause: describeThrown(cause) });
      return refuse(
        order,
        "store_failed",
        `The approval of "${order.call.toolName}" could not be used. It did not run.`,
      );
    }
    return refuse(order, cause.code, `${cause.message} "${order.call.toolName}" did not run.`);
  }
  order.journal?.emit("approval.consumed", { callId: order.call.callId, ticketId });
  return { type: "granted", authority, ticketId };
}

function answerOf(ticket: ApprovalTicket, order: ApprovalOrder): ApprovalVerdict {
  const { toolName } = order.call;
  switch (ticket.state) {
    case "approved": {
      const authority = {
        ...order.verdict.authority,
        decision: "granted" as const,
        ticketId: ticket.ticketId,
      };
      const edited = ticket.editedFrom === undefined ? {} : { args: ticket.args };
      return { type: "granted", authority, ticketId: ticket.ticketId, ...edited };
    }
    case "denied": {
      const why = ticket.reason === undefined ? "" : `: ${ticket.reason}`;
      return refuse(order, "not_permitted", `A person denied "${toolName}"${why}. It did not run.`);
    }
    case "expired":
      return refuse(order, "approval_expired", `The approval of "${toolName}" has expired. It did not run.`);
    case "pending":
      return pending(ticket, order);
    default:
      return refuse(
        order,
        "approval_used",
        `The approval of "${toolName}" was used already. It did not run again.`,
      );
  }
}

async function ask(approvals: ApprovalStore, order: ApprovalOrder): Promise<ApprovalVerdict> {
  const { call } = order;
  if (holdsSecret(call.args)) {
    const why = "its arguments hold what looks like a secret, which no record keeps until somebody answers";
    return refuse(
      order,
      "not_permitted",
      `"${call.toolName}" needs approval and cannot wait for it: ${why}.`,
    );
  }
  const { ticketId, callDigest, expiresAt } = await approvals.request(call);
  order.journal?.emit("approval.requested", { callId: call.callId, ticketId, callDigest, expiresAt });
  return pending({ ticketId }, order);
}

function pending(
  { ticketId }: Pick<ApprovalTicket, "ticketId">,
  { verdict, call }: ApprovalOrder,
): ApprovalVerdict {
  const message = verdict.refusal?.message ?? `"${call.toolName}" waits for approval. It did not run.`;
  return {
    type: "pending",
    authority: { ...verdict.authority, decision: "pending", ticketId },
    ticketId,
    message,
  };
}

function refuse(order: ApprovalOrder, code: RefusalCode, message: string): ApprovalVerdict {
  return { type: "refused", authority: { ...order.verdict.authority, decision: "denied" }, code, message };
}

function isRefusal(code: string): code is RefusalCode {
  return code.startsWith("approval_") && code !== "approval_required";
}
