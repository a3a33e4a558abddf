/** A verification as the log event that the conventions have for evaluations. */

import { type Attributes, type Context, context } from "@opentelemetry/api";
import type { Verification } from "@openfunctions/core/records";
import { EVALUATION_EVENT, GEN_AI, OWN } from "./semantic-names.ts";

/** The part of an OpenTelemetry logger that is used; `logs.getLogger(name)` gives one. */
export interface EventLogger {
  emit(record: {
    readonly eventName: string;
    readonly timestamp: Date;
    readonly context: Context;
    readonly attributes: Attributes;
  }): void;
}

/** Reports a verification: its method, status, and score 1 or 0 where it decided. Evidence stays in the record. */
export function emitEvaluation(logger: EventLogger, verification: Verification, runId: string): void {
  const { method, status, attemptId, claimId, independent, performedAt } = verification;
  logger.emit({
    eventName: EVALUATION_EVENT,
    timestamp: new Date(performedAt),
    context: context.active(),
    attributes: {
      [GEN_AI.evaluationName]: method.kind,
      [GEN_AI.evaluationLabel]: status,
      ...(status === "passed" ? { [GEN_AI.evaluationScore]: 1 } : {}),
      ...(status === "failed" ? { [GEN_AI.evaluationScore]: 0 } : {}),
      [OWN.runId]: runId,
      [OWN.claimId]: claimId,
      [OWN.attemptId]: attemptId,
      [OWN.independent]: independent,
    },
  });
}
