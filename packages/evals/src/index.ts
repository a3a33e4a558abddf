export { type RunDifference, compareRuns } from "./lib/compare-runs.ts";
export {
  type EvalCase,
  type EvalCheck,
  type EvalDefinition,
  type InputCase,
  type RecordedCase,
  defineEval,
} from "./lib/define-eval.ts";
export { formatReport } from "./lib/format-report.ts";
export { type Judgment } from "./lib/judge-run.ts";
export {
  type EvalCaseResult,
  type EvalFailure,
  type EvalReport,
  type EvalRunner,
  runEval,
} from "./lib/run-eval.ts";
export { type RunExpectation, expectRun } from "./lib/run-expectation.ts";
