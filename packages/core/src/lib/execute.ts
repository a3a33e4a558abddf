/** The execution pipeline: the only place a handler runs (spec core.md section 6). */

import { type PreparedArguments, prepareArguments } from "./arguments.ts";
import { type AuthorityVerdict, decideAuthority } from "./authority.ts";
import type { CallContext, CallRuntime, CallScope } from "./call-context.ts";
import { isReadOnly, isRepeatable } from "./contract.ts";
import { describeStack, describeThrown, isThrownError } from "./describe-thrown.ts";
import { digest } from "./digest.ts";
import { type Holding, type KeyedLock, holdAll } from "./gate.ts";
import { type HandlerEnd, runHandler } from "./handler-race.ts";
import { type Json, type JsonObject, copyJson } from "./json.ts";
import { nearest } from "./nearest.ts";
import { normalizeResult } from "./normalize-result.ts";
import { LOCAL_PROGRAM } from "./principal.ts";
import type { CallResult, FailureOutcome, FailureResult, Outcome, SuccessResult } from "./result.ts";
import type { CallAuthority } from "./run-event.ts";
import { CallControl } from "./call-control.ts";
import { isStandardSchema } from "./schema.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { CallToolContext } from "./tool-context.ts";
import { untilAborted } from "./until-aborted.ts";
import { outputProblem } from "./validate-output.ts";

/** One call as it was asked for. */
export interface CallOrder {
  readonly name: string;
  readonly args: unknown;
  readonly context: CallContext;
}

/**
 * Runs one call through every step. Never throws for the model's or the tool's mistakes: each path gives exactly
 * one `CallResult` and one terminal record, and starts the handler at most once.
 */
export async function executeCall(
  runtime: CallRuntime,
  tools: ReadonlyMap<string, Tool>,
  order: CallOrder,
): Promise<CallResult> {
  const call = new Call(runtime, order);
  const tool = tools.get(order.name);
  if (tool === undefined)
    return call.refuseUnresolved(unknownToolMessage(describeThrown(order.name), [...tools.keys()]));
  const prepared = await prepareArguments(inputOf(tool), order.args, {
    origin: order.context.origin ?? "program",
  });
  call.noteRequest(tool, prepared);
  if (!prepared.ok) return call.refuse("invalid_input", order.context.argsProblem ?? prepared.message);
  const verdict = await call.decide(tool, prepared.args);
  if (verdict.refusal !== undefined) return call.refuse(verdict.refusal.code, verdict.refusal.message);
  return call.run(tool, prepared);
}

type Accepted = Extract<PreparedArguments, { ok: true }>;

function inputOf(tool: Tool): Parameters<typeof prepareArguments>[0] {
  const base = { toolName: tool.name, schema: tool.parameters, strict: tool.strict };
  return isStandardSchema(tool.inputSchema) ? { ...base, standard: tool.inputSchema } : base;
}

function unknownToolMessage(name: string, known: readonly string[]): string {
  const near = nearest(name, known, 5);
  if (known.length === 0) return `There is no tool "${name}", since there are no tools.`;
  const shown = (near.length > 0 ? near : known.slice(0, 5)).map((item) => `"${item}"`).join(", ");
  return `There is no tool "${name}". ${near.length > 0 ? "Nearest" : "Some that exist"}: ${shown}.`;
}

class Call {
  readonly #runtime: CallRuntime;
  readonly #order: CallOrder;
  readonly #context: CallContext;
  readonly #scope: CallScope;
  readonly #callId: string;
  readonly #beganMs: number;
  #authority: CallAuthority = { level: "none", decision: "not_required" };

  constructor(runtime: CallRuntime, order: CallOrder) {
    this.#runtime = runtime;
    this.#order = order;
    this.#context = order.context;
    this.#scope = order.context.scope ?? runtime.scope;
    this.#callId = order.context.callId ?? `call_${runtime.ports.ids()}`;
    this.#beganMs = runtime.ports.clock.now();
  }

