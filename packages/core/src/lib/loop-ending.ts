/** How a run is to end, before its terminal event is written. */

import type { OpenFunctionsError } from "./errors.ts";
import type { PendingCall, StopReason } from "./run-event.ts";

/** How a run is to end. */
export type Ending =
  | { readonly status: "completed"; readonly stopReason: StopReason; readonly text: string }
  | { readonly status: "limit_reached"; readonly stopReason: StopReason; readonly partial?: string }
  | {
      readonly status: "failed";
      readonly stopReason: StopReason;
      readonly message: string;
      readonly error?: OpenFunctionsError;
    }
  | {
      readonly status: "suspended";
      readonly stopReason: StopReason;
      readonly pending: readonly PendingCall[];
    }
  | { readonly status: "cancelled"; readonly stopReason: StopReason; readonly reason: string };
