/** The event stream of the Messages API as model events. */

import {
  addUsage,
  type FinishReason,
  type Json,
  type ModelEvent,
  NO_USAGE,
  type ProviderPart,
  type Usage,
} from "@openfunctions/core";
import * as wire from "@openfunctions/core/wire";
import type { PausedTurn } from "./paused-turn.ts";
import { MAX_PAUSES, PENDING, STOP_REASONS, USAGE_FIELDS } from "./quirks.ts";

interface OpenBlock {
  readonly start: wire.WireRecord;
  readonly type: string;
  readonly callId: string;
  /** Place among the calls of the reply; -1 for any other block. */
  readonly index: number;
  /** Text, thinking, or the JSON of an input, as far as it came. */
  text: string;
  signature: string;
  readonly citations: unknown[];
}

const DELTA_FIELDS: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  input_json_delta: "partial_json",
};

/**
 * Decodes one reply, over as many messages as Claude pauses it into. Complete at `message_stop`; a body that ends
 * before is a `ProviderError` (network), an `error` event one with the provider's code. A message that starts inside
 * another takes its place (fixture anthropic/spliced-message-start). Signed thinking, citations and blocks of tools
 * that Anthropic ran are opaque parts, verbatim.
 */
export class MessagesDecoder implements wire.StreamDecoder {
  finished = false;
  readonly #options: wire.DecoderOptions;
  readonly #notes: ModelEvent[] = [];
  readonly #open = new Map<unknown, OpenBlock>();
  readonly #unanswered = new Set<string>();
  #blocks: Json[] = [];
  #callCount = 0;
  #truncated = false;
  #inMessage = false;
  #reason: unknown;
  #container: string | undefined;
  #counts: Record<string, number> = {};
  #usageBefore: Usage = NO_USAGE;
  #pauses = 0;
  #isPaused = false;

  constructor(options: wire.DecoderOptions) {
    this.#options = options;
  }

  push(event: unknown, out: ModelEvent[]): void {
    if (!wire.isRecord(event)) return;
    switch (event["type"]) {
      case "content_block_delta":
        return this.#addDelta(this.#open.get(event["index"]), wire.recordAt(event, "delta"), out);
      case "content_block_start":
        return this.#openBlock(event["index"], wire.recordAt(event, "content_block"), out);
      case "content_block_stop":
        return this.#closeBlock(event["index"], out);
      case "message_start":
        return this.#begin(wire.recordAt(event, "message"), out);
      case "message_delta":
        return this.#addEnd(event, out);
      case "message_stop":
        return this.#stop(out);
      case "error":
        throw wire.providerErrorFromEvent(event["error"] ?? event, this.#options.failures);
    }
  }

  end(): void {
    if (!this.finished) throw wire.cutError(this.#options.failures.provider);
  }

  /** The turn that has to go on in another request, once per pause. */
  takePause(): PausedTurn | undefined {
    if (!this.#isPaused) return undefined;
    this.#isPaused = false;
    return { blocks: this.#blocks, container: this.#container };
  }

  /** Says a warning when the reply begins. */
  warn(code: string, detail: string): void {
    this.#notes.push({ type: "warning", code, detail });
  }

  #begin(message: wire.WireRecord | undefined, out: ModelEvent[]): void {
    if (this.#inMessage) this.#startOver(out);
    this.#inMessage = true;
    this.#reason = undefined;
    this.#counts = {};
    if (this.#pauses === 0) out.push(...this.#notes, wire.startEvent(message));
    this.#count(wire.recordAt(message, "usage"), out);
  }

  #startOver(out: ModelEvent[]): void {
    if (this.#pauses > 0) throw wire.cutError(this.#options.failures.provider);
    out.push({ type: "reset", reason: "The reply began again before its end." });
    this.#open.clear();
    this.#unanswered.clear();
    this.#blocks = [];
    this.#callCount = 0;
    this.#truncated = false;
  }

  #openBlock(key: unknown, start: wire.WireRecord | undefined, out: ModelEvent[]): void {
    const type = wire.stringAt(start, "type");
    if (start === undefined) return;
    const isCall = type === "tool_use";
    const callId = isCall ? wire.callIdOf(wire.stringAt(start, "id")) : "";
    const index = isCall ? this.#callCount++ : -1;
    const signature = wire.stringAt(start, "signature");
    const block: OpenBlock = { start, type, callId, index, text: "", signature, citations: [] };
    this.#open.set(key, block);
    const name = wire.stringAt(start, "name");
    if (isCall) out.push({ type: "tool_call_delta", index, callId, name, argsText: "" });
    else if (type === "text" || type === "thinking") this.#grow(block, wire.stringAt(start, type), out);
  }

  #addDelta(block: OpenBlock | undefined, delta: wire.WireRecord | undefined, out: ModelEvent[]): void {
    if (block === undefined || delta === undefined) return;
    const field = wire.entryOf(DELTA_FIELDS, delta["type"]);
    const isPlain = block.type === "text" || block.type === "thinking";
    // A delta of another kind than its block says nothing of it.
    if (field !== undefined && (isPlain ? field !== block.type : field !== "partial_json")) return;
    if (field !== undefined) this.#grow(block, wire.stringAt(delta, field), out);
    else if (delta["type"] === "signature_delta") block.signature += wire.stringAt(delta, "signature");
    else if (delta["type"] === "citations_delta") block.citations.push(delta["citation"]);
  }

  #grow(block: OpenBlock, text: string, out: ModelEvent[]): void {
    if (text === "") return;
    block.text += text;
    if (block.type === "text") out.push({ type: "text_delta", text });
    else if (block.type === "thinking") out.push({ type: "reasoning_delta", text });
    else if (block.index >= 0) out.push({ type: "tool_call_delta", index: block.index, argsText: text });
  }

  #closeBlock(key: unknown, out: ModelEvent[]): void {
    const block = this.#open.get(key);
    if (block === undefined) return;
    this.#open.delete(key);
    const { start, type, text, signature, citations } = block;
    if (type === "text") {
      const isCited = citations.length > 0;
      const whole = wire.asJson(isCited ? { ...start, text, citations } : { ...start, text });
      if (text.trim() !== "") this.#blocks.push(whole);
      if (isCited) this.#pushOpaque(whole, out);
    } else if (type === "thinking") {
      // Without its signature (cut before it came) a thinking block is refused.
      if (signature !== "") this.#pushBlock({ ...start, thinking: text, signature }, out);
    } else if (type === "tool_use") this.#closeCall(block, out);
    else if ("input" in start)
      this.#pushBlock({ ...start, input: wire.parseToolArguments(text || start["input"]).args }, out);
    else this.#pushBlock(start, out);
  }

  #closeCall({ start, index, callId, text }: OpenBlock, out: ModelEvent[]): void {
    const parsed = wire.parseToolArguments(text || start["input"]);
    const { argsText, argsError, truncated } = parsed;
    if (truncated === true) this.#truncated = true;
    this.#blocks.push(wire.asJson({ ...start, input: parsed.args }));
    const name = wire.stringAt(start, "name");
    const restored = argsError === undefined ? this.#options.restore?.(name, parsed.args) : undefined;
    const args = restored ?? parsed.args;
    out.push(wire.defined({ type: "tool_call" as const, index, callId, name, args, argsText, argsError }));
  }

