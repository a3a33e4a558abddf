/** What a run is given, and what it gives back. */

import type {
  AIAdapter,
  ModelReply,
  ReasoningEffort,
  ResponseFormat,
  Sampling,
  ToolChoice,
  Usage,
} from "./adapter.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { BuiltContext } from "./context-prompt.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import type { OpenFunctionsError } from "./errors.ts";
import type { Logger } from "./logger.ts";
import type { Compactor } from "./loop-compaction.ts";
import type { Message } from "./message.ts";
import type { Ports } from "./ports.ts";
import type { Grant, Principal } from "./principal.ts";
import type { CallResult } from "./result.ts";
import type { RunContext } from "./run-context.ts";
import type { RunLimits } from "./run-limits.ts";
import type { RecordSigner } from "./record-line.ts";
import type {
  AnyRunEvent,
  Lineage,
  LiveEvent,
  PendingCall,
  PlanReference,
  RunKind,
  RunModel,
  StopReason,
} from "./run-event.ts";
import type { RunRecord, RunStatus } from "./run-record.ts";
import type { RunStore } from "./run-store.ts";
import type { Capture, Redact } from "./sealed.ts";
import type { ComposedSection } from "./prompt.ts";
import type { ToolView } from "./tool-view.ts";

/** What an entry point makes of a reply, where "answered" is not enough (structured output). */
export interface ReplyPolicy {
  /** A reply that asks for no tool. */
  onAnswer(reply: ModelReply): ReplyVerdict | Promise<ReplyVerdict>;
  /** The results of a reply's calls, in order. */
  onResults(results: readonly CallResult[]): ReplyVerdict;
}

/** Accept ends the run; `ask_again` sends the text as the next user message; `continue` goes on. */
export type ReplyVerdict =
  | {
      readonly type: "accept";
      readonly stopReason: "model_response" | "structured_output";
      readonly text: string;
    }
  | { readonly type: "ask_again"; readonly message: string }
  | { readonly type: "give_up"; readonly error: OpenFunctionsError }
  | { readonly type: "continue" };

/** Options of `runLoop`. */
export interface LoopOptions {
  readonly adapter: AIAdapter;
  /** The tools; the run works on a snapshot taken at its start. Default none. */
  readonly tools?: ToolView;
  /** The whole history with the new input at its end. */
  readonly messages: readonly Message[];
  /** How many of `messages` were there before this run; the rest is recorded as its input. Default: all but the last. */
  readonly known?: number;
  /** Instructions: text, or composed sections. */
  readonly system?: string | readonly ComposedSection[];
  /** What context providers gave; stands after the stable sections. */
  readonly context?: BuiltContext;
  /** Default `agent`. */
  readonly kind?: RunKind;
  /** Default `{ name: "agent" }`. */
  readonly actor?: { readonly name: string; readonly version?: string };
  readonly runId?: string;
  readonly lineage?: Partial<Omit<Lineage, "depth">>;
  /** The run that starts this one; limits, grants, owner and principal come from it. */
  readonly parent?: RunContext;
  readonly principal?: Principal;
  /** Default `local`. */
  readonly owner?: string;
  readonly grants?: readonly Grant[];
  readonly limits?: Partial<RunLimits>;
  readonly model?: Partial<RunModel>;
  /** What must be shown of the outcome, fixed before the run: `pinPolicy(policy)`. */
  readonly verificationPlan?: PlanReference;
  readonly toolChoice?: ToolChoice;
  readonly parallelToolCalls?: boolean;
  readonly sampling?: Sampling;
  readonly reasoning?: ReasoningEffort;
  readonly maxOutputTokens?: number;
  readonly responseFormat?: ResponseFormat;
  readonly signal?: AbortSignal;
  readonly ports?: Partial<Ports>;
  readonly logger?: Logger;
  readonly store?: RunStore;
  /** Where calls that need a person are asked about. Default: the registry's; without one they are refused. */
  readonly approvals?: ApprovalStore;
  /** The account of calls with effects. Default: the registry's. */
  readonly ledger?: EffectLedger;
  /** Signs the record's head when the run has ended; the store keeps the seal. */
  readonly signer?: RecordSigner;
  /** Default `digest`. */
  readonly capture?: Capture;
  /** Default: the built-in redactor of secrets. */
  readonly redact?: Redact;
  /** Default `fail_closed` when a write tool is in the snapshot, else `warn`. */
  readonly onStoreFailure?: "fail_closed" | "warn";
  /** What a write of unknown outcome does to the run: default goes on, telling the model not to repeat it. */
  readonly onUnknownEffect?: "continue" | "stop";
  /** What a person's "no" does to the run: default goes on, telling the model why. */
  readonly onDenied?: "continue" | "stop";
  /** How often a model call that broke after content is asked again. Default 1. */
  readonly streamRetries?: number;
  readonly compactor?: Compactor;
  readonly policy?: ReplyPolicy;
}

/** How a run ended, or that it waits for a person (`suspended`). `text` is the final answer, or "" at a limit. */
export interface LoopResult {
  readonly runId: string;
  readonly status: Exclude<RunStatus, "running">;
  readonly stopReason: StopReason;
  readonly text: string;
  /** What a reply that was cut had said. */
  readonly partial?: string;
  /** What a suspended run waits for: answer the tickets, then `resumeRun`. */
  readonly pending?: readonly PendingCall[];
  /** The history with everything this run added, whole. */
  readonly messages: readonly Message[];
  /** What a compactor made of it; the next turn may begin with this one, so that it is not shortened again. */
  readonly compacted?: readonly Message[];
  readonly usage: Usage;
  readonly record: RunRecord;
  /** Why a run failed. */
  readonly error?: OpenFunctionsError;
}

/**
 * A run under way. Iterating gives its events; leaving the iteration early aborts the run, not iterating at all
 * does not. `result` always resolves.
 */
export interface LoopRun extends AsyncIterable<AnyRunEvent | LiveEvent> {
  readonly runId: string;
  readonly result: Promise<LoopResult>;
  /** Stops the run; every signal fires at once. */
  abort(reason?: unknown): void;
  /** Adds a user message before the next model call. */
  steer(message: string): void;
}
