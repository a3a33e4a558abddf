/** What resuming, replaying and forking put into the one loop; an ordinary run has none of it. */

import type { ToolCall } from "./adapter.ts";
import type { CallContext } from "./call-context.ts";
import type { RecordedRun } from "./recorded-run.ts";
import type { Resumption } from "./resume-run.ts";
import type { CallResult } from "./result.ts";

/** Hooks of one loop. */
export interface LoopHooks {
  /** The log this run goes on with. */
  readonly resumption?: Resumption;
  /** The record this run is made again beside: its facts and its calls come from there. */
  readonly replay?: RecordedRun;
  /** Answers a call in the registry's place; undefined lets it run. */
  answer?(call: ToolCall, context: CallContext): CallResult | undefined;
}
