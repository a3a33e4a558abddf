/** A recorded run as the ports of a new one: every fact that is not computed comes from the record (spec runs.md section 9). */

import type { ModelEvent, ModelRequest, ToolCall } from "./adapter.ts";
import { defined } from "./defined.ts";
import { OpenFunctionsError, ProviderError, RecordError, isErrorCode } from "./errors.ts";
import type { Json } from "./json.ts";
import { isPlainObject } from "./json.ts";
import type { Compaction } from "./loop-compaction.ts";
import type { Ending } from "./loop-ending.ts";
import type { CallJournal } from "./call-context.ts";
import type { Part } from "./message.ts";
import { openLeaf } from "./rebuild-history.ts";
import type { CallResult, ModelContent } from "./result.ts";
import { type AnyRunEvent, type ChainType, type EventData, isTerminal } from "./run-event.ts";
import type { ReplyPolicy, ReplyVerdict } from "./run-options.ts";
import { type Sealed, resealed } from "./sealed.ts";

/** Where a replay left the record. `expected` is undefined where the record had ended. */
export interface Divergence {
  readonly seq: number;
  readonly expected: AnyRunEvent | undefined;
  readonly got: { readonly type: string; readonly data: unknown };
}

/** What a replayed run may do from outside. */
export interface ReplayControl {
  stop(reason: unknown): void;
  expire(): void;
  steer(text: string): void;
}

/** Facts that were measured, not computed. */
const MEASURED: Partial<Record<ChainType, readonly string[]>> = {
  "run.started": ["environment", "sealed", "traceContext"],
  "run.resumed": ["process", "drift"],
  "model.responded": ["latencyMs", "firstEventMs"],
  "tool.finished": ["durationMs"],
};

/** Follows the record while a run is made again beside it. */
export class RecordedRun {
  readonly events: readonly AnyRunEvent[];
  /** The request the loop is about to make. */
  asked: ModelRequest | undefined;
  divergence: Divergence | undefined;
  control: ReplayControl | undefined;
  #seq = 0;
  readonly #waiting = new Map<number, () => void>();

  constructor(events: readonly AnyRunEvent[]) {
    this.events = events;
  }

