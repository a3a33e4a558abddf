/** Answers a ticket, with arguments checked by the tool they are for. */

import type { ApprovalStore, ApprovalTicket, TicketAnswer } from "./approval-store.ts";
import { prepareArguments } from "./arguments.ts";
import { ApprovalError, InputError } from "./errors.ts";
import { inputOf } from "./execute.ts";
import type { ToolView } from "./tool-view.ts";

/** What an answer needs: the tickets, and the tools where arguments are edited. */
export interface ApprovalDoors {
  readonly approvals: ApprovalStore;
  readonly tools: ToolView;
}

/**
 * Approves or denies one ticket. Edited arguments pass the tool's schema first and make a new ticket, approved by the
 * same act. Throws `InputError` for arguments that do not fit, and what `ApprovalStore.resolve` throws.
 */
export async function resolveApproval(
  { approvals, tools }: ApprovalDoors,
  ticketId: string,
  answer: TicketAnswer,
): Promise<ApprovalTicket> {
  const { editedArgs } = answer;
  if (editedArgs === undefined) return approvals.resolve(ticketId, answer);
  const ticket = await approvals.get(ticketId);
  const tool = ticket === undefined ? undefined : tools.get(ticket.toolName);
  // Of a ticket that is not there, or not theirs, nobody learns what its tool takes.
  if (ticket?.owner !== answer.owner) return approvals.resolve(ticketId, answer);
  if (tool?.digest !== ticket.toolDigest) {
    throw new ApprovalError(`"${ticket.toolName}" is not the tool that ticket "${ticketId}" is for.`, {
      code: "approval_mismatch",
    });
  }
  const prepared = await prepareArguments(inputOf(tool), editedArgs, { origin: "program" });
  if (!prepared.ok) throw new InputError(prepared.message);
  return approvals.resolve(ticketId, { ...answer, editedArgs: prepared.args });
}
