/** What a client of `/chat/stream` sees: a projection of the run's one event log. */

import {
  type AnyRunEvent,
  type Json,
  type LiveEvent,
  type LoopResult,
  type Usage,
  addUsage,
  isChainEvent,
} from "@openfunctions/core";

/** The answer of a turn. */
export interface ChatResult {
  readonly text: string;
  readonly toolCalls: readonly {
    readonly callId: string;
    readonly name: string;
    readonly args: Json | undefined;
    readonly outcome: string;
    readonly result: Json | undefined;
  }[];
  readonly rounds: number;
  readonly status: LoopResult["status"];
  readonly stopReason: LoopResult["stopReason"];
  readonly runId: string;
  readonly usage: Usage;
  readonly metadata: { readonly provider: string; readonly model: string; readonly threadId: string };
}

/** One part of the stream. `run_started` is first; exactly one of `error` or `done` is last. */
export type ChatPart =
  | { readonly type: "run_started"; readonly runId: string; readonly threadId: string }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "text_done"; readonly role: "final" | "preamble" }
  | {
      readonly type: "tool_call";
      readonly callId: string;
      readonly name: string;
      readonly args: Json | undefined;
    }
  | { readonly type: "tool_progress"; readonly callId: string; readonly data: Json }
  | {
      readonly type: "tool_result";
      readonly callId: string;
      readonly name: string;
      readonly result: Json | undefined;
      readonly outcome: string;
      readonly ms: number;
    }
  /** The call waits for a person; answer the ticket, then `POST /chat/resume`. */
  | {
      readonly type: "approval";
      readonly callId: string;
      readonly ticketId: string;
      readonly expiresAt: string;
    }
  | { readonly type: "usage"; readonly run: Usage; readonly lastRequest: number }
  | { readonly type: "reset"; readonly reason: string }
  | { readonly type: "error"; readonly error: ErrorBody; readonly runId: string }
  | { readonly type: "done"; readonly result: ChatResult };

/** An error as it goes over the wire. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly hint?: string;
  readonly runId?: string;
}

/** Turns the events of one run into parts. */
export class PartProjection {
  readonly #threadId: string;
  readonly #names: Map<string, string>;
  #textOpen = false;
  #usage: Usage | undefined;

  /** `names` are those of calls that were asked for before: a resumed run does not ask again. */
  constructor(threadId: string, names: Iterable<readonly [string, string]> = []) {
    this.#threadId = threadId;
    this.#names = new Map(names);
  }

  /** The parts that an event means; most mean none or one. */
  of(event: AnyRunEvent | LiveEvent): readonly ChatPart[] {
    return isChainEvent(event) ? this.#ofChain(event) : this.#ofLive(event);
  }

  #ofLive({ type, data }: LiveEvent): readonly ChatPart[] {
    const { text, callId, data: update } = Object(data);
    if (type === "text.delta" && typeof text === "string") {
      this.#textOpen = true;
      return [{ type: "text", text }];
    }
    return type === "tool.progress" && typeof callId === "string"
      ? [{ type: "tool_progress", callId, data: update }]
      : [];
  }

  #ofChain(event: AnyRunEvent): readonly ChatPart[] {
    switch (event.type) {
      case "run.started":
      case "run.resumed":
        return [{ type: "run_started", runId: event.runId, threadId: this.#threadId }];
      case "model.responded":
        return this.#afterReply(event.data);
      case "model.reset":
        this.#textOpen = false;
        return [{ type: "reset", reason: event.data.reason }];
      case "tool.requested": {
        const { callId, toolName, args } = event.data;
        this.#names.set(callId, toolName);
        return [{ type: "tool_call", callId, name: toolName, args: args.value }];
      }
      case "tool.finished":
        return [
          this.#result(event.data.callId, event.data.result.value, {
            outcome: event.data.outcome,
            ms: event.data.durationMs,
          }),
        ];
      case "tool.replayed":
        return [
          this.#result(event.data.callId, event.data.result.value, { outcome: event.data.outcome, ms: 0 }),
        ];
      case "approval.requested": {
        const { callId, ticketId, expiresAt } = event.data;
        return [{ type: "approval", callId, ticketId, expiresAt }];
      }
      case "tool.refused":
        return [this.#result(event.data.callId, event.data.result.value, { outcome: "not_started", ms: 0 })];
      default:
        return [];
    }
  }

  #afterReply({
    toolCallIds,
    usage,
    finishReason,
  }: Extract<AnyRunEvent, { type: "model.responded" }>["data"]): readonly ChatPart[] {
    const lastRequest = usage.input + usage.cacheRead + usage.cacheWrite;
    this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage);
    const used: ChatPart = { type: "usage", run: this.#usage, lastRequest };
    if (!this.#textOpen) return [used];
    this.#textOpen = false;
    return [
      { type: "text_done", role: toolCallIds.length === 0 && finishReason === "stop" ? "final" : "preamble" },
      used,
    ];
  }

  #result(
    callId: string,
    result: Json | undefined,
    how: { readonly outcome: string; readonly ms: number },
  ): ChatPart {
    return { type: "tool_result", callId, name: this.#names.get(callId) ?? "", result, ...how };
  }
}

/** The result of a run that has ended. */
export function toChatResult(result: LoopResult, metadata: ChatResult["metadata"]): ChatResult {
  const { text, status, stopReason, runId, usage, record } = result;
  const toolCalls = record.toolCalls.map((call) => ({
    callId: call.callId,
    name: call.toolName,
    args: call.args.value,
    outcome: call.outcome,
    result: call.result?.value,
  }));
  return { text, toolCalls, rounds: record.rounds, status, stopReason, runId, usage, metadata };
}

/** What a client is told of a run that failed: code and run, never the provider's own words. */
export function toErrorBody({ error, stopReason, runId }: LoopResult): ErrorBody {
  const isProvider = error?.fault === "provider";
  const message = isProvider
    ? error.code === "provider_auth"
      ? "The model's provider refused the key; `openfunctions doctor` shows which one is used."
      : "The model could not answer."
    : stopReason === "refusal"
      ? "The model refused to answer."
      : "The run failed.";
  return { code: error?.code ?? stopReason, message, retryable: error?.retryable ?? false, runId };
}