  /** The event the record has next. */
  get next(): AnyRunEvent | undefined {
    return this.events[this.#seq];
  }

  /** How many events were made again, and as recorded. */
  get matched(): number {
    return this.#seq;
  }

  /** An event as the record dates and measures it. Throws where the record has another one. */
  facts<T extends ChainType>(
    type: T,
    data: EventData[T],
  ): { readonly at: string; readonly data: EventData[T] } {
    const expected = this.divergence === undefined ? this.next : undefined;
    if (expected === undefined || expected.type !== type) throw this.#diverged({ type, data });
    const measured: Record<string, unknown> = { ...data };
    for (const key of MEASURED[type] ?? []) {
      const value: unknown = Reflect.get(expected.data, key);
      if (value === undefined) delete measured[key];
      else measured[key] = value;
    }
    return { at: expected.at, data: salted(measured, expected.data) as EventData[T] }; // Proof: same shape, other salts
  }

  /** Goes past an event that was made again. Throws where its hash is another. */
  seen(event: AnyRunEvent): void {
    const expected = this.next;
    if (expected?.hash !== event.hash) throw this.#diverged(event);
    this.#seq += 1;
    this.#act();
    this.#waiting.get(this.#seq)?.();
    this.#waiting.delete(this.#seq);
  }

  /** Makes the recorded events of one call again, each in its turn, and gives its recorded result. */
  async answer(call: ToolCall, journal: CallJournal): Promise<CallResult> {
    const from = this.#seq;
    let result: CallResult | undefined;
    for (const event of this.events.slice(from)) {
      if (isPause(event.type)) break;
      if (!("callId" in event.data) || event.data.callId !== call.callId || event.type === "tool.settled")
        continue;
      await this.#turn(event.seq);
      journal.emit(event.type, event.data as never); // Proof: type and data are one event's
      result = resultOf(event) ?? result;
      if (isEnd(event.type)) break;
    }
    // The record ends before this call did; so does the replay, which waits for nothing else.
    if (result === undefined) return new Promise(() => {});
    return { ...result, callId: call.callId };
  }

  /** What the record's compactor made of the history, where it did now. */
  compaction(): Compaction | undefined {
    const { next } = this;
    if (next?.type !== "history.compacted") return undefined;
    const { messages, rules, tokensBefore, tokensAfter, usage } = next.data;
    const opened = openLeaf(messages, { seq: next.seq, leaf: "/data/messages" });
    return defined({ messages: opened, rules, tokensBefore, tokensAfter, usage });
  }

  /** True where the record says that the run had made all its calls. */
  get isOverQuota(): boolean {
    return this.next?.type === "run.limit_reached" && this.next.data.stopReason === "tool_quota";
  }

  /** What the model read of a result, where that was not its plain text. */
  contentOf(callId: string): ModelContent | undefined {
    const next = this.events.slice(this.#seq).find((event) => event.type !== "tools.revealed");
    if (next?.type !== "message.appended" || next.data.role !== "tool") return undefined;
    const { content } = openLeaf(next.data.message, { seq: next.seq, leaf: "/data/message" });
    if (typeof content === "string") return undefined;
    const parts = content.filter((part) => part.type === "tool_result");
    return parts.find((part) => part.callId === callId)?.result;
  }

  /** What came of the record's next model call, as an adapter gives it. */
  async *reply(signal: AbortSignal): AsyncGenerator<ModelEvent> {
    for (const event of this.events.slice(this.#seq)) {
      const given = yield* modelEvents(event);
      if (given === "end") return;
      if (given === "cut") break;
    }
    await aborted(signal);
  }

  /** How the run ends after calls, where the record ends there for a reason the calls had. */
  endingAfterCalls(): Ending | undefined {
    const { next } = this;
    if (next?.type === "run.suspended") return { status: "suspended", ...next.data };
    if (next?.type === "run.limit_reached" && next.data.stopReason === "repeated_calls")
      return { status: "limit_reached", stopReason: "repeated_calls" };
    if (next?.type === "run.cancelled" && next.data.stopReason === "approval_denied")
      return {
        status: "cancelled",
        stopReason: "approval_denied",
        reason: leafOf(next, "reason", next.data.reason),
      };
    if (next?.type !== "run.failed" || next.data.stopReason !== "tool_effect_unknown") return undefined;
    return {
      status: "failed",
      stopReason: "tool_effect_unknown",
      message: leafOf(next, "error/message", next.data.error.message),
    };
  }

  /** The verdicts that the entry point gave on replies. */
  policy(): ReplyPolicy {
    return { onAnswer: () => this.#verdict(), onResults: () => this.#verdict() };
  }

  #verdict(): ReplyVerdict {
    const { next } = this;
    if (next?.type === "run.completed") {
      const stopReason = next.data.stopReason as "model_response"; // Proof: an accepting verdict is all that completes a run
      return { type: "accept", stopReason, text: leafOf(next, "output", next.data.output) };
    }
    if (next?.type !== "run.failed") return { type: "continue" };
    const message = leafOf(next, "error/message", next.data.error.message);
    const { code } = next.data.error;
    const error = new OpenFunctionsError(message, { code: isErrorCode(code) ? code : "run_failed" });
    return { type: "give_up", error };
  }

  /** What happened from outside at this point happens again. */
  #act(): void {
    const { next, control } = this;
    if (next === undefined || control === undefined) return;
    if (next.type === "message.appended" && next.data.role === "user" && this.#seq > this.#firstRequest)
      return control.steer(textOfMessage(next));
    if (next.type === "run.limit_reached" && next.data.stopReason === "time_budget") return control.expire();
    if (next.type === "run.cancelled" && next.data.stopReason !== "approval_denied")
      control.stop(leafOf(next, "reason", next.data.reason));
  }

  get #firstRequest(): number {
    const first = this.events.findIndex((event) => event.type === "model.requested");
    return first === -1 ? this.events.length : first;
  }

  #turn(seq: number): Promise<void> {
    if (this.#seq >= seq) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(seq, resolve));
  }

  #diverged(got: { readonly type: string; readonly data: unknown }): RecordError {
    this.divergence ??= { seq: this.#seq, expected: this.next, got };
    return new RecordError("The replay left the record.", { code: "replay_failed" });
  }
}

/** Sealed leaves under the salts of the recorded ones, so that equal values have equal commitments. */
function salted(value: unknown, recorded: unknown): unknown {
  if (isSealed(value)) {
    const salt = isSealed(recorded) ? recorded.salt : undefined;
    return salt === undefined || value.value === undefined ? value : resealed(value.value, salt);
  }
  if (Array.isArray(value))
    return value.map((item, index) => salted(item, Array.isArray(recorded) ? recorded[index] : undefined));
  if (!isPlainObject(value)) return value;
  const beside = isPlainObject(recorded) ? recorded : {};
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, salted(item, beside[key])]));
}