  /** Keeps a block that goes back as it came; calls of tools that Anthropic runs, and their results, say so. */
  #pushBlock(block: wire.WireRecord, out: ModelEvent[]): void {
    this.#blocks.push(wire.asJson(block));
    const isCall = wire.stringAt(block, "type").endsWith("_tool_use");
    const id = wire.stringAt(block, isCall ? "id" : "tool_use_id");
    if (isCall) this.#unanswered.add(id);
    else this.#unanswered.delete(id);
    this.#pushOpaque(
      wire.asJson(block),
      out,
      id === "" ? undefined : { id, stage: isCall ? "call" : "result" },
    );
  }

  #pushOpaque(data: Json, out: ModelEvent[], providerCall?: ProviderPart["providerCall"]): void {
    const { model, failures } = this.#options;
    const { provider } = failures;
    const executor = providerCall && ("provider" as const);
    const part = { type: "provider" as const, provider, model, data, executor, providerCall };
    out.push({ type: "part", part: wire.defined(part) });
  }

  #addEnd(event: wire.WireRecord, out: ModelEvent[]): void {
    const delta = wire.recordAt(event, "delta");
    this.#reason = delta?.["stop_reason"] ?? this.#reason;
    this.#container = wire.stringAt(wire.recordAt(delta, "container"), "id") || this.#container;
    const details = wire.recordAt(delta, "stop_details");
    const detail = `${wire.stringAt(details, "category")} ${wire.stringAt(details, "explanation")}`.trim();
    if (detail !== "") out.push({ type: "warning", code: "refusal_details", detail });
    this.#count(wire.recordAt(event, "usage"), out);
  }

  /** Start and delta fill one set of fields, the last value wins (cases field A16, A17). */
  #count(usage: wire.WireRecord | undefined, out: ModelEvent[]): void {
    if (usage === undefined) return;
    const stated: wire.WireRecord = { ...usage, ...wire.recordAt(usage, "output_tokens_details") };
    for (const field of Object.values(USAGE_FIELDS))
      if (typeof stated[field] === "number") this.#counts[field] = wire.countAt(stated, field);
    out.push(wire.usageEvent(this.#usage(), this.#options.price));
  }

  /** Every message of a paused turn was paid for, so they are added up. */
  #usage(): Usage {
    const at = (field: keyof typeof USAGE_FIELDS): number => this.#counts[USAGE_FIELDS[field]] ?? 0;
    const [input, cacheRead, cacheWrite] = [at("input"), at("cacheRead"), at("cacheWrite")];
    const reasoning = Math.min(at("reasoning"), at("written"));
    const [output, total] = [at("written") - reasoning, input + cacheRead + cacheWrite + at("written")];
    return addUsage(this.#usageBefore, { input, cacheRead, cacheWrite, output, reasoning, total });
  }

  #stop(out: ModelEvent[]): void {
    for (const key of this.#open.keys()) this.#closeBlock(key, out);
    this.#inMessage = false;
    if (this.#reason === "pause_turn" && this.#pauses < MAX_PAUSES) {
      this.#pauses += 1;
      this.#isPaused = true;
      this.#usageBefore = this.#usage();
      return;
    }
    const reason = this.#finishReason();
    // Where tools of ours are asked for first, the result of a tool that Anthropic runs comes with the next reply.
    if (reason === "tool_calls")
      for (const id of this.#unanswered) this.#pushOpaque({ type: PENDING }, out, { id, stage: "result" });
    this.finished = true;
    out.push({ type: "finish", reason });
  }

  #finishReason(): FinishReason {
    const stated = wire.entryOf(STOP_REASONS, this.#reason) ?? "unknown";
    if (stated === "refusal" || stated === "length") return stated;
    if (this.#truncated || this.#reason === "pause_turn") return "length";
    if (this.#callCount > 0) return "tool_calls";
    return stated === "tool_calls" ? "unknown" : stated;
  }
}
