/** Makes a message history fit to send: every call answered exactly once, right after its turn. */

import { HistoryError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import {
  type Message,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
  partsOf,
  toolCallsOf,
  toolResultsOf,
} from "./message.ts";
import type { Outcome } from "./result.ts";

/** What was repaired, and where. */
export interface HistoryRepair {
  readonly kind:
    | "call_without_result"
    | "result_without_call"
    | "empty_turn"
    | "duplicate_result"
    | "moved_result"
    | "invalid_args"
    | "turn_left_out";
  /** Index of the message in the given history. */
  readonly index: number;
  readonly callId?: string;
}

/** What is known of calls besides the messages. */
export interface LintOptions {
  /** What the record says of a call that has no result in the history. */
  readonly lookUp?: (callId: string) => RecordedCall | undefined;
  /** For a history that a client sent: true for calls this server issued. Results of others are removed. */
  readonly issued?: (callId: string) => boolean;
}

/** A call as the record knows it. `text` is the result the model would have read. */
export interface RecordedCall {
  readonly outcome: Outcome;
  readonly text?: string;
}

/** The history as it may be sent, and what was done to it. Unchanged messages keep their identity. */
export interface LintedHistory {
  readonly messages: readonly Message[];
  readonly repairs: readonly HistoryRepair[];
}

/**
 * Pure and O(n). Throws `HistoryError` for an unknown role and for a call id used twice; everything else is
 * repaired (spec core.md section 9). Never turns an unanswered call into a success.
 */
export function lintHistory(messages: readonly Message[], options: LintOptions = {}): LintedHistory {
  checkRolesAndIds(messages);
  const lint = new Lint(messages, options);
  messages.forEach((message, index) => lint.add(message, index));
  return { messages: lint.output, repairs: lint.repairs };
}

const ROLES: ReadonlySet<string> = new Set(["user", "assistant", "tool"]);

function checkRolesAndIds(messages: readonly Message[]): void {
  const seen = new Set<string>();
  messages.forEach((message, index) => {
    if (!ROLES.has(message.role)) {
      throw new HistoryError(
        `Message ${index} has the role "${message.role}"; use user, assistant or tool.`,
        { index },
      );
    }
    if (message.role !== "assistant") return;
    for (const { callId } of toolCallsOf(message)) {
      if (seen.has(callId))
        throw new HistoryError(`Message ${index} uses call id "${callId}" a second time.`, { index });
      seen.add(callId);
    }
  });
}

interface FoundResult {
  readonly part: ToolResultPart;
  readonly index: number;
}

class Lint {
  readonly output: Message[] = [];
  readonly repairs: HistoryRepair[] = [];
  readonly #messages: readonly Message[];
  readonly #options: LintOptions;
  readonly #results = new Map<string, FoundResult>();
  readonly #used = new Set<string>();

  constructor(messages: readonly Message[], options: LintOptions) {
    this.#messages = messages;
    this.#options = options;
    messages.forEach((message, index) => {
      if (message.role === "tool") this.#collectResults(message, index);
    });
  }

  add(message: Message, index: number): void {
    if (message.role === "assistant") return this.#addAssistant(message, index);
    if (message.role === "tool") return this.#checkLeftOver(message, index);
    this.output.push(message);
  }

  #collectResults(message: Message, index: number): void {
    for (const part of toolResultsOf(message)) {
      if (this.#options.issued?.(part.callId) === false) continue;
      if (this.#results.has(part.callId))
        this.repairs.push({ kind: "duplicate_result", index, callId: part.callId });
      else this.#results.set(part.callId, { part, index });
    }
  }

  #addAssistant(message: Message, index: number): void {
    if (isEmpty(message)) return this.#note("empty_turn", index);
    const calls = toolCallsOf(message);
    const badCalls = calls.filter((call) => !isPlainObject(call.args));
    if (hasUnpairedProviderCall(message) || (badCalls.length > 0 && hasOpaqueParts(message))) {
      for (const { callId } of calls) this.#used.add(callId);
      return this.#note("turn_left_out", index);
    }
    for (const call of badCalls) this.repairs.push({ kind: "invalid_args", index, callId: call.callId });
    this.output.push(badCalls.length === 0 ? message : withObjectArgs(message));
    if (calls.length > 0) this.output.push(this.#answer(calls, index));
  }

  #answer(calls: readonly ToolCallPart[], index: number): Message {
    const results = calls.map((call) => this.#resultFor(call, index));
    const next = this.#messages[index + 1];
    if (next?.role === "tool" && samePartsInOrder(partsOf(next), results)) return next;
    for (const [position, call] of calls.entries()) {
      const found = this.#results.get(call.callId);
      const inPlace =
        found?.index === index + 1 && next?.role === "tool" && toolResultsOf(next)[position] === found.part;
      if (found !== undefined && !inPlace)
        this.repairs.push({ kind: "moved_result", index: found.index, callId: call.callId });
    }
    return { role: "tool", content: results };
  }

  #resultFor(call: ToolCallPart, index: number): ToolResultPart {
    this.#used.add(call.callId);
    const found = this.#results.get(call.callId);
    if (found !== undefined) return found.part;
    this.repairs.push({ kind: "call_without_result", index, callId: call.callId });
    return missingResult(call, this.#options.lookUp?.(call.callId));
  }

  #checkLeftOver(message: Message, index: number): void {
    for (const { callId } of toolResultsOf(message)) {
      const found = this.#results.get(callId);
      // A result that some turn used, or will be listed as a duplicate, needs no second entry.
      if (this.#used.has(callId) || (found !== undefined && found.index !== index)) continue;
      if (!this.#isCalledLater(callId, index))
        this.repairs.push({ kind: "result_without_call", index, callId });
    }
  }

  #isCalledLater(callId: string, index: number): boolean {
    return (
      this.#results.has(callId) &&
      this.#callIndex().has(callId) &&
      (this.#callIndex().get(callId) ?? 0) > index
    );
  }

  #calls: Map<string, number> | undefined;
  #callIndex(): Map<string, number> {
    this.#calls ??= new Map(
      this.#messages.flatMap((message, index) =>
        toolCallsOf(message).map((call): [string, number] => [call.callId, index]),
      ),
    );
    return this.#calls;
  }

  #note(kind: HistoryRepair["kind"], index: number): void {
    this.repairs.push({ kind, index });
  }
}

