/** The event stream of OpenAI's Responses API as model events. */

import type { FinishReason, ModelEvent } from "./adapter.ts";
import { ProviderError } from "./errors.ts";
import { type FailureReading, providerErrorFromEvent } from "./http-failure.ts";
import type { JsonObject } from "./json.ts";
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
const PROVIDER_RUN: ReadonlySet<string> = new Set([
  "web_search_call",
  "file_search_call",
  "code_interpreter_call",
  "image_generation_call",
  "mcp_call",
  "mcp_list_tools",
]);

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
    if (this.finished) return;
    const { provider } = this.#options.failures;
    throw new ProviderError(`The reply of ${provider} was cut before its end.`, {
      provider,
      kind: "network",
    });
  }

  #pushRare(event: WireRecord, out: ModelEvent[]): void {
    const response = recordAt(event, "response");
    switch (event["type"]) {
      case "response.created":
        return this.#start(response, out);
      case "response.reasoning_summary_part.added":
        if (event["summary_index"] !== 0) out.push({ type: "reasoning_delta", text: "\n\n" });
        return;
      case "response.output_item.added":
        return this.#openItem(event, out);
      case "response.output_item.done":
        this.#itemsDone += 1;
        return this.#closeItem(recordAt(event, "item"), { key: event["output_index"], out });
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
    this.#start(response, out);
    this.#finish(response, out);
  }

  #start(response: WireRecord | undefined, out: ModelEvent[]): void {
    const responseId = stringAt(response, "id");
    const model = stringAt(response, "model");
    out.push({
      type: "start",
      ...(responseId === "" ? {} : { responseId }),
      ...(model === "" ? {} : { model }),
    });
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
    out.push({
      type: "tool_call_delta",
      index: call.index,
      callId: call.callId,
      name: call.name,
      argsText: "",
    });
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

  #closeItem(
    item: WireRecord | undefined,
    where: { readonly key: unknown; readonly out: ModelEvent[] },
  ): void {
    if (item === undefined) return;
    const type = stringAt(item, "type");
    const reasoned = this.#reasoned;
    this.#reasoned = type === "reasoning" ? stringAt(item, "id") : undefined;
    if (type === "message") return this.#closeMessage(item, { ...where, reasoned });
    if (type === "function_call" || type === "custom_tool_call") {
      const call = this.#callOf(where.key);
      call.callId = callIdOf(stringAt(item, "call_id"), call.callId, stringAt(item, "id"));
      call.name = stringAt(item, "name") || call.name;
      const raw = item["arguments"] ?? item["input"];
      this.#calls.delete(where.key);
      return this.#closeCall(call, {
        raw: raw === undefined || raw === "" ? call.text : raw,
        reasoned,
        out: where.out,
      });
    }
    const executor = PROVIDER_RUN.has(type) ? { executor: "provider" as const } : {};
    where.out.push({
      type: "part",
      part: { type: "provider", ...this.#owner(), data: asJson(item), ...executor },
    });
  }

  #closeMessage(
    item: WireRecord,
    where: { readonly key: unknown; readonly reasoned: string | undefined; readonly out: ModelEvent[] },
  ): void {
    let text = "";
    for (const part of listAt(item, "content")) {
      if (!isRecord(part)) continue;
      if (part["type"] === "refusal") this.#refused = true;
      text += stringAt(part, "text") + stringAt(part, "refusal");
    }
    if (!this.#spoken.has(where.key) && text !== "") where.out.push({ type: "text_delta", text });
    const phase = stringAt(item, "phase");
    const id = stringAt(item, "id");
    if (text === "" || (phase === "" && where.reasoned === undefined)) return;
    const mark = {
      ...(phase === "" ? {} : { phase }),
      ...(id === "" ? {} : { id }),
      ...after(where.reasoned),
      digest: partnerDigest(text),
    };
    where.out.push(this.#mark(mark));
  }

  #closeCall(
    call: OpenCall,
    how: { readonly raw: unknown; readonly reasoned: string | undefined; readonly out: ModelEvent[] },
  ): void {
    const { args: parsed, argsText, argsError, truncated } = parseToolArguments(how.raw);
    if (truncated === true) this.#truncated = true;
    const args = argsError === undefined ? (this.#options.restore?.(call.name, parsed) ?? parsed) : parsed;
    const { index, callId, name } = call;
    how.out.push({
      type: "tool_call",
      index,
      callId,
      name,
      args,
      argsText,
      ...(argsError === undefined ? {} : { argsError }),
    });
    if (how.reasoned !== undefined)
      how.out.push(this.#mark({ ...after(how.reasoned), callId, digest: partnerDigest(args) }));
  }

  #mark(mark: PartnerMark): ModelEvent {
    return { type: "part", part: { type: "provider", ...this.#owner(), data: toMarkData(mark) } };
  }

  #owner(): { readonly provider: string; readonly model: string } {
    return { provider: this.#options.failures.provider, model: this.#options.model };
  }

  #finish(response: WireRecord | undefined, out: ModelEvent[]): void {
    // Some servers send no item events; what they produced is in the final response.
    if (this.#itemsDone === 0) {
      for (const [key, item] of listAt(response, "output").entries()) {
        this.#closeItem(isRecord(item) ? item : undefined, { key, out });
      }
    }
    for (const call of this.#calls.values()) {
      this.#closeCall(
        { ...call, callId: callIdOf(call.callId) },
        { raw: call.text, reasoned: undefined, out },
      );
    }
    const usage = readUsage(response?.["usage"], RESPONSES_USAGE);
    if (usage !== undefined) out.push(usageEvent(usage, { price: this.#options.price }));
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

function after(reasoned: string | undefined): { readonly after?: string } {
  return reasoned === undefined ? {} : { after: reasoned };
}
