/** What can happen in a run; every other account is a fold of it. */

import type { FinishReason, ReasoningEffort, Sampling, ToolChoice, Usage } from "./adapter.ts";
import type { AuthorityLevel, EffectKind } from "./contract.ts";
import { type Digest, digest, sha256 } from "./digest.ts";
import type { HistoryRepair } from "./history-linter.ts";
import { canonicalJson } from "./json.ts";
import type { Json } from "./json.ts";
import type { Message, Part } from "./message.ts";
import type { Principal } from "./principal.ts";
import type { Outcome } from "./result.ts";
import type { RunLimits } from "./run-limits.ts";
import type { Capture, Sealed } from "./sealed.ts";

/** What kind of work a run is. `call` is one direct tool call (MCP, HTTP, code). */
export type RunKind = "agent" | "chat_turn" | "workflow" | "crew" | "structured" | "llm_step" | "call";

/** Where a run stands in the tree of runs and tasks. */
export interface Lineage {
  readonly parentRunId?: string;
  readonly rootRunId: string;
  readonly correlationId: string;
  readonly taskId?: string;
  readonly threadId?: string;
  readonly turnIndex?: number;
  readonly attempt: number;
  readonly retryOf?: string;
  /** Why this attempt began although those calls of the one before may have taken effect. */
  readonly forced?: { readonly reason: string; readonly callIds: readonly string[] };
  /** The run and event this one was forked from. */
  readonly forkOf?: { readonly runId: string; readonly seq: number };
  readonly depth: number;
}

/** Which model was asked for, and why it. */
export interface RunModel {
  readonly provider: string;
  readonly requested: string;
  readonly role?: string;
  readonly resolvedBy: "explicit" | "environment" | "policy" | "injected";
  readonly policyVersion?: string;
  readonly reasoning?: ReasoningEffort;
  readonly sampling?: Sampling;
}

/** Why a run stopped (spec runs.md, table of states). */
export type StopReason =
  | "model_response"
  | "empty_response"
  | "structured_output"
  | "tool_result"
  | "max_rounds"
  | "tool_quota"
  | "time_budget"
  | "token_budget"
  | "cost_budget"
  | "output_truncated"
  | "repeated_calls"
  | "provider_error"
  | "refusal"
  | "content_filter"
  | "protocol_error"
  | "context_overflow"
  | "tool_effect_unknown"
  | "internal_error"
  | "caller_abort"
  | "deadline"
  | "parent_cancelled"
  | "shutdown"
  | "approval_denied"
  | "approval_required";

/** One tool as the run saw it. */
export interface ToolSummary {
  readonly name: string;
  readonly digest: Digest;
  readonly contractVersion: string;
  readonly effects: EffectKind;
}

/** A verification plan as a run pins it: which one, in which version, with which content. */
export interface PlanReference {
  readonly id: string;
  readonly version: string;
  readonly digest: Digest;
}

/** Who writes a log: a process, and its machine by `digest("host/1", hostname)`. */
export interface RunWriter {
  readonly pid: number;
  readonly host: Digest;
}

/** Everything that is fixed when a run starts. */
export interface RunStart {
  readonly kind: RunKind;
  readonly lineage: Lineage;
  readonly actor: { readonly name: string; readonly version?: string };
  readonly principal: Principal;
  readonly owner: string;
  readonly model?: RunModel;
  readonly capabilities: {
    readonly digest: Digest;
    readonly tools: readonly ToolSummary[];
    readonly definitions?: Sealed<Json>;
  };
  readonly authority: {
    readonly grants: readonly {
      readonly ref: string;
      readonly scopes: readonly string[];
      readonly expiresAt?: string;
    }[];
    readonly waivers: readonly string[];
  };
  /** What must be shown of the outcome before a claim of this run can fulfil its task. */
  readonly verificationPlan?: PlanReference;
  readonly limits: RunLimits;
  /** Turns from before this run. */
  readonly history?: Sealed<Json>;
  /** What else every request of this run says. */
  readonly request?: {
    readonly toolChoice?: ToolChoice;
    readonly parallelToolCalls?: boolean;
    readonly maxOutputTokens?: number;
    readonly responseFormat?: Sealed<Json>;
  };
  /** `process` is whoever writes the log, so that another process can tell whether it still lives. */
  readonly environment: {
    readonly runtime: string;
    readonly frameworkVersion: string;
    readonly process?: RunWriter;
  };
  /** The trace of the caller, where it sent one (W3C Trace Context, hexadecimal). */
  readonly traceContext?: { readonly traceId: string; readonly spanId: string };
  readonly capture: Capture;
  /** The key that will sign the log's head; false where nothing signs it, so that a missing seal is a finding. */
  readonly sealed: { readonly keyId: Digest } | false;
}

