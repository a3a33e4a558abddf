/** What a caller says about a call, and what the pipeline keeps while it runs. */

import type { ArtifactStore } from "./artifact.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { PolicyPort } from "./authority.ts";
import type { CallGuard } from "./call-guard.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import type { StoreError } from "./errors.ts";
import type { CallGate, KeyedLock } from "./gate.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Ports } from "./ports.ts";
import type { Grant, Principal } from "./principal.ts";
import type { CallResult, Outcome } from "./result.ts";
import type { RunContext } from "./run-context.ts";
import type { ChainType, EventData } from "./run-event.ts";
import type { Sealer } from "./sealed.ts";
import type { Tool } from "./tool.ts";

/** Options of one `execute`. Everything has a default: a direct call from code by the local program. */
export interface CallContext {
  /** Default: a fresh id. */
  readonly callId?: string;
  /** The run the call belongs to; principal, owner, grants, signal and ports come from it unless given here. */
  readonly run?: RunContext;
  readonly signal?: AbortSignal;
  readonly principal?: Principal;
  readonly owner?: string;
  readonly grants?: readonly Grant[];
  readonly ports?: Ports;
  /** `model` allows one lossless repair of the arguments; default `program`. */
  readonly origin?: "model" | "program";
  /** Why a model's argument text is no JSON object; `args` is then that text, and the call is `invalid_input`. */
  readonly argsProblem?: string;
  /** The caller's own key for an idempotent write. */
  readonly idempotencyKey?: string;
  /** Receives what the handler reports. */
  readonly onProgress?: (update: Json) => void;
  /** The scope the call counts in; the loop gives its run's, a direct call has the registry's. */
  readonly scope?: CallScope;
}

/** What a record says of a call: its result then, or that it has none and the call may not run. */
export type ScopeAnswer =
  | { readonly type: "replay"; readonly result: CallResult; readonly replayOf: string }
  | { readonly type: "refuse"; readonly code: string; readonly message: string };

/** Looks a call up by its tool and its checked arguments. */
export type ScopeAnswerer = (tool: Tool, args: JsonObject) => ScopeAnswer | undefined;

/** What the calls of one run share. */
export interface CallScope {
  readonly gate: CallGate;
  readonly guard?: CallGuard;
  readonly journal?: CallJournal;
  /** In place of the registry's. */
  readonly approvals?: ApprovalStore;
  readonly ledger?: EffectLedger;
  /** The run is this call and no more, so a key given for it holds beyond the run. */
  readonly isDirect?: true;
  /** Answers a call in its handler's place, from a record; undefined lets it go on. */
  readonly answer?: ScopeAnswerer;
  /** Tickets are asked for: whoever runs this call can wait and come back to it. */
  readonly canWait?: boolean;
  /** The call was asked for before the run was suspended; its request is recorded already. */
  readonly resumed?: boolean;
}

/** Where the pipeline records a call: the part of a run's log that it may write. */
export interface CallJournal {
  readonly round: number;
  readonly index: number;
  readonly seal: Sealer;
  emit<T extends ChainType>(type: T, data: EventData[T]): void;
  /** Resolves once what was emitted is durable. */
  flush(): Promise<void>;
  /** Set once the store failed and nothing may start any more. */
  readonly failure: StoreError | undefined;
  /** A handler outlived its call; the promise resolves when it comes to its end. */
  late(callId: string, settled: Promise<void>): void;
}

/** Bounds of calls (spec core.md sections 3 and 6). */
export interface CallLimits {
  /** Handlers running at once in one scope. Default 8. */
  readonly maxConcurrent: number;
  /** Default time of a call in milliseconds, gate included. Default 60 000. */
  readonly timeoutMs: number;
  /** What the model reads of one result, in characters. Default 20 000. */
  readonly maxResultChars: number;
}

/** Call limits of a registry that names none. */
export const DEFAULT_CALL_LIMITS: CallLimits = Object.freeze({
  maxConcurrent: 8,
  timeoutMs: 60_000,
  maxResultChars: 20_000,
});

/** What happens to calls, for whoever watches a registry. */
export interface CallEvents {
  readonly "call:started": { readonly callId: string; readonly name: string; readonly runId?: string };
  readonly "call:progress": { readonly callId: string; readonly name: string; readonly update: Json };
  readonly "call:finished": {
    readonly callId: string;
    readonly name: string;
    readonly outcome: Outcome;
    readonly durationMs: number;
    readonly code?: string;
    readonly runId?: string;
  };
}

/** The registry's side of the pipeline. */
export interface CallRuntime {
  readonly ports: Ports;
  readonly logger: Logger;
  readonly limits: CallLimits;
  readonly policy?: PolicyPort;
  readonly approvals?: ApprovalStore;
  readonly ledger?: EffectLedger;
  readonly artifacts?: ArtifactStore;
  /** The scope of direct calls. */
  readonly scope: CallScope;
  /** Calls with an equal `conflictParam` value wait for each other, in all scopes. */
  readonly conflicts: KeyedLock;
  notify<E extends keyof CallEvents>(event: E, data: CallEvents[E]): void;
}
