/** A model request as the body of OpenAI-compatible chat completions. */

import type { ModelRequest } from "./adapter.ts";
import { defined } from "./defined.ts";
import type { JsonObject } from "./json.ts";
import { type ContentPart, type Part, partsOf, type ToolResultPart } from "./message.ts";
import { type EncodedRequest, reportLeftOut } from "./responses-request.ts";
import { wireId, wireName } from "./wire-fields.ts";
import { contentUrl, isContent, type PlannedTool, planRequest } from "./wire-request.ts";
import type { WireQuirks, WireTarget } from "./wire-request.ts";

/** Differences between chat-completions servers, as data. */
export interface ChatQuirks extends WireQuirks {
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  /** True where `stream_options.include_usage` is understood. */
  readonly streamUsage: boolean;
  /** True where turns with tool calls must carry their `reasoning_content` back (case field A23). */
  readonly reasoningContent: boolean;
  /** True where tools take a `strict` field. */
  readonly strictField: boolean;
  /** True where `parallel_tool_calls` is understood. */
  readonly parallelField: boolean;
}

/** A target whose server speaks chat completions. */
export interface ChatTarget extends WireTarget {
  readonly quirks: ChatQuirks;
}

/** What a chat body is written for. `stream: false` asks for one JSON body, for servers that drop tools while streaming. */
export interface ChatBodyOptions {
  readonly target: ChatTarget;
  readonly stream?: boolean;
  /** How an assistant turn's opaque parts travel. Without it none does. */
  readonly toOpaqueFields?: (parts: readonly Part[], target: ChatTarget) => OpaqueFields;
}

/** The fields that opaque parts become on their assistant message, and how many were left out and why. */
export interface OpaqueFields {
  readonly fields: JsonObject;
  /** Parts that another provider or model made. */
  readonly foreign: number;
  /** Parts of a turn that was changed since. */
  readonly orphaned: number;
}

/**
 * Writes the body: instructions as the first message, the whole history, results as strings. Images a tool
 * answered with follow in a user message, since a tool message takes text only. Fields as in
 * ChatCompletionCreateParams of openai 7.59.0. Throws `ConfigError` (`unsupported`).
 */
export function toChatBody(request: ModelRequest, options: ChatBodyOptions): EncodedRequest {
  const { target, stream = true } = options;
  const { quirks } = target;
  const plan = planRequest(request, target);
  const { toolChoice, sampling, format } = plan;
  const left = { foreign: 0, orphaned: 0 };
  const toOpaque = (parts: readonly Part[]): JsonObject => {
    const { fields, foreign, orphaned } = (options.toOpaqueFields ?? leaveOut)(parts, target);
    left.foreign += foreign;
    left.orphaned += orphaned;
    return fields;
  };
  const history = request.messages.flatMap((message) => {
    const parts = partsOf(message);
    if (message.role !== "assistant") return toMessages(parts, quirks);
    return assistantMessages(parts, { quirks, opaque: toOpaque(parts) });
  });
  const named = typeof toolChoice === "object" && { type: "function", function: { name: toolChoice.name } };
  const body: JsonObject = defined({
    model: target.model,
    stream,
    stream_options: stream && quirks.streamUsage ? { include_usage: true } : undefined,
    tools: plan.tools.length === 0 ? undefined : plan.tools.map((tool) => toTool(tool, quirks)),
    messages: request.system ? [{ role: "system", content: request.system }, ...history] : history,
    tool_choice: typeof toolChoice === "object" ? named : toolChoice,
    parallel_tool_calls: quirks.parallelField ? plan.parallel : undefined,
    reasoning_effort: plan.effort,
    max_tokens: quirks.maxTokensField === "max_tokens" ? request.maxOutputTokens : undefined,
    max_completion_tokens: quirks.maxTokensField === "max_tokens" ? undefined : request.maxOutputTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    seed: sampling.seed,
    stop: sampling.stop,
    response_format: format && { type: "json_schema", json_schema: { ...format } },
  });
  return { body, plan, warnings: [...plan.warnings, ...reportLeftOut(left, target)] };
}

function toTool({ strict, name, description, parameters }: PlannedTool, quirks: ChatQuirks): JsonObject {
  const body = { name, description, parameters };
  return { type: "function", function: quirks.strictField ? { ...body, strict } : body };
}

function leaveOut(parts: readonly Part[]): OpaqueFields {
  return { fields: {}, foreign: parts.filter(({ type }) => type === "provider").length, orphaned: 0 };
}

function toMessages(parts: readonly Part[], { maxIdChars }: ChatQuirks): JsonObject[] {
  const results = parts.filter((part) => part.type === "tool_result");
  const content = [...results.flatMap(attachmentsOf), ...parts.filter(isContent)];
  const messages: JsonObject[] = results.map((part) => ({
    role: "tool",
    tool_call_id: wireId(part.callId, maxIdChars),
    content: resultText(part),
  }));
  if (content.length > 0) messages.push({ role: "user", content: toContent(content) });
  return messages;
}

function assistantMessages(
  parts: readonly Part[],
  { quirks, opaque }: { readonly quirks: ChatQuirks; readonly opaque: JsonObject },
): JsonObject[] {
  const textOf = (type: "text" | "reasoning"): string =>
    parts.map((part) => (part.type === type ? (part.text ?? "") : "")).join("");
  const text = textOf("text");
  const calls = parts
    .filter((part) => part.type === "tool_call")
    .map(({ callId, name, args }) => ({
      id: wireId(callId, quirks.maxIdChars),
      type: "function",
      function: { name: wireName(name), arguments: JSON.stringify(args) },
    }));
  if (text === "" && calls.length === 0) return [];
  const thought = quirks.reasoningContent && calls.length > 0 ? textOf("reasoning") : "";
  const message = defined({
    role: "assistant",
    content: text || null,
    reasoning_content: thought || undefined,
    ...opaque,
    tool_calls: calls.length === 0 ? undefined : calls,
  });
  return [message];
}

function resultText(part: ToolResultPart): string {
  if (typeof part.result === "string") return part.result;
  return part.result.flatMap((inner) => (inner.type === "text" ? [inner.text] : [])).join("\n");
}

function attachmentsOf(part: ToolResultPart): readonly ContentPart[] {
  return typeof part.result === "string" ? [] : part.result.filter((inner) => inner.type !== "text");
}

function toContent(parts: readonly ContentPart[]): string | readonly JsonObject[] {
  if (parts.every((part) => part.type === "text")) return parts.map((part) => part.text).join("\n");
  return parts.map((part): JsonObject => {
    if (part.type === "text") return { type: "text", text: part.text };
    if (part.type === "image") return { type: "image_url", image_url: { url: contentUrl(part) } };
    return { type: "file", file: { filename: part.name ?? "file", file_data: contentUrl(part) } };
  });
}