/** The answer to a call that has none: the recorded result, or a synthetic one that never claims success. */
function missingResult(call: ToolCallPart, recorded: RecordedCall | undefined): ToolResultPart {
  const base = { type: "tool_result" as const, callId: call.callId, name: call.name };
  if (recorded?.text !== undefined) return { ...base, result: recorded.text };
  // What nobody recorded may have happened: only a record that shows no start says that it did not.
  const started = recorded?.outcome !== "not_started";
  const text = started
    ? "Error (interrupted): this call began and its outcome is unknown. Do not repeat it; say so, or check by reading."
    : "Error (interrupted): this call did not run.";
  return { ...base, result: text, isError: true, synthetic: true };
}

function isEmpty(message: Message): boolean {
  const parts = partsOf(message);
  return parts.every((part) => part.type === "text" && part.text === "");
}

function hasOpaqueParts(message: Message): boolean {
  return partsOf(message).some((part) => part.type === "provider");
}

function hasUnpairedProviderCall(message: Message): boolean {
  const open = new Set<string>();
  for (const part of partsOf(message)) {
    if (part.type !== "provider" || part.providerCall === undefined) continue;
    if (part.providerCall.stage === "call") open.add(part.providerCall.id);
    else open.delete(part.providerCall.id);
  }
  return open.size > 0;
}

function withObjectArgs(message: Message): Message {
  const parts = partsOf(message).map((part): Part =>
    part.type === "tool_call" && !isPlainObject(part.args) ? { ...part, args: {} } : part,
  );
  return { ...message, content: parts };
}

function samePartsInOrder(parts: readonly Part[], results: readonly ToolResultPart[]): boolean {
  return parts.length === results.length && parts.every((part, index) => part === results[index]);
}
