/** The chunks of generateContentStream as model events. */

import {
  type FinishReason,
  type JsonObject,
  type ModelEvent,
  ProviderError,
  type Usage,
} from "@openfunctions/core";
import {
  asJson,
  callIdOf,
  cutError,
  type DecoderOptions,
  isRecord,
  listAt,
  parseToolArguments,
  recordAt,
  type StreamDecoder,
  stringAt,
  usageEvent,
  type WireRecord,
} from "@openfunctions/core/wire";
import { PartialCall } from "./partial-call.ts";
import { FINISH_REASONS, MALFORMED_REASONS } from "./quirks.ts";
import { toSignatureMark } from "./signature-mark.ts";
import { geminiErrorFromEvent } from "./to-error.ts";
import { fromUsageMetadata } from "./usage.ts";

/** What a decoder needs besides the chunks. */
export interface GeminiDecoderOptions extends DecoderOptions {
  /** Called where the model wrote something no client can use, before the failure is thrown. */
  readonly onMalformed?: () => void;
}

/**
 * Decodes one reply. It is complete at the chunk with a `finishReason` (recorded streams end there, without a
 * terminator) or with a block reason; a body that ends before is a `ProviderError` (network), one that never had a
 * candidate a `ProviderError` (protocol).
 */
export function createGeminiDecoder(options: GeminiDecoderOptions): StreamDecoder {
  return new GeminiDecoder(options);
}

class GeminiDecoder implements StreamDecoder {
  finished = false;
  readonly #options: GeminiDecoderOptions;
  readonly #provider: string;
  #started = false;
  #sawCandidate = false;
  #callCount = 0;
  #truncated = false;
  #partial: PartialCall | undefined;
  #usage: Usage | undefined;
  #grounding: WireRecord | undefined;

  constructor(options: GeminiDecoderOptions) {
    this.#options = options;
    this.#provider = options.failures.provider;
  }

