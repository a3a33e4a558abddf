/** The context of one run: its place in the tree, who it acts for, what it may spend. */

import type { Grant, Principal } from "./principal.ts";
import type { Ports } from "./ports.ts";
import { type RunLimits, smallerLimits } from "./run-limits.ts";

/** What every call and child of a run can see of it. */
export interface RunContext {
  readonly runId: string;
  readonly rootRunId: string;
  readonly correlationId: string;
  /** The task this run is an attempt at. */
  readonly taskId?: string;
  /** The conversation this run is a turn of. */
  readonly threadId?: string;
  readonly depth: number;
  readonly ancestors: readonly string[];
  readonly principal: Principal;
  /** Whose data the run works on. */
  readonly owner: string;
  readonly grants: readonly Grant[];
  readonly limits: RunLimits;
  readonly signal: AbortSignal;
  readonly ports: Ports;
}

/** What a child run may change: it can only narrow. */
export interface ChildRun {
  readonly runId?: string;
  readonly limits?: Partial<RunLimits>;
  /** References of the parent's grants that the child keeps. Default: all of them. */
  readonly grantRefs?: readonly string[];
  readonly signal?: AbortSignal;
}

/** The context of a child: inherits root, correlation, owner and principal; limits and grants only shrink. */
export function childContext(parent: RunContext, overrides: ChildRun = {}): RunContext {
  const { grantRefs } = overrides;
  return {
    runId: overrides.runId ?? parent.ports.ids(),
    rootRunId: parent.rootRunId,
    correlationId: parent.correlationId,
    ...(parent.threadId === undefined ? {} : { threadId: parent.threadId }),
    ...(parent.taskId === undefined ? {} : { taskId: parent.taskId }),
    depth: parent.depth + 1,
    ancestors: [...parent.ancestors, parent.runId],
    principal: parent.principal,
    owner: parent.owner,
    grants:
      grantRefs === undefined
        ? parent.grants
        : parent.grants.filter((grant) => grantRefs.includes(grant.ref)),
    limits: smallerLimits(parent.limits, overrides.limits ?? {}),
    signal:
      overrides.signal === undefined ? parent.signal : AbortSignal.any([parent.signal, overrides.signal]),
    ports: parent.ports,
  };
}