  get #signal(): AbortSignal | undefined {
    return this.#context.signal ?? this.#context.run?.signal;
  }

  refuseUnresolved(message: string): CallResult {
    this.#emitRequest(copyJson(this.#order.args).copy, { argsOrigin: this.#context.origin ?? "program" });
    return this.refuse("unknown_tool", message);
  }

  noteRequest(tool: Tool, prepared: PreparedArguments): void {
    if (this.#scope.journal === undefined) return;
    const toolDigest = tool.digest;
    if (!prepared.ok) {
      const args = copyJson(this.#order.args ?? {}).copy;
      return this.#emitRequest(args, { toolDigest, argsOrigin: this.#context.origin ?? "program" });
    }
    const { argsOrigin, defaulted, droppedArgs } = prepared;
    this.#emitRequest(prepared.args, {
      toolDigest,
      argsOrigin,
      ...(defaulted.length === 0 ? {} : { defaulted }),
      ...(droppedArgs.length === 0 ? {} : { droppedArgs }),
    });
  }

  async decide(tool: Tool, args: JsonObject): Promise<AuthorityVerdict> {
    const { run } = this.#context;
    const deciding = decideAuthority(
      {
        tool,
        args,
        principal: this.#context.principal ?? run?.principal ?? LOCAL_PROGRAM,
        owner: this.#context.owner ?? run?.owner ?? "local",
        grants: this.#context.grants ?? run?.grants ?? [],
        nowMs: this.#beganMs,
        ...(run === undefined ? {} : { runId: run.runId }),
      },
      this.#runtime.policy,
      this.#runtime.logger,
    );
    const verdict = deciding instanceof Promise ? await untilAborted(deciding, this.#signal) : deciding;
    if (verdict === undefined) {
      const authority = { level: tool.contract.authority.level, decision: "denied" as const };
      const message = `"${tool.name}" was cancelled while its policy decided. It did not run.`;
      return { authority, refusal: { code: "cancelled", message } };
    }
    this.#authority = verdict.authority;
    return verdict;
  }

  async run(tool: Tool, prepared: Accepted): Promise<CallResult> {
    const { guard } = this.#scope;
    const argsText = guard === undefined ? "" : JSON.stringify(prepared.args);
    const refusal = guard?.admit(tool, argsText);
    if (refusal !== undefined) return this.refuse(refusal.code, refusal.message);
    const result = await this.#runGated(tool, prepared);
    guard?.finished(tool, argsText, JSON.stringify({ ...result, callId: "" }));
    return result;
  }

  async #runGated(tool: Tool, prepared: Accepted): Promise<CallResult> {
    const timeoutMs = tool.contract.limits?.timeoutMs ?? this.#runtime.limits.timeoutMs;
    const control = new CallControl(this.#runtime.ports.clock, timeoutMs, this.#signal);
    try {
      if (control.stop !== undefined) return this.#stopped(tool, control, "not_started");
      const release = await holdAll(this.#holdings(tool, prepared.args), control);
      try {
        return await this.#start(tool, prepared, control);
      } finally {
        release();
      }
    } catch (cause) {
      if (control.stop === undefined) throw cause;
      return this.#stopped(tool, control, "not_started");
    } finally {
      control.dispose();
    }
  }

  #holdings(tool: Tool, args: JsonObject): readonly Holding[] {
    const { conflictParam, parallelSafe } = tool.contract.concurrency;
    const { gate } = this.#scope;
    const place: Holding = gate.places;
    const conflict = conflictParam === undefined ? undefined : args[conflictParam];
    if (conflict !== undefined) {
      const key = `${tool.name} ${JSON.stringify(conflict)}`;
      return [holdKey(this.#runtime.conflicts, key), place];
    }
    return parallelSafe ? [place] : [holdKey(gate.tools, tool.name), place];
  }

  async #start(tool: Tool, prepared: Accepted, control: CallControl): Promise<CallResult> {
    const { journal } = this.#scope;
    journal?.emit("tool.started", {
      callId: this.#callId,
      authority: this.#authority,
    });
    // The intent of a write is durable before its handler starts.
    if (journal !== undefined && !isReadOnly(tool.contract))
      await untilAborted(journal.flush(), this.#signal);
    if (journal?.failure !== undefined) {
      return this.#fail(failure("The run's store failed; the call did not run."), {
        outcome: "not_started",
        code: "store_failed",
      });
    }
    if (control.stop !== undefined) return this.#stopped(tool, control, "not_started");
    this.#runtime.notify("call:started", { callId: this.#callId, name: tool.name, ...this.#runId() });
    const end = await runHandler(
      tool,
      { params: prepared.params, context: this.#toolContext(tool, prepared, control) },
      control,
    );
    return this.#settle(tool, end, control);
  }

  #toolContext(tool: Tool, prepared: Accepted, control: CallControl): ToolContext {
    return new CallToolContext({
      callId: this.#callId,
      call: this.#context,
      control,
      idempotencyKey: this.#idempotencyKey(tool, prepared.args),
      ports: this.#context.ports ?? this.#context.run?.ports ?? this.#runtime.ports,
      logger: this.#runtime.logger,
      report: (update) => {
        if (control.done) return false;
        this.#runtime.notify("call:progress", { callId: this.#callId, name: tool.name, update });
        return true;
      },
    });
  }

  /** A keyed call without a key of its own gets `digest(scope id, tool, arguments)`. */
  #idempotencyKey(tool: Tool, args: JsonObject): string | undefined {
    const { mode, keyParam, scope } = tool.contract.idempotency;
    const given = keyParam === undefined ? undefined : args[keyParam];
    if (typeof given === "string") return given;
    if (this.#context.idempotencyKey !== undefined) return this.#context.idempotencyKey;
    if (mode !== "keyed") return undefined;
    const { run } = this.#context;
    const scopeId = scope === "call" ? this.#callId : scope === "task" ? run?.rootRunId : run?.runId;
    return digest("effect/1", { scope: scopeId ?? this.#callId, tool: tool.name, args });
  }

  async #settle(tool: Tool, end: HandlerEnd, control: CallControl): Promise<CallResult> {
    const lost = isReadOnly(tool.contract) ? "failed" : "unknown";
    if (end.type === "stopped") {
      if (end.late !== undefined) this.#scope.journal?.late(this.#callId, end.late);
      return this.#stopped(tool, control, lost);
    }
    if (end.type === "threw") return this.#threw(tool, end.error, lost);
    const normal = normalizeResult(end.value);
    const problem = normal.ok ? await outputProblem(tool, normal.result) : normal.problem;
    if (!normal.ok || problem !== undefined) {
      return this.#fail(failure(`"${tool.name}" ${problem ?? "gave no result"}.`), {
        outcome: lost,
        code: "invalid_result",
      });
    }
    if (normal.result.success) return this.#succeed(normal.result);
    const { outcome = "failed", code = "tool_failed" } = normal.result;
    const retryable =
      normal.result.retryable === true && (outcome === "not_started" || isRepeatable(tool.contract));
    return this.#fail({ ...normal.result, retryable }, { outcome, code });
  }

  #stopped(tool: Tool, control: CallControl, outcome: FailureOutcome): CallResult {
    const timedOut = control.stop === "tool_timeout";
    const error = timedOut
      ? `"${tool.name}" did not finish within ${control.timeoutMs} ms.`
      : `"${tool.name}" was cancelled.`;
    const retryable = timedOut && (outcome === "not_started" || isRepeatable(tool.contract));
    return this.#fail(
      { ...failure(error), retryable },
      { outcome, code: timedOut ? "tool_timeout" : "cancelled" },
    );
  }

  #threw(tool: Tool, error: unknown, outcome: FailureOutcome): CallResult {
    const message =
      typeof error === "string" || isThrownError(error) ? describeThrown(error) : `"${tool.name}" threw.`;
    const retryable = isRepeatable(tool.contract);
    return this.#fail(
      { ...failure(message), retryable },
      { outcome, code: "tool_failed", cause: describeStack(error) },
    );
  }

  /** Ends a call that never started. */
  refuse(code: string, error: string): CallResult {
    const result = {
      success: false as const,
      error,
      callId: this.#callId,
      outcome: "not_started" as const,
      code,
      retryable: false,
    };
    this.#scope.journal?.emit("tool.refused", {
      callId: this.#callId,
      code,
      authority: this.#authority,
      result: this.#scope.journal.seal<Json>(plainResult(result)),
    });
    this.#notifyFinished("not_started", code);
    return result;
  }

  #succeed(result: SuccessResult<Json>): CallResult {
    return this.#finish({ ...result, callId: this.#callId, outcome: "succeeded", retryable: false });
  }

  /** `cause` is for the record alone. */
  #fail(
    failure: FailureResult,
    how: { readonly outcome: FailureOutcome; readonly code: string; readonly cause?: string | undefined },
  ): CallResult {
    const { outcome, code, cause } = how;
    return this.#finish(
      { ...failure, callId: this.#callId, outcome, retryable: failure.retryable === true, code },
      cause,
    );
  }

  #finish(result: CallResult, cause?: string): CallResult {
    const { journal } = this.#scope;
    const { outcome, code } = result;
    journal?.emit("tool.finished", {
      callId: this.#callId,
      outcome,
      durationMs: this.#durationMs(),
      result: journal.seal<Json>(plainResult(result)),
      ...(code === undefined ? {} : { code }),
      ...(cause === undefined ? {} : { cause: journal.seal(cause) }),
    });
    this.#notifyFinished(outcome, code);
    return result;
  }

  #emitRequest(
    args: Json,
    rest: {
      readonly toolDigest?: Tool["digest"];
      readonly argsOrigin: "model" | "repaired" | "program";
      readonly defaulted?: readonly string[];
      readonly droppedArgs?: readonly string[];
    },
  ): void {
    const { journal } = this.#scope;
    if (journal === undefined) return;
    const { round, index } = journal;
    journal.emit("tool.requested", {
      callId: this.#callId,
      round,
      index,
      toolName: this.#order.name,
      args: journal.seal(args),
      ...rest,
    });
  }

  #notifyFinished(outcome: Outcome, code: string | undefined): void {
    this.#runtime.notify("call:finished", {
      callId: this.#callId,
      name: this.#order.name,
      outcome,
      durationMs: this.#durationMs(),
      ...(code === undefined ? {} : { code }),
      ...this.#runId(),
    });
  }

  #runId(): { readonly runId?: string } {
    return this.#context.run === undefined ? {} : { runId: this.#context.run.runId };
  }

  #durationMs(): number {
    return Math.max(0, this.#runtime.ports.clock.now() - this.#beganMs);
  }
}

function holdKey(lock: KeyedLock, key: string): Holding {
  return { enter: (control) => lock.enter(key, control), leave: () => lock.leave(key) };
}

function failure(error: string): FailureResult {
  return { success: false, error };
}

/** The result as the record keeps it: without the call id, which the event already names. */
function plainResult(result: CallResult): Json {
  const { callId: _callId, ...rest } = result;
  return rest as Json; // Proof: built from JSON parts only
}
