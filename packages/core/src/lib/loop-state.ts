/** What one run holds while it goes through its phases. */

import { describeThrown } from "./describe-thrown.ts";
import { type ModelReply, type ModelRequest, NO_USAGE, type Usage, addUsage } from "./adapter.ts";
import type { CallScope } from "./call-context.ts";
import { CallGuard } from "./call-guard.ts";
import { isReadOnly } from "./contract.ts";
import { InputError, OpenFunctionsError, StoreError } from "./errors.ts";
import { defined } from "./defined.ts";
import { type Digest, digest } from "./digest.ts";
import { createGate } from "./gate.ts";
import { lintHistory } from "./history-linter.ts";
import { canonicalJson, type Json, wellFormedJson } from "./json.ts";
import { type CompactionRequest, LoopCompaction } from "./loop-compaction.ts";
import type { Ending } from "./loop-ending.ts";
import { type Message, toolCallsOf } from "./message.ts";
import { quietLogger } from "./logger.ts";
import { redactSecrets } from "./redactor.ts";
import { RequestDigester } from "./request-digest.ts";
import type { CallResult } from "./result.ts";
import type { LoopHooks, Resumption } from "./loop-hooks.ts";
import type { RunContext } from "./run-context.ts";
import type { AnyRunEvent, LiveEvent, StopReason } from "./run-event.ts";
import { reopenLog } from "./reopen-log.ts";
import { LateHandlers, LogJournal } from "./run-journal.ts";
import { RunLog } from "./run-log.ts";
import { checkLoopOptions } from "./check-loop-options.ts";
import type { LoopOptions, LoopResult } from "./run-options.ts";
import { composeInstructions, createRunContext, describeStart, knownMessages } from "./run-start.ts";
import { RunStop } from "./run-stop.ts";
import type { Redact } from "./sealed.ts";
import { RunTools } from "./run-tools.ts";
import { ToolRegistry } from "./registry.ts";

const MAX_CONCURRENT_CALLS = 8;

/** One run's state. Phases read it and change it through its methods only. */
export class RunState {
  readonly options: LoopOptions;
  readonly hooks: LoopHooks;
  readonly context: RunContext;
  readonly tools: RunTools;
  readonly log: RunLog;
  readonly guard: CallGuard;
  readonly #stop = new RunStop();
  readonly #gate = createGate(MAX_CONCURRENT_CALLS);
  readonly #digester = new RequestDigester();
  readonly #late: LateHandlers;
  readonly #redact: Redact;
  readonly #steering: string[] = [];
  readonly #instructions: ReturnType<typeof composeInstructions>;
  /** The history as the linter last passed it, grown by well-formed turns since; any other history is linted anew. */
  #clean: readonly Message[] | undefined;
  readonly #callIds = new Set<string>();
  #messages: readonly Message[];
  #whole: readonly Message[] | undefined;
  #partialUsage: Usage = NO_USAGE;
  #usage: Usage = NO_USAGE;
  #rounds = 0;
  #callSeq = 0;
  readonly #compaction: LoopCompaction | undefined;
  #last: CompactionRequest["last"];

