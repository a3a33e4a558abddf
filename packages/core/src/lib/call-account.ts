/** What a call tells of itself: its request and its one end, in the record, in the ledger and to whoever watches. */

import type { CallRuntime, CallScope } from "./call-context.ts";
import type { EffectKey } from "./call-effect.ts";
import { describeThrown } from "./describe-thrown.ts";
import type { EffectAttempt } from "./effect-ledger.ts";
import type { Json } from "./json.ts";
import type { CallResult, FailureOutcome, FailureResult, Outcome, SuccessResult } from "./result.ts";
import type { ArgsOrigin, CallAuthority } from "./run-event.ts";
import type { Tool } from "./tool.ts";

/** Whose account it is. */
export interface CallSubject {
  readonly name: string;
  readonly callId: string;
  readonly runId?: string;
  readonly scope: CallScope;
}

/** The account of one call. */
export class CallAccount {
  authority: CallAuthority = { level: "none", decision: "not_required" };
  effect: EffectKey | undefined;
  /** Set once the ledger holds this call's intent. */
  attempt: EffectAttempt | undefined;
  readonly beganMs: number;
  readonly #runtime: CallRuntime;
  readonly #of: CallSubject;

  constructor(runtime: CallRuntime, of: CallSubject) {
    this.#runtime = runtime;
    this.#of = of;
    this.beganMs = runtime.ports.clock.now();
  }

  /** The call was asked for. */
  request(
    args: Json,
    rest: {
      readonly toolDigest?: Tool["digest"];
      readonly argsOrigin: ArgsOrigin;
      readonly defaulted?: readonly string[];
      readonly droppedArgs?: readonly string[];
    },
  ): void {
    const { journal } = this.#of.scope;
    if (journal === undefined) return;
    const { round, index } = journal;
    journal.emit("tool.requested", {
      callId: this.#of.callId,
      round,
      index,
      toolName: this.#of.name,
      args: journal.seal(args),
      ...rest,
    });
  }

  /** The handler is about to start. */
  start(): void {
    const idempotency = this.effect?.idempotency;
    this.#of.scope.journal?.emit("tool.started", {
      callId: this.#of.callId,
      authority: this.authority,
      ...(idempotency === undefined ? {} : { idempotency }),
    });
  }

  /** Tells whoever watches that the handler starts. */
  notifyStarted(): void {
    const { callId, name } = this.#of;
    this.#runtime.notify("call:started", { callId, name, ...this.#runId() });
  }

  /** The call waits for a person; it has not ended. */
  waiting({ ticketId, message }: { readonly ticketId: string; readonly message: string }): CallResult {
    return {
      ...failure(message),
      callId: this.#of.callId,
      outcome: "not_started",
      code: "approval_required",
      retryable: false,
      details: { ticketId },
    };
  }

  /** The result of the first call with this key stands for this one too. */
  replay({ result, replayOf }: { readonly result: CallResult; readonly replayOf: string }): CallResult {
    const { journal } = this.#of.scope;
    const { outcome, code } = result;
    journal?.emit("tool.replayed", {
      callId: this.#of.callId,
      authority: this.authority,
      idempotency: this.effect?.idempotency ?? { source: "derived", scope: "call" },
      outcome,
      replayOf,
      result: journal.seal<Json>(plainResult(result)),
      ...(code === undefined ? {} : { code }),
    });
    this.#notifyFinished(outcome, code);
    return { ...result, callId: this.#of.callId, replayed: true };
  }

  /** Ends a call that never started. */
  refuse(code: string, error: string): CallResult {
    const result = {
      success: false as const,
      error,
      callId: this.#of.callId,
      outcome: "not_started" as const,
      code,
      retryable: false,
    };
    this.#of.scope.journal?.emit("tool.refused", {
      callId: this.#of.callId,
      code,
      authority: this.authority,
      result: this.#of.scope.journal.seal<Json>(plainResult(result)),
    });
    this.#notifyFinished("not_started", code);
    return result;
  }

  /** The handler did it. */
  succeed(result: SuccessResult<Json>): Promise<CallResult> {
    return this.#finish({ ...result, callId: this.#of.callId, outcome: "succeeded", retryable: false });
  }

  /** The call failed, or nobody knows how it ended. `cause` is for the record alone. */
  fail(
    failure: FailureResult,
    how: { readonly outcome: FailureOutcome; readonly code: string; readonly cause?: string | undefined },
  ): Promise<CallResult> {
    const { outcome, code, cause } = how;
    return this.#finish(
      { ...failure, callId: this.#of.callId, outcome, retryable: failure.retryable === true, code },
      cause,
    );
  }

  async #finish(reached: CallResult, cause?: string): Promise<CallResult> {
    const { journal } = this.#of.scope;
    const result = this.attempt !== undefined ? await this.#settleEffect(reached) : reached;
    const { outcome, code } = result;
    journal?.emit("tool.finished", {
      callId: this.#of.callId,
      outcome,
      durationMs: this.#durationMs(),
      result: journal.seal<Json>(plainResult(result)),
      ...(code === undefined ? {} : { code }),
      ...(cause === undefined ? {} : { cause: journal.seal(cause) }),
    });
    this.#notifyFinished(outcome, code);
    return result;
  }

  /** Writes the outcome into the ledger. What the ledger does not hold, nobody knows. */
  async #settleEffect(result: CallResult): Promise<CallResult> {
    const { logger } = this.#runtime;
    const ledger = this.#of.scope.ledger ?? this.#runtime.ledger;
    if (ledger === undefined || this.attempt === undefined) return result;
    try {
      await ledger.finish(this.attempt, result);
      return result;
    } catch (cause) {
      logger.error("The outcome of a call could not be written.", { cause: describeThrown(cause) });
      const message = `"${this.#of.name}" ran, but its outcome could not be kept.`;
      const { callId } = result;
      return { ...failure(message), callId, outcome: "unknown", code: "store_failed", retryable: false };
    }
  }

  #notifyFinished(outcome: Outcome, code: string | undefined): void {
    this.#runtime.notify("call:finished", {
      callId: this.#of.callId,
      name: this.#of.name,
      outcome,
      durationMs: this.#durationMs(),
      ...(code === undefined ? {} : { code }),
      ...this.#runId(),
    });
  }

  #runId(): { readonly runId?: string } {
    return this.#of.runId === undefined ? {} : { runId: this.#of.runId };
  }

  #durationMs(): number {
    return Math.max(0, this.#runtime.ports.clock.now() - this.beganMs);
  }
}

/** A failure that says only what happened. */
export function failure(error: string): FailureResult {
  return { success: false, error };
}

/** The result as the record keeps it: without the call id, which the event already names. */
function plainResult(result: CallResult): Json {
  const { callId: _callId, ...rest } = result;
  return rest as Json; // Proof: built from JSON parts only
}