  push(chunk: unknown, out: ModelEvent[]): void {
    if (!isRecord(chunk)) return;
    if (isRecord(chunk["error"])) throw geminiErrorFromEvent(chunk, this.#options.failures);
    if (!this.#started) this.#start(chunk, out);
    this.#count(chunk, out);
    const [candidate] = listAt(chunk, "candidates");
    if (isRecord(candidate)) this.#addCandidate(candidate, out);
    const blocked = stringAt(recordAt(chunk, "promptFeedback"), "blockReason");
    if (this.finished || blocked === "") return;
    this.#warnFiltered(`The prompt was blocked: ${blocked}.`, recordAt(chunk, "promptFeedback"), out);
    this.#finish("content_filter", out);
  }

  end(): void {
    if (this.finished) return;
    if (!this.#started || this.#sawCandidate) throw cutError(this.#provider);
    throw new ProviderError(`${this.#provider} answered without a candidate and gave no reason.`, {
      provider: this.#provider,
      kind: "protocol",
    });
  }

  #start(chunk: WireRecord, out: ModelEvent[]): void {
    this.#started = true;
    const [responseId, model] = [stringAt(chunk, "responseId"), stringAt(chunk, "modelVersion")];
    out.push({ type: "start", ...(responseId && { responseId }), ...(model && { model }) });
  }

  /** Every chunk holds the counts so far. They are told when they change, so that a broken stream has been counted too. */
  #count(chunk: WireRecord, out: ModelEvent[]): void {
    const usage = fromUsageMetadata(chunk["usageMetadata"]);
    if (usage === undefined || (usage.total === this.#usage?.total && usage.input === this.#usage.input))
      return;
    this.#usage = usage;
    out.push(usageEvent(usage, this.#options.price));
  }

  #addCandidate(candidate: WireRecord, out: ModelEvent[]): void {
    this.#sawCandidate = true;
    for (const part of listAt(recordAt(candidate, "content"), "parts"))
      if (isRecord(part)) this.#addPart(part, out);
    const grounding = recordAt(candidate, "groundingMetadata");
    if (grounding !== undefined && Object.keys(grounding).length > 0) this.#grounding = grounding;
    const reason = stringAt(candidate, "finishReason");
    if (reason !== "") this.#close(reason, candidate, out);
  }

  #close(reason: string, candidate: WireRecord, out: ModelEvent[]): void {
    const said = stringAt(candidate, "finishMessage");
    const detail = `${reason}${said === "" ? "" : `: ${said}`}`;
    if (MALFORMED_REASONS.includes(reason)) {
      this.#options.onMalformed?.();
      throw this.#failure("protocol", `ended the reply with ${detail}`);
    }
    if (reason === "MISSING_THOUGHT_SIGNATURE")
      throw this.#failure("invalid_request", `refused the history with ${detail}`);
    if (this.#partial !== undefined) {
      this.#truncated = true;
      this.#closePartial("The arguments were cut off before they were complete.", out);
    }
    const meant = FINISH_REASONS[reason] ?? "unknown";
    if (meant === "content_filter") this.#warnFiltered(`The reply was stopped: ${detail}.`, candidate, out);
    if (meant !== "stop") return this.#finish(meant, out);
    this.#finish(this.#truncated ? "length" : this.#callCount > 0 ? "tool_calls" : "stop", out);
  }

  #failure(kind: "protocol" | "invalid_request", what: string): ProviderError {
    const said = this.#options.failures.redactor.redactText(`${this.#provider} ${what}`).slice(0, 300);
    return new ProviderError(`${said}.`, { provider: this.#provider, kind });
  }

  #warnFiltered(detail: string, source: WireRecord | undefined, out: ModelEvent[]): void {
    const categories = listAt(source, "safetyRatings").flatMap((rating) =>
      isRecord(rating) && rating["blocked"] === true ? [stringAt(rating, "category")] : [],
    );
    const of = categories.length === 0 ? "" : ` Categories: ${categories.join(", ")}.`;
    out.push({ type: "warning", code: "content_filtered", detail: `${detail}${of}` });
  }

  #finish(reason: FinishReason, out: ModelEvent[]): void {
    if (this.#grounding !== undefined) this.#pushOpaque({ groundingMetadata: asJson(this.#grounding) }, out);
    this.finished = true;
    out.push({ type: "finish", reason });
  }

  #addPart(part: WireRecord, out: ModelEvent[]): void {
    const call = recordAt(part, "functionCall");
    if (call !== undefined) return this.#addCall(call, stringAt(part, "thoughtSignature"), out);
    const text = part["text"];
    const isSigned = stringAt(part, "thoughtSignature") !== "";
    if (typeof text !== "string") return this.#pushOpaque(part, out);
    if (text !== "") out.push({ type: part["thought"] === true ? "reasoning_delta" : "text_delta", text });
    // Kept as it came: its text is the end of what was told above, and its signature belongs to that end alone.
    if (isSigned) this.#pushOpaque(part, out);
  }

  #addCall(call: WireRecord, signature: string, out: ModelEvent[]): void {
    const goesOn = call["willContinue"] === true;
    const isNew = stringAt(call, "name") !== "";
    if (isNew && !goesOn && call["partialArgs"] === undefined) return this.#addWhole(call, signature, out);
    if (isNew) {
      this.#partial = new PartialCall(call, signature);
      out.push({ type: "tool_call_delta", index: this.#callCount, name: this.#partial.name, argsText: "" });
    }
    this.#partial?.add(call);
    if (!goesOn) this.#closePartial(undefined, out);
  }

  #closePartial(argsError: string | undefined, out: ModelEvent[]): void {
    if (this.#partial === undefined) return;
    const { name, id, signature, args } = this.#partial;
    this.#partial = undefined;
    this.#pushCall({ name, callId: callIdOf(id), raw: args, signature, argsError }, out);
  }

  #addWhole(call: WireRecord, signature: string, out: ModelEvent[]): void {
    const [name, callId] = [stringAt(call, "name"), callIdOf(stringAt(call, "id"))];
    this.#pushCall({ name, callId, raw: call["args"], signature, argsError: undefined }, out);
  }

  #pushCall(call: DecodedCall, out: ModelEvent[]): void {
    const { name, callId, raw, signature } = call;
    const { args: parsed, argsText, argsError = call.argsError, truncated } = parseToolArguments(raw);
    const args = argsError === undefined ? (this.#options.restore?.(name, parsed) ?? parsed) : {};
    if (truncated === true) this.#truncated = true;
    const index = this.#callCount;
    this.#callCount += 1;
    out.push({ type: "tool_call_delta", index, callId, name, argsText });
    out.push({ type: "tool_call", index, callId, name, args, argsText, ...(argsError && { argsError }) });
    if (signature !== "") this.#pushOpaque(toSignatureMark({ callId, thoughtSignature: signature }), out);
  }

  #pushOpaque(data: WireRecord, out: ModelEvent[]): void {
    const { model } = this.#options;
    const isProviderRun = PROVIDER_RUN.some((field) => field in data);
    const executor = isProviderRun && { executor: "provider" as const };
    out.push({
      type: "part",
      part: { type: "provider", provider: this.#provider, model, data: asJson(data), ...executor },
    });
  }
}

interface DecodedCall {
  readonly name: string;
  readonly callId: string;
  readonly raw: JsonObject | unknown;
  readonly signature: string;
  readonly argsError: string | undefined;
}

/** Parts of tools that Google runs itself (@google/genai 3.3.0, Part), and the account of its search. */
const PROVIDER_RUN: readonly string[] = [
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
  "groundingMetadata",
];
