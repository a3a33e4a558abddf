/** The chunks of generateContentStream as model events. */

import { type FinishReason, type ModelEvent, ProviderError, type Usage } from "@openfunctions/core";
import {
  asJson,
  callIdOf,
  countAt,
  cutError,
  type DecoderOptions,
  entryOf,
  isRecord,
  listAt,
  parseToolArguments,
  recordAt,
  type StreamDecoder,
  stringAt,
  usageEvent,
  type WireRecord,
} from "@openfunctions/core/wire";
import { PartialArguments } from "./partial-call.ts";
import { FAILED_REASONS, FINISH_REASONS, PROVIDER_RUN } from "./quirks.ts";
import { geminiErrorFromEvent } from "./to-error.ts";
import { toSignatureMark } from "./to-messages.ts";

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

/**
 * Counts of @google/genai 3.3.0 (GenerateContentResponseUsageMetadata), disjoint: `promptTokenCount` holds the cached
 * tokens, tool prompts and thoughts stand beside. Undefined while a stream has named no prompt yet.
 */
export function fromUsageMetadata(body: WireRecord | undefined): Usage | undefined {
  if (typeof body?.["promptTokenCount"] !== "number") return undefined;
  const count = (name: string): number => countAt(body, name);
  const cacheRead = Math.min(count("cachedContentTokenCount"), count("promptTokenCount"));
  const input = count("promptTokenCount") - cacheRead + count("toolUsePromptTokenCount");
  const [output, reasoning] = [count("candidatesTokenCount"), count("thoughtsTokenCount")];
  return {
    input,
    cacheRead,
    cacheWrite: 0,
    output,
    reasoning,
    total: input + cacheRead + output + reasoning,
  };
}

interface OpenCall {
  readonly name: string;
  readonly id: string;
  readonly signature: string;
  readonly raw: unknown;
  readonly pieces: PartialArguments;
}

class GeminiDecoder implements StreamDecoder {
  finished = false;
  readonly #options: GeminiDecoderOptions;
  readonly #provider: string;
  #started = false;
  #sawCandidate = false;
  #callCount = 0;
  #truncated = false;
  #open: OpenCall | undefined;
  #total = -1;
  #grounding: WireRecord | undefined;

  constructor(options: GeminiDecoderOptions) {
    this.#options = options;
    this.#provider = options.failures.provider;
  }

