/** The event stream of OpenAI's Responses API as model events. */

import type { FinishReason, ModelEvent } from "./adapter.ts";
import { defined } from "./defined.ts";
import { cutError, type FailureReading, providerErrorFromEvent } from "./http-failure.ts";
import type { Json, JsonObject } from "./json.ts";
import type { StreamDecoder } from "./model-call.ts";
import type { ModelPrice } from "./model-policy.ts";
import { partnerDigest, type PartnerMark, toMarkData } from "./responses-marks.ts";
import { parseToolArguments } from "./tool-arguments.ts";
import { readUsage, RESPONSES_USAGE, usageEvent } from "./usage-fields.ts";
import { asJson, callIdOf, isRecord, listAt, recordAt, stringAt, type WireRecord } from "./wire-fields.ts";

/** What a decoder needs to know besides the stream. */
export interface DecoderOptions {
  /** Written into opaque parts: they go back only to this provider and model. */
  readonly model: string;
  readonly price?: ModelPrice | undefined;
  /** How failures stated inside the stream are read; names the provider. */
  readonly failures: FailureReading;
  /** Undoes what the schema dialect rewrote, before anybody validates. */
  readonly restore?: (name: string, args: JsonObject) => JsonObject;
}

/** Items the provider ran itself; they travel back as they are (openai 7.59.0, ResponseOutputItem). */
const PROVIDER_RUN = /^((web_search|file_search|code_interpreter|image_generation|mcp)_call|mcp_list_tools)$/;

/** The `start` event of a reply or of its first chunk. */
export function startEvent(source: WireRecord | undefined): ModelEvent {
  const responseId = stringAt(source, "id") || undefined;
  return defined({ type: "start" as const, responseId, model: stringAt(source, "model") || undefined });
}

/**
 * Decodes one reply. Complete at `response.completed` or `response.incomplete` (there is no `[DONE]`); a body
 * that ends before is a `ProviderError` (network), `response.failed` and `error` are `ProviderError`s with the
 * provider's code. Every output item counts: text and refusals are text, function calls are calls, all others
 * are opaque parts, verbatim.
 */
export function createResponsesDecoder(options: DecoderOptions): StreamDecoder {
  return new ResponsesDecoder(options);
}

interface OpenCall {
  readonly index: number;
  callId: string;
  name: string;
  text: string;
}

class ResponsesDecoder implements StreamDecoder {
  finished = false;
  readonly #options: DecoderOptions;
  readonly #calls = new Map<unknown, OpenCall>();
  readonly #spoken = new Set<unknown>();
  #callCount = 0;
  #itemsDone = 0;
  #refused = false;
  #truncated = false;
  /** The id of the reasoning item that ended just before the open item. */
  #reasoned: string | undefined;

  constructor(options: DecoderOptions) {
    this.#options = options;
  }

  push(event: unknown, out: ModelEvent[]): void {
    if (!isRecord(event)) return;
    switch (event["type"]) {
      case "response.output_text.delta":
        return this.#speak(event, out);
      case "response.refusal.delta":
        this.#refused = true;
        return this.#speak(event, out);
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        out.push({ type: "reasoning_delta", text: stringAt(event, "delta") });
        return;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#addArguments(event, out);
      default:
        return this.#pushRare(event, out);
    }
  }

  end(): void {
    if (!this.finished) throw cutError(this.#options.failures.provider);
  }

  #pushRare(event: WireRecord, out: ModelEvent[]): void {
    const response = recordAt(event, "response");
    switch (event["type"]) {
      case "response.created":
        out.push(startEvent(response));
        return;
      case "response.reasoning_summary_part.added":
        if (event["summary_index"] !== 0) out.push({ type: "reasoning_delta", text: "\n\n" });
        return;
      case "response.output_item.added":
        return this.#openItem(event, out);
      case "response.output_item.done":
        this.#itemsDone += 1;
        return this.#closeItem(recordAt(event, "item"), event["output_index"], out);
      case "response.completed":
        return this.#finish(response, out);
      case "response.incomplete":
        return this.#finish({ ...response, status: "incomplete" }, out);
      case "response.failed":
      case "response.cancelled":
        throw providerErrorFromEvent(
          response?.["error"] ?? { message: `The response ended as ${stringAt(response, "status")}.` },
          this.#options.failures,
        );
      case "error":
        throw providerErrorFromEvent(event["error"] ?? event, this.#options.failures);
    }
    if (event["object"] === "response") this.#wholeBody(event, out);
    else if (event["type"] === undefined && isRecord(event["error"]))
      throw providerErrorFromEvent(event, this.#options.failures);
  }

  /** A server that answered without streaming: the same items, one after the other. */
  #wholeBody(response: WireRecord, out: ModelEvent[]): void {
    if (isRecord(response["error"])) throw providerErrorFromEvent(response["error"], this.#options.failures);
    if (response["status"] !== "completed" && response["status"] !== "incomplete") return;
    out.push(startEvent(response));
    this.#finish(response, out);
  }

  #speak(event: WireRecord, out: ModelEvent[]): void {
    const delta = event["delta"];
    if (typeof delta !== "string" || delta === "") return;
    this.#spoken.add(event["output_index"]);
    out.push({ type: "text_delta", text: delta });
  }

  #openItem(event: WireRecord, out: ModelEvent[]): void {
    const item = recordAt(event, "item");
    const type = stringAt(item, "type");
    if (type !== "function_call" && type !== "custom_tool_call") return;
    const call = this.#callOf(event["output_index"]);
    call.callId = callIdOf(stringAt(item, "call_id"), stringAt(item, "id"));
    call.name = stringAt(item, "name");
    const { index, callId, name } = call;
    out.push({ type: "tool_call_delta", index, callId, name, argsText: "" });
  }