  constructor(
    options: LoopOptions,
    deliver: (event: AnyRunEvent | LiveEvent) => void,
    hooks: LoopHooks = {},
  ) {
    checkLoopOptions(options);
    this.options = options;
    this.hooks = hooks;
    const { resumption, replay } = hooks;
    this.context = createRunContext(options, this.#stop.signal);
    this.tools = new RunTools(options.tools ?? new ToolRegistry());
    this.guard = new CallGuard(this.context.limits);
    this.#messages = options.messages;
    this.#instructions = composeInstructions(options);
    this.#redact = options.redact ?? redactSecrets;
    const { compactor, logger } = options;
    const { clock } = this.context.ports;
    this.#compaction = compactor && new LoopCompaction(compactor, { clock, logger: quietLogger(logger) });
    this.log = new RunLog({
      runId: this.context.runId,
      ports: this.context.ports,
      capture: options.capture ?? "digest",
      redact: this.#redact,
      logger: quietLogger(options.logger),
      onStoreFailure: options.onStoreFailure ?? (this.#hasWriteTools() ? "fail_closed" : "warn"),
      deliver,
      ...(resumption === undefined ? {} : { from: resumption.events }),
      ...(replay === undefined ? {} : { replay }),
      ...(options.store === undefined ? {} : { store: options.store }),
      ...(options.signer === undefined ? {} : { signer: options.signer }),
    });
    this.#late = new LateHandlers(this.log);
    if (resumption !== undefined) this.#restore(resumption);
  }

  /** The history so far, whatever a compactor left out of it; and what it made of it, where it did. */
  get history(): Pick<LoopResult, "messages" | "compacted"> {
    return this.#whole === undefined
      ? { messages: this.#messages }
      : { messages: this.#whole, compacted: this.#messages };
  }

  /** Usage of all model calls, that of a call cut off included. */
  get usage(): Usage {
    return this.#partialUsage === NO_USAGE ? this.#usage : addUsage(this.#usage, this.#partialUsage);
  }

  /** Model calls that gave a reply. */
  get rounds(): number {
    return this.#rounds;
  }

  /** Number of the current model call, from 0. */
  get callSeq(): number {
    return this.#callSeq;
  }

  /** The clock's time in milliseconds. */
  nowMs(): number {
    return this.context.ports.clock.now();
  }

  /** Writes the first events and starts the clock. */
  open(): void {
    const { options } = this;
    if (this.hooks.resumption !== undefined) {
      reopenLog(this.log, this.hooks.resumption);
      return this.#watch();
    }
    this.log.emit(
      "run.started",
      describeStart(options, { context: this.context, tools: this.tools, log: this.log }),
    );
    const { digest, sections, text } = this.#instructions;
    if (text !== "") {
      this.log.emit("prompt.composed", { digest, sections, text: this.log.seal(text) });
    }
    for (const block of options.context?.blocks ?? []) this.log.emit("context.built", block);
    for (const message of options.messages.slice(knownMessages(options))) this.recordMessage(message);
    this.#watch();
  }

  /** Makes sure that nobody else goes on with this log. Throws the store's conflict. */
  async claimLog(): Promise<void> {
    await this.log.flush();
    if (this.log.failure !== undefined) throw this.log.failure;
    if (!this.log.isBehind) return;
    throw new StoreError(`Run "${this.log.runId}" was resumed by somebody else.`, { code: "store_conflict" });
  }

  /** True where a person denied one of the calls. */
  wasDenied(results: readonly CallResult[]): boolean {
    const denied = this.hooks.resumption?.tickets.filter((ticket) => ticket.state === "denied") ?? [];
    return results.some(({ callId }) => denied.some((ticket) => ticket.callId === callId));
  }

  /** Takes in steering messages, lints the history, and builds the request. */
  compose(): ModelRequest {
    this.throwIfStopped();
    for (const text of this.#steering.splice(0)) {
      const message: Message = { role: "user", content: text };
      this.append(message);
      this.recordMessage(message);
    }
    if (this.#clean !== this.#messages) this.#lint();
    return this.#request();
  }

  /**
   * Asks the compactor for a shorter history, where a provider refused this one or before any call; undefined where it
   * stays. Throws `context_overflow` where shortening no longer helps.
   */
  async compact(request: ModelRequest, overflowed: boolean): Promise<ModelRequest | undefined> {
    const before = this.#messages;
    const { signal, owner, runId } = this.context;
    const fixedChars = (request.system ?? "").length + JSON.stringify(request.tools ?? []).length;
    const about = defined({ signal, overflowed, fixedChars, owner, runId, last: this.#last });
    const compaction = await this.#compaction?.ask(before, about);
    if (compaction === undefined) return undefined;
    const { messages, rules, tokensBefore, tokensAfter, usage } = compaction;
    this.#whole ??= before;
    this.#messages = messages;
    this.log.emit("history.compacted", {
      before: before.length,
      after: messages.length,
      messages: this.log.seal(messages),
      ...defined({ rules, tokensBefore, tokensAfter, usage }),
      removed: this.#digestOfLost(before, messages),
    });
    if (usage !== undefined) this.#usage = addUsage(this.#usage, usage);
    this.#last = undefined;
    this.#compaction?.judge(compaction);
    this.#lint();
    return this.#request();
  }

  /** Adds a well-formed message to the history: a user's, or the results of the calls before it in their order. */
  append(message: Message): void {
    const wasClean = this.#clean === this.#messages;
    this.#messages = [...this.#messages, message];
    if (this.#whole !== undefined) this.#whole = [...this.#whole, message];
    if (wasClean) this.#clean = this.#messages;
  }

  /** True for a call id that stands in the history already. */
  hasCallId(callId: string): boolean {
    return this.#callIds.has(callId);
  }

  /** Adds an accepted reply to the history. */
  observeReply(reply: ModelReply): void {
    if (reply.parts.length > 0) this.append({ role: "assistant", content: reply.parts });
    for (const { callId } of reply.toolCalls) this.#callIds.add(callId);
  }

  /** Adds a user message before the next model call. */
  steer(message: string): void {
    if (typeof message !== "string") throw new InputError("A steering message is text.");
    this.#steering.push(message.toWellFormed());
  }

  /** The scope of a call, the one at `index` of the current reply. */
  scope(callId: string, index: number): CallScope {
    const journal = new LogJournal(this.log, this.#late, { round: this.#rounds - 1, index });
    const resumed = this.hooks.resumption?.record.toolCalls.some((call) => call.callId === callId) === true;
    const { approvals, ledger } = this.options;
    return {
      ...defined({ approvals, ledger, answer: this.hooks.answer }),
      gate: this.#gate,
      guard: this.guard,
      journal,
      canWait: true,
      resumed,
    };
  }

  /** Notes that a model call begins. */
  beginModelCall(request: ModelRequest): void {
    const { replay } = this.hooks;
    if (replay !== undefined) replay.asked = request;
    this.log.emit("model.requested", {
      round: this.#rounds,
      callSeq: this.#callSeq,
      requestDigest: this.#digester.digest(request),
    });
  }

  /** Notes usage that a stream reported before its end. */
  noteUsage(usage: Usage): void {
    this.#partialUsage = usage;
  }

  /** Notes that a model call gave a reply. */
  endModelCall(usage: Usage): void {
    this.#usage = this.#usage === NO_USAGE ? usage : addUsage(this.#usage, usage);
    this.#last = { tokens: usage.total, messages: this.#messages.length + 1 };
    this.#partialUsage = NO_USAGE;
    this.#rounds += 1;
    this.#callSeq += 1;
  }

  /** Notes that a model call failed for good. */
  recordModelFailure(cause: unknown): void {
    const known = OpenFunctionsError.is(cause);
    const message = known ? cause.message : describeThrown(cause);
    const error = {
      code: known ? cause.code : "internal_error",
      message: this.log.seal(message),
      retryable: known && cause.retryable,
    };
    this.log.emit("model.failed", { round: this.#rounds, callSeq: this.#callSeq, error });
  }

  /** Aborts the run for the caller. */
  abort(reason: unknown = "aborted by the caller"): void {
    if (!this.log.ended) this.#stop.abort(reason);
  }

  /** The value, or a rejection as soon as the run is stopped; a stopped run waits for nobody. */
  untilStopped<T>(value: Promise<T>): Promise<T> {
    return this.#stop.until(value);
  }

  /** Throws when the run was stopped or its store failed. */
  throwIfStopped(): void {
    if (this.log.failure !== undefined) throw this.log.failure;
    if (this.#stop.why !== undefined) throw this.#stop.signal.reason;
  }

  /** How a run ends that a throw took out of its loop. */
  endingOf(cause: unknown): Ending {
    const stop = this.#stop.why;
    if (stop?.stopReason === "time_budget") return { status: "limit_reached", stopReason: "time_budget" };
    if (stop !== undefined) return { status: "cancelled", ...stop };
    if (!OpenFunctionsError.is(cause)) {
      const message = describeThrown(cause);
      const error = new OpenFunctionsError(message, { code: "run_failed", cause });
      return { status: "failed", stopReason: "internal_error", message, error };
    }
    return { status: "failed", stopReason: stopReasonOf(cause), message: cause.message, error: cause };
  }

  /** Waits until late handlers have come to their end, at most `ms` milliseconds. */
  waitForLate(ms: number): Promise<void> {
    return this.#late.wait(ms, this.context.ports.clock);
  }

  /** Stops the clock and everything that still runs. */
  stop(): void {
    this.#stop.end();
  }

  #lint(): void {
    const { messages, repairs } = lintHistory(this.#messages);
    if (repairs.length > 0) this.log.emit("history.repaired", { repairs });
    for (const { callId } of messages.flatMap(toolCallsOf)) this.#callIds.add(callId);
    this.#messages = messages;
    this.#clean = messages;
  }

  #request(): ModelRequest {
    const { toolChoice, parallelToolCalls, sampling, reasoning, maxOutputTokens, responseFormat } =
      this.options;
    const tools = this.tools.listed();
    const system = this.#instructions.text;
    return {
      messages: this.#messages,
      signal: this.#stop.signal,
      ...(system === "" ? {} : { system }),
      ...(tools.length === 0 ? {} : { tools }),
      ...(toolChoice === undefined || tools.length === 0 ? {} : { toolChoice }),
      ...(parallelToolCalls === undefined ? {} : { parallelToolCalls }),
      ...(sampling === undefined ? {} : { sampling }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      ...(responseFormat === undefined ? {} : { responseFormat }),
    };
  }

  #restore({ record, history, events }: Resumption): void {
    for (const event of events) if (event.type === "tools.revealed") this.tools.reveal(event.data.names);
    this.#whole = history.whole;
    this.#rounds = record.rounds;
    this.#callSeq = record.rounds;
    this.#usage = record.usage;
    this.guard.restore(record.toolCalls);
    for (const { callId } of history.messages.flatMap(toolCallsOf)) this.#callIds.add(callId);
  }

  /** A text of a provider that the record holds as it is, without secrets. */
  clean(text: string): string {
    const clean = this.#redact(text);
    return typeof clean === "string" ? clean : "[redacted]";
  }

  /** Notes a message that the other events do not tell. */
  recordMessage(message: Message): void {
    this.log.emit("message.appended", { role: message.role, message: this.log.seal(message) });
  }

  /** Of the messages that left or were changed, without secrets, so that a replay has the same. */
  #digestOfLost(before: readonly Message[], after: readonly Message[]): Digest {
    const textOf = (message: Message): string =>
      canonicalJson(this.#redact(wellFormedJson(message as unknown as Json))); // Proof: messages are JSON
    const kept = new Set(after.map(textOf));
    return digest(
      "messages/1",
      before.map(textOf).filter((text) => !kept.has(text)),
    );
  }

  #hasWriteTools(): boolean {
    return this.tools.view.getAll().some((tool) => !isReadOnly(tool.contract));
  }

  #watch(): void {
    const { signal: caller, parent } = this.options;
    const { limits, ports } = this.context;
    this.#stop.watch({ caller, parent: parent?.signal, wallMs: limits.wallMs, clock: ports.clock });
  }
}

function stopReasonOf(error: OpenFunctionsError): StopReason {
  if (error.code === "context_overflow") return "context_overflow";
  if (error.code === "protocol_error") return "protocol_error";
  return error.fault === "provider" ? "provider_error" : "internal_error";
}
