/** What was checked of a claim, by whom, and whether that was somebody else. */

import type { VerificationKind } from "./contract.ts";
import type { Digest } from "./digest.ts";
import { RecordError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { OutcomeClaim } from "./outcome-claim.ts";
import type { Principal } from "./principal.ts";
import { brokenRule } from "./record-rule.ts";
import type { PlanReference } from "./run-event.ts";
import type { RunRecord } from "./run-record.ts";

/** Who or what checked. `runId` is the run in which it did, where there is one. */
export interface Verifier {
  readonly id: string;
  readonly kind: "tool" | "program" | "model" | "human" | "external";
  readonly runId?: string;
  readonly principal?: Principal;
}

/** What was found, where. `summary` must hold no secret. */
export interface Evidence {
  readonly uri?: string;
  readonly digest?: Digest;
  readonly summary?: string;
}

/** One attempt at checking a claim. Append-only: a correction is a new one with `supersedes`. Times are ISO-8601. */
export interface Verification {
  readonly schema: "verification/1";
  readonly attemptId: string;
  readonly claimId: string;
  readonly plan?: PlanReference;
  readonly method: { readonly kind: VerificationKind; readonly params?: Json };
  readonly verifier: Verifier;
  /** Computed by `recordVerification`, never given. */
  readonly independent: boolean;
  readonly status: "passed" | "failed" | "inconclusive" | "errored";
  /** What the check covers, in the words of the claim's assertions and the policy. */
  readonly coverage: readonly string[];
  readonly evidence: readonly Evidence[];
  readonly startedAt: string;
  readonly performedAt: string;
  readonly supersedes?: string;
}

/** What the caller says of an attempt. */
export type VerificationInput = Omit<Verification, "schema" | "claimId" | "independent">;

const STATUSES: readonly string[] = ["passed", "failed", "inconclusive", "errored"];

/**
 * Records an attempt and computes whether its verifier is independent. `runs` are the records of the claim's tree of
 * runs, and that of the verifier's run where it names one. Pure. Throws `RecordError` where one of them is missing.
 */
export function recordVerification(
  claim: OutcomeClaim,
  input: VerificationInput,
  runs: readonly RunRecord[],
): Verification {
  checkInput(input);
  const { plan, supersedes, method, verifier } = input;
  return {
    schema: "verification/1",
    attemptId: input.attemptId,
    claimId: claim.claimId,
    ...(plan === undefined ? {} : { plan }),
    method,
    verifier,
    independent: isIndependent(claim, verifier, runs),
    status: input.status,
    coverage: input.coverage,
    evidence: input.evidence,
    startedAt: input.startedAt,
    performedAt: input.performedAt,
    ...(supersedes === undefined ? {} : { supersedes }),
  };
}

function checkInput({ status, startedAt, performedAt, method, verifier }: VerificationInput): void {
  if (!STATUSES.includes(status))
    throw new RecordError(`A verification is ${STATUSES.join(", ")}; not "${String(status)}".`);
  if (performedAt < startedAt)
    throw new RecordError(`A verification cannot end (${performedAt}) before it starts (${startedAt}).`);
  const byPerson = verifier.kind === "human" && (verifier.principal ?? { kind: "human" }).kind === "human";
  if (method.kind === "human_judgment" && !byPerson)
    throw new RecordError(`"human_judgment" is given by a person; the verifier "${verifier.id}" is none.`);
}

/** Invariant 13: not the claimer, outside the claim's tree of runs, and a model must have had another conversation. */
function isIndependent(claim: OutcomeClaim, verifier: Verifier, runs: readonly RunRecord[]): boolean {
  const claimed = findRun(runs, claim.runId);
  if (verifier.id === claim.claimedBy) return false;
  // What a model checked without a run of its own cannot be told from the conversation that made the claim.
  if (verifier.runId === undefined) return verifier.kind !== "model";
  const own = findRun(runs, verifier.runId);
  const { rootRunId } = claimed.lineage;
  if (own.lineage.rootRunId === rootRunId) return false;
  return verifier.kind !== "model" || !sharesConversation(own, rootRunId, runs);
}

function sharesConversation(own: RunRecord, rootRunId: string, runs: readonly RunRecord[]): boolean {
  const tree = runs.filter((run) => run.lineage.rootRunId === rootRunId);
  return tree.some(
    ({ runId, lineage }) =>
      own.lineage.forkOf?.runId === runId ||
      (own.lineage.threadId !== undefined && own.lineage.threadId === lineage.threadId),
  );
}

function findRun(runs: readonly RunRecord[], runId: string): RunRecord {
  const run = runs.find((one) => one.runId === runId);
  if (run === undefined)
    throw brokenRule(
      13,
      `Independence cannot be computed without the record of run "${runId}"; hand it along.`,
    );
  return run;
}
