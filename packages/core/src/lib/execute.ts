/** The execution pipeline: the only place a handler runs (spec core.md section 6). */

import { type PreparedArguments, prepareArguments } from "./arguments.ts";
import type { ApprovalStore, TicketCall } from "./approval-store.ts";
import { type AuthorityVerdict, decideAuthority } from "./authority.ts";
import { CallAccount, failure } from "./call-account.ts";
import { type ApprovalOrder, consumeApproval, settleApproval } from "./call-approval.ts";
import type { CallContext, CallRuntime, CallScope } from "./call-context.ts";
import { effectKey, enterLedger } from "./call-effect.ts";
import { isReadOnly, isRepeatable } from "./contract.ts";
import { describeStack, describeThrown, isThrownError } from "./describe-thrown.ts";
import type { EffectStart } from "./effect-ledger.ts";
import { type Holding, type KeyedLock, holdAll } from "./gate.ts";
import { type HandlerEnd, runHandler } from "./handler-race.ts";
import { InputError } from "./errors.ts";
import { type JsonObject, copyJson } from "./json.ts";
import { nearest } from "./nearest.ts";
import { normalizeResult } from "./normalize-result.ts";
import { LOCAL_PROGRAM } from "./principal.ts";
import type { RunContext } from "./run-context.ts";
import type { CallResult, FailureOutcome } from "./result.ts";
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
  if (order.context.scope?.resumed !== true) call.noteRequest(tool, prepared);
  if (!prepared.ok)
    return call.account.refuse("invalid_input", order.context.argsProblem ?? prepared.message);
  const answer = order.context.scope?.answer?.(tool, prepared.args);
  if (answer?.type === "refuse") return call.account.refuse(answer.code, answer.message);
  if (answer !== undefined) return call.account.replay(answer);
  const verdict = await call.decide(tool, prepared.args);
  // What a person said of a call counts, whatever the gate says of it today.
  const { refusal } = verdict;
  const isAsked = refusal?.code === "approval_required" || (refusal === undefined && call.wasAsked);
  if (isAsked && call.canWait) return call.runApproved(tool, prepared, verdict);
  if (refusal === undefined) return call.run(tool, prepared);
  return call.account.refuse(refusal.code, refusal.message);
}

type Accepted = Extract<PreparedArguments, { ok: true }>;

