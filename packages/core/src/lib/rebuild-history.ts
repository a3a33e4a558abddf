/** The history of a run out of its log, for whoever goes on where it stopped. */

import { RecordError } from "./errors.ts";
import { lintHistory } from "./history-linter.ts";
import { type Message, type Part, type ToolCallPart, type ToolResultPart, toolCallsOf } from "./message.ts";
import { resultText } from "./model-content.ts";
import type { CallResult } from "./result.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { Sealed } from "./sealed.ts";

/** Where a log ends: the finished turns, and the calls of a turn that lacks results. */
export interface RebuiltHistory {
  /** What the next request would hold. */
  readonly messages: readonly Message[];
  /** Every message, those too that a compactor left out; absent where it left out none. */
  readonly whole?: readonly Message[];
  readonly open: readonly ToolCallPart[];
  /** Results of this run's calls, by call id. */
  readonly results: ReadonlyMap<string, CallResult>;
}

/** Rebuilds it. Throws `RecordError` naming the first leaf whose value the record does not hold. */
export function rebuildHistory(events: readonly AnyRunEvent[]): RebuiltHistory {
  const history = new HistoryBuilder();
  for (const event of events) history.take(event);
  return history.end();
}

/** The value of a leaf. Throws `RecordError` where it was not captured or was redacted. */
export function openLeaf<T>(sealed: Sealed<T>, where: { readonly seq: number; readonly leaf: string }): T {
  if (sealed.value !== undefined) return sealed.value;
  throw new RecordError(`Event ${where.seq} keeps no value at "${where.leaf}".`, {
    hint: 'Only runs recorded with capture "full", and not redacted, can be resumed or replayed.',
  });
}

/** Follows a log. `take` throws `RecordError` for a leaf without its value. */
export class HistoryBuilder {
  readonly #results = new Map<string, CallResult>();
  #messages: Message[] = [];
  #whole: Message[] | undefined;
  #open: readonly ToolCallPart[] = [];

  take(event: AnyRunEvent): void {
    const { seq } = event;
    switch (event.type) {
      case "run.started": {
        const { history } = event.data;
        if (history === undefined) return;
        // Proof: sealed by this package as messages
        this.#messages = [
          ...(openLeaf(history, { seq, leaf: "/data/history" }) as unknown as readonly Message[]),
        ];
        return;
      }
      case "message.appended":
        return this.#append(openLeaf(event.data.message, { seq, leaf: "/data/message" }));
      case "history.compacted":
        this.#whole ??= this.#messages;
        this.#messages = [...openLeaf(event.data.messages, { seq, leaf: "/data/messages" })];
        return;
      case "history.repaired":
        this.#messages = [...lintHistory(this.#messages).messages];
        return;
      case "model.responded":
        return this.#reply(openLeaf(event.data.reply, { seq, leaf: "/data/reply" }));
      case "tool.refused":
      case "tool.finished":
      case "tool.replayed":
        return this.#observe(event.data.callId, openLeaf(event.data.result, { seq, leaf: "/data/result" }));
      default:
    }
  }

  end(): RebuiltHistory {
    const whole = this.#whole === undefined ? {} : { whole: this.#whole };
    return { messages: this.#messages, ...whole, open: this.#open, results: this.#results };
  }

  #reply(parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const message: Message = { role: "assistant", content: parts };
    this.#push(message);
    this.#open = toolCallsOf(message);
  }

  #observe(callId: string, plain: unknown): void {
    const result = { ...(plain as CallResult), callId }; // Proof: sealed by the pipeline as a result without its call id
    this.#results.set(callId, result);
    const results = this.#open.map((call) => this.#results.get(call.callId));
    if (this.#open.length === 0 || results.some((one) => one === undefined)) return;
    const content = this.#open.map((call) => toPart(call, this.#results.get(call.callId)));
    this.#open = [];
    this.#push({ role: "tool", content });
  }

  /** Tool messages are recorded only where they say something else than the results do. */
  #append(message: Message): void {
    if (message.role === "tool" && this.#messages.at(-1)?.role === "tool") {
      this.#messages.pop();
      this.#whole?.pop();
    }
    this.#push(message);
  }

  #push(message: Message): void {
    this.#messages.push(message);
    this.#whole?.push(message);
  }
}

function toPart({ callId, name }: ToolCallPart, result: CallResult | undefined): ToolResultPart {
  if (result === undefined) throw new RangeError(`Call "${callId}" has no result.`);
  const failed = result.success ? {} : { isError: true as const };
  return { type: "tool_result", callId, name, result: resultText(result), ...failed };
}