/** A failure as the record keeps it. */
export interface RecordedError {
  readonly code: string;
  readonly message: Sealed<string>;
  readonly retryable: boolean;
}

/** Where the arguments of a call come from. */
export type ArgsOrigin = "model" | "repaired" | "edited" | "program";

/** What the call pipeline settles before a handler may run. */
export interface CallRequest {
  readonly callId: string;
  readonly round: number;
  readonly index: number;
  readonly toolName: string;
  readonly toolDigest?: Digest;
  readonly args: Sealed<Json>;
  readonly argsOrigin: ArgsOrigin;
  readonly defaulted?: readonly string[];
  readonly droppedArgs?: readonly string[];
}

/** How authority was decided for a call. */
export interface CallAuthority {
  readonly level: AuthorityLevel;
  readonly decision: "not_required" | "granted" | "denied" | "pending";
  readonly grantRef?: string;
  readonly ticketId?: string;
}

/** Where an idempotency key comes from, and how far it holds; the key itself stays in the ledger. */
export interface CallIdempotency {
  readonly source: "caller" | "derived";
  readonly scope: "call" | "run" | "task";
}

/** A call a suspended run waits for. */
export interface PendingCall {
  readonly callId: string;
  readonly ticketId: string;
}

/** What each chain event carries. Content a person, model or tool wrote is sealed. */
export interface EventData {
  "run.started": RunStart;
  "run.completed": { readonly stopReason: StopReason; readonly output: Sealed<string> };
  "run.limit_reached": { readonly stopReason: StopReason; readonly partial?: Sealed<string> };
  "run.failed": { readonly stopReason: StopReason; readonly error: RecordedError };
  "run.cancelled": { readonly stopReason: StopReason; readonly reason: Sealed<string> };
  "run.suspended": { readonly stopReason: StopReason; readonly pending: readonly PendingCall[] };
  /** `drift` names what is not as it was when the run started (capabilities, instructions). */
  "run.resumed": {
    readonly drift?: readonly string[];
    readonly process?: RunWriter;
  };
  "prompt.composed": {
    readonly digest: Digest;
    readonly sections: readonly { readonly name: string; readonly digest: Digest; readonly chars: number }[];
    readonly text: Sealed<string>;
  };
  "context.built": {
    readonly providerId: string;
    readonly digest: Digest;
    readonly chars: number;
    readonly omitted?: "timeout" | "error" | "empty" | "over_budget";
  };
  "message.appended": { readonly role: Message["role"]; readonly message: Sealed<Message> };
  "history.repaired": { readonly repairs: readonly HistoryRepair[] };
  /** `before` and `after` count messages; `removed` is the digest of those that left or were changed. */
  "history.compacted": {
    readonly before: number;
    readonly after: number;
    readonly messages: Sealed<readonly Message[]>;
    readonly rules?: readonly string[];
    readonly tokensBefore?: number;
    readonly tokensAfter?: number;
    readonly removed?: Digest;
    readonly usage?: Usage;
  };
  "model.requested": { readonly round: number; readonly callSeq: number; readonly requestDigest: Digest };
  "model.responded": {
    readonly round: number;
    readonly callSeq: number;
    readonly finishReason: FinishReason;
    readonly usage: Usage;
    readonly latencyMs: number;
    readonly firstEventMs?: number;
    readonly responseId?: string;
    readonly reportedModel?: string;
    readonly toolCallIds: readonly string[];
    readonly reply: Sealed<readonly Part[]>;
    readonly warnings?: readonly { readonly code: string; readonly detail: string }[];
  };
  "model.retried": {
    readonly callSeq: number;
    readonly attempt: number;
    readonly reason: string;
    readonly delayMs: number;
  };
  "model.reset": { readonly callSeq: number; readonly reason: string; readonly partial?: Sealed<string> };
  "model.fallback": {
    readonly callSeq: number;
    readonly from: string;
    readonly to: string;
    readonly reason: string;
  };
  "model.failed": { readonly round: number; readonly callSeq: number; readonly error: RecordedError };
  "tools.revealed": { readonly names: readonly string[] };
  "tool.requested": CallRequest;
  "tool.refused": {
    readonly callId: string;
    readonly code: string;
    readonly authority: CallAuthority;
    readonly result: Sealed<Json>;
  };
  "tool.started": {
    readonly callId: string;
    readonly authority: CallAuthority;
    readonly idempotency?: CallIdempotency;
  };
  "tool.finished": {
    readonly callId: string;
    readonly outcome: Outcome;
    readonly code?: string;
    readonly durationMs: number;
    readonly result: Sealed<Json>;
    readonly cause?: Sealed<string>;
  };
  /** The call was answered from the ledger; its handler did not run. */
  "tool.replayed": {
    readonly callId: string;
    readonly authority: CallAuthority;
    readonly idempotency: CallIdempotency;
    readonly outcome: Outcome;
    readonly code?: string;
    /** The call whose result this is. */
    readonly replayOf: string;
    readonly result: Sealed<Json>;
  };
  /** What became of a call of unknown outcome was found out later. */
  "tool.reconciled": {
    readonly callId: string;
    readonly outcome: Outcome;
    readonly result?: Sealed<Json>;
  };
  "approval.requested": {
    readonly callId: string;
    readonly ticketId: string;
    readonly callDigest: Digest;
    readonly expiresAt: string;
  };
  "approval.resolved": {
    readonly callId: string;
    readonly ticketId: string;
    readonly decision: "approved" | "denied";
    readonly by: Principal;
    /** The ticket that these arguments replaced. */
    readonly editedFrom?: string;
    readonly reason?: Sealed<string>;
  };
  "approval.consumed": { readonly callId: string; readonly ticketId: string };
  /** A handler that outlived its call came to an end; its value was ignored. */
  "tool.settled": { readonly callId: string };
  "child.started": { readonly childRunId: string; readonly actor: string; readonly callId?: string };
  "child.finished": { readonly childRunId: string; readonly status: string };
}

