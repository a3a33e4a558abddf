/** The fold: what ran, under which limits, how it ended. */

import type { FinishReason, Usage } from "./adapter.ts";
import type { Digest } from "./digest.ts";
import type { Json } from "./json.ts";
import type { Outcome } from "./result.ts";
import type {
  ArgsOrigin,
  CallAuthority,
  CallIdempotency,
  EventData,
  PendingCall,
  RecordedError,
  RunModel,
  RunStart,
  StopReason,
} from "./run-event.ts";
import type { Sealed } from "./sealed.ts";

/** How a run stands. */
export type RunStatus = "running" | "suspended" | "completed" | "limit_reached" | "failed" | "cancelled";

/** One model call of a run. Times are milliseconds. */
export interface ModelCallRecord {
  readonly round: number;
  readonly callSeq: number;
  readonly requestDigest: Digest;
  readonly responseId?: string;
  readonly reportedModel?: string;
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  readonly latencyMs: number;
  readonly firstEventMs?: number;
  readonly retries: number;
  readonly toolCallIds: readonly string[];
}

/** One tool call of a run. Times are ISO-8601, durations milliseconds. */
export interface ToolCallRecord {
  readonly callId: string;
  readonly runId: string;
  readonly round: number;
  readonly index: number;
  readonly toolName: string;
  readonly toolDigest?: Digest;
  readonly args: Sealed<Json>;
  readonly argsOrigin: ArgsOrigin;
  readonly defaulted?: readonly string[];
  readonly droppedArgs?: readonly string[];
  readonly authority?: CallAuthority;
  readonly idempotency?: CallIdempotency & { readonly replayOf?: string };
  readonly requestedAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly durationMs?: number;
  readonly outcome: Outcome;
  readonly code?: string;
  readonly result?: Sealed<Json>;
  readonly lateSettlement?: true;
  /** What became of an unknown outcome was found out later. */
  readonly reconciled?: true;
}

/** What a run did to the world, computed from its calls. */
export interface RunEffects {
  readonly summary: "none" | "read_only" | "committed" | "partial";
  readonly certainty: "known" | "unknown";
  /** Calls of unknown outcome: somebody has to look. */
  readonly verificationRequired: readonly string[];
}

/** Everything there is to know of a run, computed from its events. Optional fields are absent, never null. */
export interface RunRecord extends Omit<RunStart, "model"> {
  readonly schema: "run/1";
  readonly runId: string;
  readonly model?: RunModel & { readonly reported: readonly string[] };
  readonly instructions?: Pick<EventData["prompt.composed"], "digest" | "sections">;
  readonly context: readonly (EventData["context.built"] & { readonly builtAt: string })[];
  readonly status: RunStatus;
  readonly stopReason?: StopReason;
  readonly startedAt: string;
  readonly endedAt?: string;
  /** Model calls made. */
  readonly rounds: number;
  readonly usage: Usage;
  /** `input + cacheRead + cacheWrite` of the last model call: how full the window is. */
  readonly lastRequestTokens: number;
  readonly modelCalls: readonly ModelCallRecord[];
  readonly toolCalls: readonly ToolCallRecord[];
  readonly children: readonly { readonly runId: string; readonly actor: string; readonly status: string }[];
  readonly effects: RunEffects;
  /** What a suspended run waits for. */
  readonly pending?: readonly PendingCall[];
  readonly output?: Sealed<string>;
  readonly error?: RecordedError;
  readonly cancellation?: {
    readonly requestedAt: string;
    readonly reason: Sealed<string>;
    readonly effects: "none" | "partial" | "committed" | "unknown";
  };
  readonly head: Digest;
}
