/** What resuming, replaying and forking put into the one loop; an ordinary run has none of it. */

import type { ApprovalTicket } from "./approval-store.ts";
import type { ScopeAnswerer } from "./call-context.ts";
import type { RecordedRun } from "./recorded-run.ts";
import type { RebuiltHistory } from "./rebuild-history.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { RunRecord } from "./run-record.ts";

/** A log to go on with. */
export interface Resumption {
  readonly events: readonly AnyRunEvent[];
  readonly record: RunRecord;
  readonly history: RebuiltHistory;
  readonly tickets: readonly ApprovalTicket[];
  readonly drift: readonly string[];
}

/** Hooks of one loop. */
export interface LoopHooks {
  /** The log this run goes on with. */
  readonly resumption?: Resumption;
  /** The record this run is made again beside: its facts and its calls come from there. */
  readonly replay?: RecordedRun;
  /** Answers calls in their handlers' place. */
  readonly answer?: ScopeAnswerer;
}