  push(chunk: unknown, out: ModelEvent[]): void {
    if (!isRecord(chunk)) return;
    if (isRecord(chunk["error"])) throw geminiErrorFromEvent(chunk, this.#options.failures);
    const [responseId, model] = [stringAt(chunk, "responseId"), stringAt(chunk, "modelVersion")];
    if (!this.#started)
      out.push({ type: "start", ...(responseId && { responseId }), ...(model && { model }) });
    this.#started = true;
    // Every chunk holds the counts so far: told when they change, so that a broken stream was counted as well.
    const usage = fromUsageMetadata(recordAt(chunk, "usageMetadata"));
    if (usage !== undefined && usage.total !== this.#total) out.push(usageEvent(usage, this.#options.price));
    this.#total = usage?.total ?? this.#total;
    const [candidate] = listAt(chunk, "candidates");
    if (isRecord(candidate)) this.#addCandidate(candidate, out);
    const feedback = recordAt(chunk, "promptFeedback");
    const blocked = stringAt(feedback, "blockReason");
    if (this.finished || blocked === "") return;
    this.#warnFiltered(`The prompt was blocked: ${blocked}`, feedback, out);
    this.#finish("content_filter", out);
  }

  end(): void {
    if (this.finished) return;
    if (!this.#started || this.#sawCandidate) throw cutError(this.#provider);
    throw this.#failure("protocol", "answered without a candidate and gave no reason");
  }

  #addCandidate(candidate: WireRecord, out: ModelEvent[]): void {
    this.#sawCandidate = true;
    for (const part of listAt(recordAt(candidate, "content"), "parts"))
      if (isRecord(part)) this.#addPart(part, out);
    const grounding = recordAt(candidate, "groundingMetadata") ?? {};
    if (Object.keys(grounding).length > 0) this.#grounding = grounding;
    const reason = stringAt(candidate, "finishReason");
    if (reason !== "") this.#close(reason, candidate, out);
  }

  #close(reason: string, candidate: WireRecord, out: ModelEvent[]): void {
    const said = [reason, stringAt(candidate, "finishMessage")].filter((text) => text !== "").join(": ");
    const failed = entryOf(FAILED_REASONS, reason);
    if (failed === "protocol") this.#options.onMalformed?.();
    if (failed !== undefined) throw this.#failure(failed, `ended the reply with ${said}`);
    if (this.#open !== undefined) {
      this.#truncated = true;
      this.#closeCall(this.#open, out, "The arguments were cut off before they were complete.");
    }
    const meant = entryOf(FINISH_REASONS, reason) ?? "unknown";
    if (meant === "content_filter") this.#warnFiltered(`The reply was stopped: ${said}`, candidate, out);
    const stop = this.#truncated ? "length" : this.#callCount > 0 ? "tool_calls" : "stop";
    this.#finish(meant === "stop" ? stop : meant, out);
  }

  #failure(kind: "protocol" | "invalid_request", what: string): ProviderError {
    const text = this.#options.failures.redactor.redactText(`${this.#provider} ${what}.`).slice(0, 300);
    return new ProviderError(text, { provider: this.#provider, kind });
  }

  #warnFiltered(said: string, source: WireRecord | undefined, out: ModelEvent[]): void {
    const blocked = listAt(source, "safetyRatings")
      .filter(isRecord)
      .filter((rating) => rating["blocked"] === true);
    const of = blocked.map((rating) => stringAt(rating, "category")).join(", ");
    out.push({ type: "warning", code: "content_filtered", detail: `${said}${of && ` (${of})`}.` });
  }

  #finish(reason: FinishReason, out: ModelEvent[]): void {
    if (this.#grounding !== undefined) this.#pushOpaque({ groundingMetadata: this.#grounding }, out);
    this.finished = true;
    out.push({ type: "finish", reason });
  }

  #addPart(part: WireRecord, out: ModelEvent[]): void {
    const call = recordAt(part, "functionCall");
    const signature = stringAt(part, "thoughtSignature");
    if (call !== undefined) return this.#addCall(call, signature, out);
    const { text, thought } = part;
    if (typeof text !== "string") return this.#pushOpaque(part, out);
    if (text !== "") out.push({ type: thought === true ? "reasoning_delta" : "text_delta", text });
    // Kept as it came: its text is the end of what was told above, and its signature belongs to that end alone.
    if (signature !== "") this.#pushOpaque(part, out);
  }

  /** A call comes whole, or in pieces: the first has the name, the last says no more that it goes on. */
  #addCall(call: WireRecord, signature: string, out: ModelEvent[]): void {
    const [name, id, goesOn] = [stringAt(call, "name"), stringAt(call, "id"), call["willContinue"] === true];
    if (name !== "" || this.#open === undefined) {
      this.#open = { name, id, signature, raw: call["args"], pieces: new PartialArguments() };
      out.push({ type: "tool_call_delta", index: this.#callCount, name, argsText: "" });
    }
    for (const piece of listAt(call, "partialArgs")) this.#open?.pieces.add(piece);
    if (!goesOn && this.#open !== undefined) this.#closeCall(this.#open, out);
  }

  #closeCall({ name, id, signature, raw, pieces }: OpenCall, out: ModelEvent[], cut?: string): void {
    this.#open = undefined;
    const hasPieces = Object.keys(pieces.args).length > 0;
    const { args, argsText, argsError = cut, truncated } = parseToolArguments(hasPieces ? pieces.args : raw);
    this.#truncated ||= truncated === true;
    const [index, callId] = [this.#callCount, callIdOf(id)];
    this.#callCount += 1;
    const told = { index, callId, name, argsText };
    const restored = this.#options.restore?.(name, args) ?? args;
    out.push({ type: "tool_call_delta", ...told });
    if (argsError === undefined) out.push({ type: "tool_call", ...told, args: restored });
    else out.push({ type: "tool_call", ...told, args: {}, argsError });
    if (signature !== "") this.#pushOpaque(toSignatureMark(callId, signature), out);
  }

  #pushOpaque(data: WireRecord, out: ModelEvent[]): void {
    const executor = PROVIDER_RUN.some((field) => field in data) && { executor: "provider" as const };
    const { model } = this.#options;
    const part = {
      type: "provider",
      provider: this.#provider,
      model,
      data: asJson(data),
      ...executor,
    } as const;
    out.push({ type: "part", part });
  }
}
