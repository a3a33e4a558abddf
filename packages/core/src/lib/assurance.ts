/** What a policy makes of the attempts at verifying a claim. */

import type { VerificationKind } from "./contract.ts";
import { type Digest, digest } from "./digest.ts";
import { RecordError } from "./errors.ts";
import type { OutcomeClaim } from "./outcome-claim.ts";
import { requireRule } from "./record-rule.ts";
import type { PlanReference } from "./run-event.ts";
import type { Verification } from "./verification.ts";

/** What must be shown before a claim counts. At least one of `methods`, `coverage` and `humanGate` is needed. */
export interface AssurancePolicy {
  readonly id: string;
  readonly version: string;
  /** Each of these must have passed. */
  readonly methods?: readonly VerificationKind[];
  /** Each of these must be covered by an attempt that passed. */
  readonly coverage?: readonly string[];
  /** A person must have judged it. */
  readonly humanGate?: boolean;
  /** Only independent attempts count. */
  readonly requireIndependent?: boolean;
  /** How long a decision holds, in milliseconds. */
  readonly validForMs?: number;
}

/** What the attempts so far amount to under one policy. */
export interface Assurance {
  readonly schema: "assurance/1";
  readonly bundleId: string;
  readonly claimId: string;
  /** Absent where there was no policy; the decision is `incomplete` then. */
  readonly policy?: PlanReference;
  /** Ids of the attempts that were looked at. */
  readonly attempts: readonly string[];
  readonly decision: "satisfied" | "unsatisfied" | "incomplete";
  readonly reasons: readonly AssuranceReason[];
  /** ISO-8601. */
  readonly decidedAt: string;
  readonly expiresAt?: string;
}

/** Why a decision is not `satisfied`. */
export interface AssuranceReason {
  readonly code: "method_failed" | "method_missing" | "coverage_missing" | "human_gate" | "no_policy";
  readonly detail: string;
}

/** The attempts to weigh, and what the decision is to be called. */
export interface AssuranceInput {
  readonly bundleId: string;
  /** ISO-8601. */
  readonly decidedAt: string;
  readonly attempts: readonly Verification[];
}

/** The policy as `verificationPlan` of a run pins it. */
export function pinPolicy(policy: AssurancePolicy): PlanReference {
  return { id: policy.id, version: policy.version, digest: digest("policy/1", policy) };
}

/** Weighs the attempts under the policy. Pure. Throws `RecordError` for a policy that asks for nothing. */
export function evaluateAssurance(
  claim: OutcomeClaim,
  policy: AssurancePolicy | undefined,
  input: AssuranceInput,
): Assurance {
  const { attempts, bundleId, decidedAt } = input;
  checkAttempts(claim, attempts);
  const reasons = policy === undefined ? [NO_POLICY] : weigh(policy, attempts);
  const failed = reasons.some(({ code }) => code === "method_failed");
  return {
    schema: "assurance/1",
    bundleId,
    claimId: claim.claimId,
    ...(policy === undefined ? {} : { policy: pinPolicy(policy) }),
    attempts: attempts.map(({ attemptId }) => attemptId),
    decision: failed ? "unsatisfied" : reasons.length > 0 ? "incomplete" : "satisfied",
    reasons,
    decidedAt,
    ...(policy?.validForMs === undefined
      ? {}
      : { expiresAt: new Date(Date.parse(decidedAt) + policy.validForMs).toISOString() }),
  };
}

const NO_POLICY: AssuranceReason = { code: "no_policy", detail: "No policy says what would be enough." };

function checkAttempts({ claimId }: OutcomeClaim, attempts: readonly Verification[]): void {
  const other = attempts.find((attempt) => attempt.claimId !== claimId);
  if (other !== undefined)
    throw new RecordError(
      `Attempt "${other.attemptId}" is about claim "${other.claimId}", not "${claimId}".`,
    );
  if (new Set(attempts.map(({ attemptId }) => attemptId)).size < attempts.length)
    throw new RecordError("Two attempts have the same id.");
}

/** Invariants 14 to 17: everything that stands between the attempts and `satisfied`. */
function weigh(policy: AssurancePolicy, attempts: readonly Verification[]): readonly AssuranceReason[] {
  const { id, coverage = [], methods = [], humanGate = false, requireIndependent = false } = policy;
  const asks = methods.length > 0 || coverage.length > 0 || humanGate;
  requireRule(asks, 14, `Policy "${id}" asks for no method, coverage or person, so it proves nothing.`);
  const cells = liveCells(attempts.filter((attempt) => attempt.independent || !requireIndependent));
  const missing = requireIndependent ? "No independent attempt" : "No attempt";
  return [
    ...methods.flatMap((method) => methodReasons(cells, method, missing)),
    ...coverage.flatMap((item) =>
      verdict(cells.filter((cell) => cell.item === item)) === "passed"
        ? []
        : [{ code: "coverage_missing" as const, detail: `${missing} shows "${item}" beyond a live doubt.` }],
    ),
    ...(humanGate && !methods.includes("human_judgment") ? humanReasons(cells, missing) : []),
  ];
}

function methodReasons(
  cells: readonly Cell[],
  method: VerificationKind,
  missing: string,
): readonly AssuranceReason[] {
  const found = verdict(cells.filter((cell) => cell.method === method));
  if (found === "passed") return [];
  if (found === "failed") return [{ code: "method_failed", detail: `Required method "${method}" failed.` }];
  return [{ code: "method_missing", detail: `${missing} of required method "${method}" passed.` }];
}

function humanReasons(cells: readonly Cell[], missing: string): readonly AssuranceReason[] {
  return methodReasons(cells, "human_judgment", missing).map(({ code, detail }) => ({
    code: code === "method_failed" ? code : "human_gate",
    detail,
  }));
}

/** The attempt that decides for one method and one thing covered. */
interface Cell {
  readonly method: VerificationKind;
  /** Undefined for an attempt that says nothing of coverage. */
  readonly item: string | undefined;
  readonly status: Verification["status"];
}

/** Invariant 15: per method and coverage the latest attempt that no later one supersedes. */
function liveCells(attempts: readonly Verification[]): readonly Cell[] {
  const inOrder = [...attempts].sort((left, right) => compare(left.performedAt, right.performedAt));
  const live = inOrder.filter(
    ({ attemptId }, index) => !inOrder.slice(index + 1).some((later) => later.supersedes === attemptId),
  );
  const cells = new Map<Digest, Cell>();
  for (const { method, coverage, status } of live) {
    for (const item of coverage.length === 0 ? [undefined] : coverage)
      cells.set(digest("cell/1", { method: method.kind, item }), { method: method.kind, item, status });
  }
  return [...cells.values()];
}

/** One live failure outweighs every pass; what errored or stayed open is neither. */
function verdict(cells: readonly Cell[]): "passed" | "failed" | "open" {
  if (cells.some(({ status }) => status === "failed")) return "failed";
  return cells.some(({ status }) => status === "passed") ? "passed" : "open";
}

function compare(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}
