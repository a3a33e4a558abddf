/** A run that did not give what its entry point promises. */

import { OpenFunctionsError } from "./errors.ts";
import type { RunRecord } from "./run-record.ts";

/** Thrown by entry points that promise a value; `run` is the record of the run that did not give it. */
export class RunError extends OpenFunctionsError {
  readonly run: RunRecord;
  constructor(message: string, options: { readonly run: RunRecord; readonly cause?: unknown }) {
    super(message, {
      code: "run_failed",
      cause: options.cause,
      details: { runId: options.run.runId, status: options.run.status, stopReason: options.run.stopReason },
    });
    this.run = options.run;
  }
}