/** The chain event types this version writes. */
export type ChainType = keyof EventData;

/** One event of the log: numbered, timed, chained. */
export interface RunEvent<T extends ChainType = ChainType> {
  readonly v: 1;
  readonly runId: string;
  /** From 0, without gaps. */
  readonly seq: number;
  /** ISO-8601 UTC with milliseconds; never goes back. */
  readonly at: string;
  readonly type: T;
  readonly data: EventData[T];
  readonly prev: Digest;
  readonly hash: Digest;
}

/** Any event, discriminated by `type`. */
export type AnyRunEvent = { readonly [T in ChainType]: RunEvent<T> }[ChainType];

/** Events outside the chain, lost on purpose when nobody listens. They name the chain event they follow. */
export interface LiveEvent {
  readonly runId: string;
  readonly after: number;
  readonly n: number;
  readonly type: "text.delta" | "reasoning.delta" | "call.delta" | "tool.progress";
  readonly data: Json;
}

/** True for the event a run ends with. */
export function isTerminal(type: string): boolean {
  return (
    type === "run.completed" ||
    type === "run.limit_reached" ||
    type === "run.failed" ||
    type === "run.cancelled"
  );
}

/** True for an event of the chain, false for a live one. */
export function isChainEvent(event: AnyRunEvent | LiveEvent): event is AnyRunEvent {
  return "seq" in event;
}

/** The `prev` of a run's first event. */
export function chainStart(runId: string): Digest {
  return digest("run/1", runId);
}

/** The hash of an event: covers every field but itself, sealed leaves by their `$sealed` alone. */
export function hashEvent(event: Omit<RunEvent, "hash">): Digest {
  const { v, runId, seq, at, type, data, prev } = event;
  // The canonical text of the event, its own keys written in their order.
  const value = `{"at":"${at}","data":${canonicalJson(data, sealedOnly)},"prev":"${prev}","runId":${JSON.stringify(runId)},"seq":${seq},"type":"${type}","v":${v}}`;
  return sha256(`{"t":"event/1","v":${value}}`);
}

function sealedOnly(object: Record<string, unknown>): Record<string, unknown> {
  return "$sealed" in object ? { $sealed: object["$sealed"] } : object;
}
