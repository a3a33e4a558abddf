/** A model request as the body of OpenAI-compatible chat completions. */

import type { ModelRequest } from "./adapter.ts";
import type { JsonObject } from "./json.ts";
import { type ContentPart, type Message, type Part, partsOf, type ToolResultPart } from "./message.ts";
import type { EncodedRequest } from "./responses-request.ts";
import {
  contentUrl,
  type PlannedTool,
  planRequest,
  type RequestPlan,
  type WireQuirks,
  type WireTarget,
} from "./wire-request.ts";

/** Differences between chat-completions servers, as data. */
export interface ChatQuirks extends WireQuirks {
  /** The role that carries instructions. */
  readonly systemRole: "system" | "developer";
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
}

/**
 * Writes the body: instructions as the first message, the whole history, results as strings. Images a tool
 * answered with follow in a user message, since a tool message takes text only. Fields as in
 * ChatCompletionCreateParams of openai 7.59.0. Throws `ConfigError` (`unsupported`).
 */
export function toChatBody(request: ModelRequest, options: ChatBodyOptions): EncodedRequest {
  const { target, stream = true } = options;
  const plan = planRequest(request, target);
  const system =
    request.system === undefined || request.system === ""
      ? []
      : [{ role: target.quirks.systemRole, content: request.system }];
  const body: JsonObject = {
    model: target.model,
    stream,
    ...(stream && target.quirks.streamUsage ? { stream_options: { include_usage: true } } : {}),
    ...(plan.tools.length === 0 ? {} : { tools: plan.tools.map((tool) => toTool(tool, target.quirks)) }),
    messages: [...system, ...request.messages.flatMap((message) => toMessages(message, target.quirks))],
    ...toParameters(request, { plan, quirks: target.quirks }),
  };
  return { body, plan, warnings: plan.warnings };
}

function toParameters(
  request: ModelRequest,
  how: { readonly plan: RequestPlan; readonly quirks: ChatQuirks },
): JsonObject {
  const { plan, quirks } = how;
  const { toolChoice, sampling, format } = plan;
  return {
    ...(toolChoice === undefined
      ? {}
      : {
          tool_choice:
            typeof toolChoice === "string"
              ? toolChoice
              : { type: "function", function: { name: toolChoice.name } },
        }),
    ...(plan.parallel === undefined || !quirks.parallelField ? {} : { parallel_tool_calls: plan.parallel }),
    ...(plan.effort === undefined ? {} : { reasoning_effort: plan.effort }),
    ...(request.maxOutputTokens === undefined ? {} : { [quirks.maxTokensField]: request.maxOutputTokens }),
    ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
    ...(sampling.topP === undefined ? {} : { top_p: sampling.topP }),
    ...(sampling.seed === undefined ? {} : { seed: sampling.seed }),
    ...(sampling.stop === undefined ? {} : { stop: sampling.stop }),
    ...(format === undefined
      ? {}
      : {
          response_format: {
            type: "json_schema",
            json_schema: { name: format.name, schema: format.schema, strict: format.strict },
          },
        }),
  };
}

function toTool(tool: PlannedTool, quirks: ChatQuirks): JsonObject {
  const { name, description, parameters } = tool;
  return {
    type: "function",
    function: { name, description, parameters, ...(quirks.strictField ? { strict: tool.strict } : {}) },
  };
}

function toMessages(message: Message, quirks: ChatQuirks): JsonObject[] {
  const parts = partsOf(message);
  if (message.role === "assistant") return assistantMessages(parts, quirks);
  const results = parts.filter((part) => part.type === "tool_result");
  const content = [...results.flatMap(attachmentsOf), ...parts.filter(isContent)];
  const messages: JsonObject[] = results.map((part) => ({
    role: "tool",
    tool_call_id: part.callId,
    content: resultText(part),
  }));
  if (content.length > 0) messages.push({ role: "user", content: toContent(content) });
  return messages;
}

function assistantMessages(parts: readonly Part[], quirks: ChatQuirks): JsonObject[] {
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const reasoning = parts.flatMap((part) => (part.type === "reasoning" ? [part.text ?? ""] : [])).join("");
  const calls = parts.flatMap((part) =>
    part.type === "tool_call"
      ? [
          {
            id: part.callId,
            type: "function",
            function: { name: part.name, arguments: JSON.stringify(part.args) },
          },
        ]
      : [],
  );
  if (text === "" && calls.length === 0) return [];
  const thought =
    quirks.reasoningContent && calls.length > 0 && reasoning !== "" ? { reasoning_content: reasoning } : {};
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...thought,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
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

function isContent(part: Part): part is ContentPart {
  return part.type === "text" || part.type === "image" || part.type === "file";
}