function isSealed(value: unknown): value is Sealed<Json> {
  return isPlainObject(value) && typeof value["$sealed"] === "string";
}

function isPause(type: ChainType): boolean {
  return type === "run.suspended" || type === "model.requested";
}

function isEnd(type: ChainType): boolean {
  return type === "tool.finished" || type === "tool.refused" || type === "tool.replayed";
}

/** The result an event of a call ends or leaves it with. */
function resultOf(event: AnyRunEvent): CallResult | undefined {
  if (event.type === "approval.requested") {
    const { callId, ticketId } = event.data;
    const details = { ticketId };
    return {
      success: false,
      error: "",
      callId,
      outcome: "not_started",
      code: "approval_required",
      retryable: false,
      details,
    };
  }
  if (event.type !== "tool.finished" && event.type !== "tool.refused" && event.type !== "tool.replayed")
    return undefined;
  const plain = openLeaf<Json>(event.data.result, { seq: event.seq, leaf: "/data/result" });
  return plain as unknown as CallResult; // Proof: sealed by the pipeline as a result without its call id
}

/** One recorded event as what an adapter would have given; how it leaves the stream. */
export function* modelEvents(event: AnyRunEvent): Generator<ModelEvent, "end" | "cut" | undefined> {
  switch (event.type) {
    case "model.retried": {
      const { attempt, reason, delayMs } = event.data;
      yield { type: "retry", attempt, reason, delayMs };
      return undefined;
    }
    case "model.fallback": {
      const { from, to, reason } = event.data;
      yield { type: "fallback", from, to, reason };
      return undefined;
    }
    case "model.reset": {
      const { reason, partial } = event.data;
      if (partial !== undefined)
        yield { type: "text_delta", text: openLeaf(partial, { seq: event.seq, leaf: "/data/partial" }) };
      else yield { type: "reasoning_delta", text: "" };
      throw new ProviderError(reason, { provider: "replay", kind: "network", retryable: true });
    }
    case "history.compacted":
      throw new OpenFunctionsError("The history did not fit.", { code: "context_overflow" });
    case "model.failed": {
      const { code, retryable } = event.data.error;
      const message = leafOf(event, "error/message", event.data.error.message);
      throw isErrorCode(code) ? new OpenFunctionsError(message, { code, retryable }) : new Error(message);
    }
    case "model.responded":
      yield* replyEvents(event.data, openLeaf(event.data.reply, { seq: event.seq, leaf: "/data/reply" }));
      return "end";
    default:
      return isTerminal(event.type) ? "cut" : undefined;
  }
}

function* replyEvents(data: EventData["model.responded"], parts: readonly Part[]): Generator<ModelEvent> {
  const { responseId, reportedModel, warnings = [], usage, finishReason } = data;
  yield {
    type: "start",
    ...(responseId === undefined ? {} : { responseId }),
    ...(reportedModel === undefined ? {} : { model: reportedModel }),
  };
  for (const { code, detail } of warnings) yield { type: "warning", code, detail };
  let index = 0;
  for (const part of parts) {
    if (part.type === "text") yield { type: "text_delta", text: part.text };
    else if (part.type === "reasoning") yield { type: "reasoning_delta", text: part.text ?? "" };
    else if (part.type === "provider") yield { type: "part", part };
    else if (part.type === "tool_call") {
      const { callId, name, args } = part;
      yield { type: "tool_call", index, callId, name, args, argsText: JSON.stringify(args) };
      index += 1;
    }
  }
  yield { type: "usage", usage };
  yield { type: "finish", reason: finishReason };
}

function leafOf(event: AnyRunEvent, leaf: string, sealed: Sealed<string>): string {
  return openLeaf(sealed, { seq: event.seq, leaf: `/data/${leaf}` });
}

function textOfMessage(event: Extract<AnyRunEvent, { type: "message.appended" }>): string {
  const { content } = openLeaf(event.data.message, { seq: event.seq, leaf: "/data/message" });
  return typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
