/** What stores share: the checks they make, their queries, and how a run is watched. For authors of stores. */

export { type FileLockOptions, withFileLock } from "./lib/file-lock.ts";
export { redactEvent } from "./lib/redact-event.ts";
export {
  checkRedaction,
  checkRunId,
  type HeldRun,
  isEnded,
  type RunBatch,
  runNotFound,
  statusAfter,
} from "./lib/run-append.ts";
export { RunFold } from "./lib/run-fold.ts";
export {
  planRunQuery,
  runCursor,
  type RunPlace,
  type RunPlan,
  type RunSummary,
  summarizeRun,
} from "./lib/run-query.ts";
export { RunBells, watchRun, type WatchSource, type WatchTarget } from "./lib/run-watch.ts";
export { checkLimit, checkStoreKey, checkStoreName, copyStoreValue, storeClosed } from "./lib/store.ts";