  // Keyed by output_index: some servers give a new item id in every event (openai/github-copilot-id-rotation).
  #callOf(key: unknown): OpenCall {
    const known = this.#calls.get(key);
    if (known !== undefined) return known;
    const call: OpenCall = { index: this.#callCount, callId: "", name: "", text: "" };
    this.#callCount += 1;
    this.#calls.set(key, call);
    return call;
  }

  #addArguments(event: WireRecord, out: ModelEvent[]): void {
    const call = this.#callOf(event["output_index"]);
    const argsText = stringAt(event, "delta");
    call.text += argsText;
    out.push({ type: "tool_call_delta", index: call.index, argsText });
  }

  #closeItem(item: WireRecord | undefined, key: unknown, out: ModelEvent[]): void {
    if (item === undefined) return;
    const type = stringAt(item, "type");
    if (type === "message") this.#closeMessage(item, key, out);
    else if (type === "function_call" || type === "custom_tool_call") {
      const call = this.#callOf(key);
      call.callId = callIdOf(stringAt(item, "call_id"), call.callId, stringAt(item, "id"));
      call.name = stringAt(item, "name") || call.name;
      this.#calls.delete(key);
      const args = this.#closeCall(call, (item["arguments"] ?? item["input"]) || call.text, out);
      if (this.#reasoned !== undefined)
        this.#mark({ after: this.#reasoned, callId: call.callId, digest: partnerDigest(args) }, out);
    } else this.#pushOpaque(asJson(item), out, PROVIDER_RUN.test(type));
    this.#reasoned = type === "reasoning" ? stringAt(item, "id") : undefined;
  }

  #closeMessage(item: WireRecord, key: unknown, out: ModelEvent[]): void {
    let text = "";
    for (const part of listAt(item, "content")) {
      if (!isRecord(part)) continue;
      if (part["type"] === "refusal") this.#refused = true;
      text += stringAt(part, "text") + stringAt(part, "refusal");
    }
    if (!this.#spoken.has(key) && text !== "") out.push({ type: "text_delta", text });
    const [phase, id] = [stringAt(item, "phase") || undefined, stringAt(item, "id") || undefined];
    if (text === "" || (phase ?? this.#reasoned) === undefined) return;
    this.#mark(defined({ phase, id, after: this.#reasoned, digest: partnerDigest(text) }), out);
  }

  #closeCall({ index, callId, name }: OpenCall, raw: unknown, out: ModelEvent[]): JsonObject {
    const { args: parsed, argsText, argsError, truncated } = parseToolArguments(raw);
    if (truncated === true) this.#truncated = true;
    const args = argsError === undefined ? (this.#options.restore?.(name, parsed) ?? parsed) : parsed;
    out.push(defined({ type: "tool_call" as const, index, callId, name, args, argsText, argsError }));
    return args;
  }

  #mark(mark: PartnerMark, out: ModelEvent[]): void {
    this.#pushOpaque(toMarkData(mark), out);
  }

  #pushOpaque(data: Json, out: ModelEvent[], isProviderRun: boolean = false): void {
    const { model, failures } = this.#options;
    const executor = isProviderRun && { executor: "provider" as const };
    out.push({
      type: "part",
      part: { type: "provider", provider: failures.provider, model, data, ...executor },
    });
  }

  #finish(response: WireRecord | undefined, out: ModelEvent[]): void {
    // Some servers send no item events; what they produced is in the final response.
    if (this.#itemsDone === 0) {
      for (const [key, item] of listAt(response, "output").entries())
        this.#closeItem(isRecord(item) ? item : undefined, key, out);
    }
    for (const call of this.#calls.values())
      this.#closeCall({ ...call, callId: callIdOf(call.callId) }, call.text, out);
    const usage = readUsage(response?.["usage"], RESPONSES_USAGE);
    if (usage !== undefined) out.push(usageEvent(usage, this.#options.price, response?.["usage"]));
    this.finished = true;
    out.push({ type: "finish", reason: this.#reason(response) });
  }

  #reason(response: WireRecord | undefined): FinishReason {
    if (response?.["status"] === "incomplete") {
      const reason = stringAt(recordAt(response, "incomplete_details"), "reason");
      if (reason === "content_filter") return "content_filter";
      return reason === "max_output_tokens" ? "length" : "unknown";
    }
    if (this.#truncated) return "length";
    if (this.#refused) return "refusal";
    return this.#callCount > 0 ? "tool_calls" : "stop";
  }
}
