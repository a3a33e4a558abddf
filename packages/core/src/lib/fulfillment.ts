/** The decision about a task: whether what a run claimed, and what was shown of it, is enough. */

import type { Assurance } from "./assurance.ts";
import { RecordError } from "./errors.ts";
import type { OutcomeClaim } from "./outcome-claim.ts";
import { brokenRule, requireRule } from "./record-rule.ts";
import type { RunRecord } from "./run-record.ts";

/** A decision about a task. Append-only: a correction is a new one with `supersedes`. */
export interface TaskFulfillment {
  readonly schema: "fulfillment/1";
  readonly decisionId: string;
  readonly taskId: string;
  readonly claimId: string;
  readonly bundleId: string;
  readonly status: "fulfilled" | "unfulfilled" | "undetermined";
  readonly decidedBy: string;
  /** ISO-8601. */
  readonly decidedAt: string;
  readonly reason: string;
  readonly supersedes?: string;
  /** Who decided against what was shown, and why. */
  readonly override?: { readonly by: string; readonly reason: string };
}

/** What the decider says. `run` is the record of the run that made the claim. */
export interface FulfillmentInput extends Omit<TaskFulfillment, "schema" | "claimId" | "bundleId"> {
  readonly run: RunRecord;
}

/**
 * Records the decision about a task. `fulfilled` needs a satisfied bundle, still valid, for an asserted claim under
 * the plan that the run pinned, or an override. Pure. Throws `RecordError` naming the invariant.
 */
export function decideFulfillment(
  claim: OutcomeClaim,
  bundle: Assurance,
  input: FulfillmentInput,
): TaskFulfillment {
  const { taskId, status, override, supersedes } = input;
  const task = claim.taskId ?? "none";
  requireRule(taskId === claim.taskId, 18, `The claim is about task "${task}", not about "${taskId}".`);
  requireRule(
    bundle.claimId === claim.claimId && input.run.runId === claim.runId,
    18,
    `Bundle "${bundle.bundleId}", run "${input.run.runId}" and claim "${claim.claimId}" do not belong together.`,
  );
  if (override !== undefined && (override.by.trim() === "" || override.reason.trim() === ""))
    throw brokenRule(18, 'An override needs "by" and "reason".');
  if (status === "fulfilled") checkFulfilled(claim, bundle, input);
  else if (override !== undefined)
    throw new RecordError(`Only "fulfilled" needs an override; "${status}" may always be decided.`);
  return {
    schema: "fulfillment/1",
    decisionId: input.decisionId,
    taskId,
    claimId: claim.claimId,
    bundleId: bundle.bundleId,
    status,
    decidedBy: input.decidedBy,
    decidedAt: input.decidedAt,
    reason: input.reason,
    ...(supersedes === undefined ? {} : { supersedes }),
    ...(override === undefined ? {} : { override: { by: override.by, reason: override.reason } }),
  };
}

function checkFulfilled(claim: OutcomeClaim, bundle: Assurance, input: FulfillmentInput): void {
  requireRule(claim.state === "asserted", 18, `Claim "${claim.claimId}" is ${claim.state}.`);
  if (input.override !== undefined) return;
  const hint = 'decide "undetermined", or override with "by" and "reason"';
  requireRule(bundle.decision === "satisfied", 18, `The bundle is ${bundle.decision}; ${hint}.`);
  const isValid = bundle.expiresAt === undefined || input.decidedAt <= bundle.expiresAt;
  requireRule(isValid, 18, `The bundle expired at ${bundle.expiresAt}; evaluate it again.`);
  const { verificationPlan: plan } = input.run;
  if (plan === undefined) throw brokenRule(18, `The run pinned no verification plan; ${hint}.`);
  const { policy } = bundle;
  const isPinned = policy?.id === plan.id && policy.version === plan.version && policy.digest === plan.digest;
  requireRule(
    isPinned,
    18,
    `The bundle was decided under another plan than "${plan.id}" of the run; ${hint}.`,
  );
}
