/** The one assembler of replies: a stream of model events becomes a `ModelReply`. */

import {
  type FinishReason,
  type ModelEvent,
  type ModelReply,
  NO_USAGE,
  type ToolCall,
  type Usage,
} from "./adapter.ts";
import { ProtocolError } from "./errors.ts";
import { isWritable, type JsonObject, wellFormedJson } from "./json.ts";
import type { Part, ProviderPart } from "./message.ts";

/**
 * Assembles a stream. Deltas append to the open part, a `part` event closes it, `tool_call` is final for its
 * index, `reset` drops everything since the last `start`; `retry` and `fallback` change nothing. `onEvent` sees
 * each event in the tick it arrives. Throws `ProtocolError` for a stream without `finish`, with anything after
 * it, or with empty or equal call ids.
 */
export async function collect(
  stream: AsyncIterable<ModelEvent>,
  onEvent?: (event: ModelEvent) => void,
): Promise<ModelReply> {
  const assembly = new ReplyAssembly();
  for await (const event of stream) {
    assembly.add(event);
    onEvent?.(event);
  }
  return assembly.finish();
}

type Slot =
  | { readonly kind: "text" | "reasoning"; text: string }
  | { readonly kind: "part"; readonly part: Part };

class ReplyAssembly {
  #slots: Slot[] = [];
  #calls = new Map<number, ToolCall>();
  #usage: Usage = NO_USAGE;
  #finishReason: FinishReason | undefined;
  #reportedModel: string | undefined;
  #responseId: string | undefined;
  readonly #warnings: { readonly code: string; readonly detail: string }[] = [];

  add(event: ModelEvent): void {
    if (this.#finishReason !== undefined) {
      throw new ProtocolError(`The stream went on with "${event.type}" after "finish".`);
    }
    switch (event.type) {
      case "text_delta":
        return this.#append("text", event.text);
      case "reasoning_delta":
        return this.#append("reasoning", event.text);
      case "tool_call":
        return this.#addCall(event);
      case "part":
        return this.#addPart(event.part);
      case "usage":
        this.#usage = event.usage;
        return;
      case "warning":
        this.#warnings.push({ code: event.code, detail: event.detail.toWellFormed() });
        return;
      case "start":
        this.#reportedModel = event.model?.toWellFormed() ?? this.#reportedModel;
        this.#responseId = event.responseId?.toWellFormed() ?? this.#responseId;
        return;
      case "reset":
        return this.#reset();
      case "finish":
        this.#finishReason = event.reason;
        return;
      case "tool_call_delta":
      case "retry":
      case "fallback":
        return;
    }
  }

  finish(): ModelReply {
    if (this.#finishReason === undefined) throw new ProtocolError('The stream ended without "finish".');
    const toolCalls = [...this.#calls.values()];
    checkCallIds(toolCalls);
    const parts = this.#slots.map(toPart);
    const reply = {
      text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""),
      toolCalls,
      toolCall: toolCalls[0],
      parts,
      finishReason: this.#finishReason,
      usage: this.#usage,
      warnings: this.#warnings,
    };
    return {
      ...reply,
      ...(this.#reportedModel === undefined ? {} : { reportedModel: this.#reportedModel }),
      ...(this.#responseId === undefined ? {} : { responseId: this.#responseId }),
    };
  }

  #append(kind: "text" | "reasoning", text: string): void {
    const last = this.#slots.at(-1);
    if (last !== undefined && last.kind === kind) last.text += text;
    else this.#slots.push({ kind, text });
  }

  /** What no record and no request can hold as it came is left out; the rest of the reply stands. */
  #addPart(part: ProviderPart): void {
    if (isWritable(part.data)) this.#slots.push({ kind: "part", part });
    else
      this.#warnings.push({
        code: "part_left_out",
        detail: `An opaque part of "${part.provider}" ${UNFIT}.`,
      });
  }

  #addCall(event: Extract<ModelEvent, { type: "tool_call" }>): void {
    if (this.#calls.has(event.index)) {
      throw new ProtocolError(`The stream finished tool call ${event.index} twice.`);
    }
    const isWhole = isWritable(event.args);
    const argsError = event.argsError ?? (isWhole ? undefined : UNWRITABLE);
    const argsText = event.argsText.toWellFormed();
    const given = isWhole ? event.args : {};
    const args = MAYBE_HALF.test(event.argsText) ? wellFormedObject(given) : given;
    const [callId, name] = [event.callId.toWellFormed(), event.name.toWellFormed()];
    this.#calls.set(event.index, {
      callId,
      name,
      args,
      argsText,
      ...(argsError === undefined ? {} : { argsError }),
    });
    this.#slots.push({ kind: "part", part: { type: "tool_call", callId, name, args } });
  }

  #reset(): void {
    this.#slots = [];
    this.#calls = new Map();
    this.#usage = NO_USAGE;
    this.#reportedModel = undefined;
    this.#responseId = undefined;
    this.#warnings.length = 0;
  }
}

function toPart(slot: Slot): Part {
  return slot.kind === "part" ? slot.part : { type: slot.kind, text: slot.text.toWellFormed() };
}

const UNFIT = "holds an endless number or is nested too deeply";
const UNWRITABLE = `The JSON ${UNFIT}.`;

/** Half a surrogate pair, as itself or as an escape, has no place in a record or a request. */
const MAYBE_HALF = /[\ud800-\udfff]|\\ud[89a-f]/i;

function wellFormedObject(args: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([key, value]) => [key.toWellFormed(), wellFormedJson(value)]),
  );
}

function checkCallIds(calls: readonly ToolCall[]): void {
  const seen = new Set<string>();
  for (const { callId, name } of calls) {
    if (callId === "") throw new ProtocolError(`The call of "${name}" has an empty id.`);
    if (seen.has(callId)) throw new ProtocolError(`Two calls of one reply have the id "${callId}".`);
    seen.add(callId);
  }
}
