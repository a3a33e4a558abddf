/** Record files: writing, reading, sealing, redacting and verifying them. For whoever keeps or checks records. */

export { checkLog } from "./lib/check-log.ts";
export {
  type RecordContent,
  decodeRecordLine,
  encodeRecordLine,
  exportRun,
  readRecord,
} from "./lib/record-file.ts";
export type { Finding, FindingKind, VerifyResult, VerifyStatus } from "./lib/record-finding.ts";
export type { RecordLine, RecordSigner, RedactionLine, RunAnnex, SealLine } from "./lib/record-line.ts";
export { MAX_LINE_BYTES, type RecordBytes } from "./lib/record-lines.ts";
export type { RecordPlace } from "./lib/record-sequence.ts";
export { type RedactionBase, type RedactionRequest, makeRedaction, redactLeaf } from "./lib/run-redact.ts";
export { type SealInput, createSigner, keyIdOf, sealRun, verifySeal } from "./lib/run-seal.ts";
export { type VerifyOptions, verifyRun } from "./lib/run-verify.ts";
export {
  type Assurance,
  type AssuranceInput,
  type AssurancePolicy,
  type AssuranceReason,
  evaluateAssurance,
  pinPolicy,
} from "./lib/assurance.ts";
export { type ExplainOptions, explainRun } from "./lib/explain-run.ts";
export { type PrefixChange, type PrefixReport, lintPrefix } from "./lib/lint-prefix.ts";
export { type FulfillmentInput, type TaskFulfillment, decideFulfillment } from "./lib/fulfillment.ts";
export {
  type ClaimArtifact,
  type ClaimAssertion,
  type ClaimInput,
  type OutcomeClaim,
  type StateChange,
  claimOutcome,
  retireClaim,
} from "./lib/outcome-claim.ts";
export { type RetryOptions, checkRetry } from "./lib/retry-check.ts";
export {
  type Evidence,
  type Verification,
  type VerificationInput,
  type Verifier,
  recordVerification,
} from "./lib/verification.ts";
export { type ReadbackOptions, verifyReadback } from "./lib/verify-readback.ts";
export { type ForkOptions, forkRun } from "./lib/fork-run.ts";
export {
  ReplayError,
  type ReplayMiss,
  type ReplayOptions,
  type ReplayReport,
  replayRun,
} from "./lib/replay-run.ts";
