/** The chunks of OpenAI-compatible chat completions as model events. */

import type { FinishReason, ModelEvent } from "./adapter.ts";
import { ChatCalls } from "./chat-calls.ts";
import { cutError, providerErrorFromEvent } from "./http-failure.ts";
import type { StreamDecoder } from "./model-call.ts";
import { type DecoderOptions, startEvent } from "./responses-stream.ts";
import { CHAT_USAGE, estimateUsage, readUsage, usageEvent } from "./usage-fields.ts";
import { entryOf, isRecord, listAt, recordAt, stringAt, type WireRecord } from "./wire-fields.ts";
import { DONE } from "./wire-source.ts";

/** What a chat decoder needs besides. */
export interface ChatDecoderOptions extends DecoderOptions {
  /** The length of the request's text, for the estimate where a server counts nothing. */
  readonly inputChars: () => number;
}

const FINISH: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  length: "length",
  content_filter: "content_filter",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
};

/**
 * Decodes one reply, streamed or whole (`message` in place of `delta`). Its end is `[DONE]`, or a finish reason
 * followed by the end of the body; a body that ends before both is a `ProviderError` (network). An `error`
 * object inside the stream is a `ProviderError` with the provider's code.
 */
export function createChatDecoder(options: ChatDecoderOptions): StreamDecoder {
  return new ChatDecoder(options);
}

class ChatDecoder implements StreamDecoder {
  finished = false;
  readonly #options: ChatDecoderOptions;
  readonly #calls = new ChatCalls();
  #begun: "" | "unnamed" | "named" = "";
  #reason: string | undefined;
  #refused = false;
  #usage: unknown;
  #outputChars = 0;

  constructor(options: ChatDecoderOptions) {
    this.#options = options;
  }

  push(event: unknown, out: ModelEvent[]): void {
    if (event === DONE) return this.#finish(out);
    if (!isRecord(event)) return;
    if (isRecord(event["error"]) || typeof event["error"] === "string" || event["type"] === "error") {
      throw providerErrorFromEvent(event["error"] ?? event, this.#options.failures);
    }
    const choice = listAt(event, "choices")[0];
    // OpenRouter's choices have an error of their own, or nothing but this reason (its API overview, 2026-11-30).
    if (isRecord(choice) && (isRecord(choice["error"]) || choice["finish_reason"] === "error")) {
      const error = choice["error"] ?? { message: 'The reply ended with the reason "error".' };
      throw providerErrorFromEvent(error, this.#options.failures);
    }
    // A first chunk without a model may be one of filter results alone (Azure), with empty id and model.
    const isNamed = stringAt(event, "model") !== "";
    if (this.#begun === "" || (this.#begun === "unnamed" && isNamed)) out.push(startEvent(event));
    if (this.#begun !== "named") this.#begun = isNamed ? "named" : "unnamed";
    if (isRecord(event["usage"])) this.#usage = event["usage"];
    if (isRecord(choice)) this.#addChoice(choice, out);
  }

  end(out: ModelEvent[]): void {
    if (this.finished) return;
    if (this.#reason === undefined) throw cutError(this.#options.failures.provider);
    this.#finish(out);
  }

  #addChoice(choice: WireRecord, out: ModelEvent[]): void {
    const delta = recordAt(choice, "delta") ?? recordAt(choice, "message");
    if (delta !== undefined) this.#addDelta(delta, out);
    const reason = choice["finish_reason"];
    if (typeof reason === "string") this.#reason = reason;
  }

  #addDelta(delta: WireRecord, out: ModelEvent[]): void {
    const { content } = delta;
    if (typeof content === "string") this.#say("text_delta", content, out);
    else if (Array.isArray(content)) this.#addParts(content, out);
    const thought = delta["reasoning_content"] ?? delta["reasoning"];
    if (typeof thought === "string") this.#say("reasoning_delta", thought, out);
    const { refusal } = delta;
    if (typeof refusal === "string" && refusal !== "") {
      this.#refused = true;
      this.#say("text_delta", refusal, out);
    }
    const calls = delta["tool_calls"];
    if (Array.isArray(calls)) for (const call of calls) this.#calls.add(call, out);
    if (isRecord(delta["function_call"]))
      this.#calls.add({ index: 0, function: delta["function_call"] }, out);
  }

  /** Mistral sends content as parts: text, and thinking that holds text parts (openai-compatible/mistral-reasoning). */
  #addParts(parts: readonly unknown[], out: ModelEvent[]): void {
    for (const part of parts) {
      if (!isRecord(part)) continue;
      if (part["type"] === "thinking") {
        for (const inner of listAt(part, "thinking"))
          this.#say("reasoning_delta", stringAt(isRecord(inner) ? inner : undefined, "text"), out);
      } else {
        this.#say("text_delta", stringAt(part, "text"), out);
      }
    }
  }

  #say(type: "text_delta" | "reasoning_delta", text: string, out: ModelEvent[]): void {
    if (text === "") return;
    this.#outputChars += text.length;
    out.push({ type, text });
  }

  #finish(out: ModelEvent[]): void {
    if (this.finished) return;
    const truncated = this.#calls.finish(out, this.#options.restore);
    out.push(this.#usageEvent());
    this.finished = true;
    out.push({ type: "finish", reason: this.#finishReason(truncated) });
  }

  #usageEvent(): ModelEvent {
    const usage = readUsage(this.#usage, CHAT_USAGE);
    if (usage !== undefined) return usageEvent(usage, this.#options.price, this.#usage);
    return { type: "usage", usage: estimateUsage(this.#options.inputChars(), this.#outputChars) };
  }

  #finishReason(truncated: boolean): FinishReason {
    const stated = entryOf(FINISH, this.#reason) ?? "unknown";
    if (stated === "length" || truncated) return "length";
    if (stated === "content_filter") return "content_filter";
    if (this.#refused) return "refusal";
    if (this.#calls.count > 0) return "tool_calls";
    return stated === "tool_calls" ? "unknown" : stated;
  }
}