/** What the argument check needs to know of a tool. */
export function inputOf(tool: Tool): Parameters<typeof prepareArguments>[0] {
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
  readonly account: CallAccount;

  constructor(runtime: CallRuntime, order: CallOrder) {
    this.#runtime = runtime;
    this.#order = order;
    this.#context = order.context;
    this.#scope = order.context.scope ?? runtime.scope;
    this.#callId = order.context.callId ?? `call_${runtime.ports.ids()}`;
    const { run } = this.#context;
    this.account = new CallAccount(runtime, {
      name: order.name,
      callId: this.#callId,
      scope: this.#scope,
      ...(run === undefined ? {} : { runId: run.runId }),
    });
  }

  get #signal(): AbortSignal | undefined {
    return this.#context.signal ?? this.#context.run?.signal;
  }

  get #approvals(): ApprovalStore | undefined {
    return this.#scope.approvals ?? this.#runtime.approvals;
  }

  /** True where a ticket can be asked for: somebody comes back to this call. */
  get canWait(): boolean {
    return this.#approvals !== undefined && this.#scope.canWait === true && this.#context.run !== undefined;
  }

  /** True for a call of before a suspension: a person may have been asked about it. */
  get wasAsked(): boolean {
    return this.#scope.resumed === true;
  }

  refuseUnresolved(message: string): CallResult {
    this.account.request(copyJson(this.#order.args).copy, { argsOrigin: this.#context.origin ?? "program" });
    return this.account.refuse("unknown_tool", message);
  }

  noteRequest(tool: Tool, prepared: PreparedArguments): void {
    if (this.#scope.journal === undefined) return;
    const toolDigest = tool.digest;
    if (!prepared.ok) {
      const args = copyJson(this.#order.args ?? {}).copy;
      return this.account.request(args, { toolDigest, argsOrigin: this.#context.origin ?? "program" });
    }
    const { argsOrigin, defaulted, droppedArgs } = prepared;
    this.account.request(prepared.args, {
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
        nowMs: this.account.beganMs,
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
    this.account.authority = verdict.authority;
    return verdict;
  }

  /** Runs a call that needs a person's word, or leaves it waiting for one. */
  async runApproved(tool: Tool, prepared: Accepted, verdict: AuthorityVerdict): Promise<CallResult> {
    const approvals = this.#approvals;
    const { run } = this.#context;
    if (approvals === undefined || run === undefined) return this.account.refuse("approval_required", "");
    const order = (args: JsonObject): ApprovalOrder => ({
      call: this.#ticketCall(tool, args, run),
      verdict,
      journal: this.#scope.journal,
      logger: this.#runtime.logger,
    });
    const found = await settleApproval(approvals, order(prepared.args));
    this.account.authority = found.authority;
    if (found.type === "pending") return this.account.waiting(found);
    if (found.type === "refused") return this.account.refuse(found.code, found.message);
    if (found.type === "free") return this.run(tool, prepared);
    const approved = found.args === undefined ? prepared : await this.#edit(tool, found.args);
    if (!approved.ok) return this.account.refuse("invalid_input", approved.message);
    if (approved !== prepared) {
      // The policy has not seen the new arguments; what it denies, no ticket allows.
      const { refusal } = await this.decide(tool, approved.args);
      if (refusal !== undefined && refusal.code !== "approval_required")
        return this.account.refuse(refusal.code, refusal.message);
    }
    const used = await consumeApproval(approvals, found.ticketId, order(approved.args));
    this.account.authority = used.authority;
    return used.type === "refused" ? this.account.refuse(used.code, used.message) : this.run(tool, approved);
  }

  #ticketCall(tool: Tool, args: JsonObject, run: RunContext): TicketCall {
    return {
      runId: run.runId,
      callId: this.#callId,
      toolName: tool.name,
      toolDigest: tool.digest,
      contractVersion: tool.contract.version,
      args,
      principal: this.#context.principal ?? run.principal,
      owner: this.#context.owner ?? run.owner,
      ...(run.threadId === undefined ? {} : { threadId: run.threadId }),
    };
  }

  /** The call goes on with the arguments a person gave it. */
  async #edit(tool: Tool, args: JsonObject): Promise<PreparedArguments> {
    const edited = await prepareArguments(inputOf(tool), args, { origin: "program" });
    if (edited.ok) this.account.request(edited.args, { toolDigest: tool.digest, argsOrigin: "edited" });
    return edited;
  }

  async run(tool: Tool, prepared: Accepted): Promise<CallResult> {
    const { guard } = this.#scope;
    const argsText = guard === undefined ? "" : JSON.stringify(prepared.args);
    const refusal = guard?.admit(tool, argsText);
    if (refusal !== undefined) return this.account.refuse(refusal.code, refusal.message);
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
    const answered = await this.#enterLedger(tool, prepared, control);
    if (answered !== undefined) return answered;
    this.account.start();
    // The intent of a write is durable before its handler starts.
    if (journal !== undefined && !isReadOnly(tool.contract))
      await untilAborted(journal.flush(), this.#signal);
    if (journal?.failure !== undefined) {
      return this.#failEarly("The run's store failed; the call did not run.", "store_failed");
    }
    if (control.stop !== undefined) return this.#stopped(tool, control, "not_started");
    this.account.notifyStarted();
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
      idempotencyKey: this.account.effect?.handed,
      ports: this.#context.ports ?? this.#context.run?.ports ?? this.#runtime.ports,
      logger: this.#runtime.logger,
      report: (update) => {
        if (control.done) return false;
        this.#runtime.notify("call:progress", { callId: this.#callId, name: tool.name, update });
        return true;
      },
    });
  }

  /** Writes the intent of a call with effects; a result where the ledger answers in the handler's place. */
  async #enterLedger(tool: Tool, prepared: Accepted, control: CallControl): Promise<CallResult | undefined> {
    const { ports, logger } = this.#runtime;
    const ledger = this.#scope.ledger ?? this.#runtime.ledger;
    const keyed = { tool, args: prepared.args, callId: this.#callId, context: this.#context };
    const isEffect = !isReadOnly(tool.contract);
    const hasKey = tool.contract.idempotency.mode === "keyed" || this.#context.idempotencyKey !== undefined;
    if (!isEffect && !hasKey) return undefined;
    try {
      const effect = effectKey(keyed);
      this.account.effect = effect;
      if (!isEffect || ledger === undefined) return undefined;
      const attemptId = ports.ids();
      const start = await enterLedger(ledger, { ...keyed, effect, attemptId, control, ports, logger });
      if (start.state !== "fresh") return this.#answerFromLedger(tool, start, control);
      this.account.attempt = { key: effect.key, id: attemptId };
      return undefined;
    } catch (cause) {
      if (cause instanceof InputError)
        return this.#failEarly(`Key or arguments of "${tool.name}" are no JSON text.`, "invalid_input");
      logger.error("The effect ledger failed; the call did not run.", { cause: describeThrown(cause) });
      return this.#failEarly("The effect ledger failed; the call did not run.", "store_failed");
    }
  }

  #failEarly(message: string, code: string): Promise<CallResult> {
    return this.account.fail(failure(message), { outcome: "not_started", code });
  }

  #answerFromLedger(
    tool: Tool,
    start: Exclude<EffectStart, { state: "fresh" }>,
    control: CallControl,
  ): CallResult | Promise<CallResult> {
    if (start.state === "in_flight") return this.#stopped(tool, control, "not_started");
    if (start.state === "done")
      return this.account.replay({ result: start.result, replayOf: start.intent.callId });
    const message = `"${tool.name}" began earlier and nobody knows how it ended. It was not run again.`;
    return this.account.fail(failure(message), { outcome: "unknown", code: "outcome_unknown" });
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
      return this.account.fail(failure(`"${tool.name}" ${problem ?? "gave no result"}.`), {
        outcome: lost,
        code: "invalid_result",
      });
    }
    if (normal.result.success) return this.account.succeed(normal.result);
    const { outcome = "failed", code = "tool_failed" } = normal.result;
    const retryable =
      normal.result.retryable === true && (outcome === "not_started" || isRepeatable(tool.contract));
    return this.account.fail({ ...normal.result, retryable }, { outcome, code });
  }

  #stopped(tool: Tool, control: CallControl, outcome: FailureOutcome): Promise<CallResult> {
    const timedOut = control.stop === "tool_timeout";
    const error = timedOut
      ? `"${tool.name}" did not finish within ${control.timeoutMs} ms.`
      : `"${tool.name}" was cancelled.`;
    const retryable = timedOut && (outcome === "not_started" || isRepeatable(tool.contract));
    return this.account.fail(
      { ...failure(error), retryable },
      { outcome, code: timedOut ? "tool_timeout" : "cancelled" },
    );
  }

  #threw(tool: Tool, error: unknown, outcome: FailureOutcome): Promise<CallResult> {
    const message =
      typeof error === "string" || isThrownError(error) ? describeThrown(error) : `"${tool.name}" threw.`;
    const retryable = isRepeatable(tool.contract);
    return this.account.fail(
      { ...failure(message), retryable },
      { outcome, code: "tool_failed", cause: describeStack(error) },
    );
  }
}

function holdKey(lock: KeyedLock, key: string): Holding {
  return { enter: (control) => lock.enter(key, control), leave: () => lock.leave(key) };
}
