/** A model request as the body of the Messages API: results first, opaque blocks as they came or not at all. */

import {
  type JsonObject,
  type Message,
  type ModelEvent,
  type ModelRequest,
  type Part,
  partsOf,
} from "@openfunctions/core";
import {
  defined,
  type EncodedRequest,
  isContent,
  isJsonObject,
  isOwnPart,
  leftOutWarnings,
  planRequest,
  wireName,
  type WireTarget,
} from "@openfunctions/core/wire";
import type { PausedTurn } from "./paused-turn.ts";
import { IMAGE_TYPES, PENDING } from "./quirks.ts";
import { CACHE_MARK, toOutput, toToolChoice, toTools } from "./to-tools.ts";

/** What a body is written for. */
export interface BodyOptions {
  readonly target: WireTarget;
  /** Sent where the request names none, because the API wants one. */
  readonly maxOutputTokens: number;
  /** True where the API refused the history's thinking blocks: then none goes back. */
  readonly withoutThinking?: boolean;
  /** What Claude has said of the turn that is to go on. */
  readonly turn?: PausedTurn;
}

/**
 * Writes the body: what stays the same comes first and the parameters last, so that the bytes of consecutive bodies
 * share the prefix tools, instructions, history. Three cache marks: the last tool, the instructions, and one of the
 * whole request, which the API itself puts behind the last block that can be cached; on that block the mark would
 * change bytes of the history when it moves on (platform.claude.com/docs/en/build-with-claude/prompt-caching,
 * 2026-11-30). Fields as in MessageCreateParamsBase of @anthropic-ai/sdk 1.14.0. Throws `ConfigError` (`unsupported`).
 */
export function toMessagesBody(request: ModelRequest, options: BodyOptions): EncodedRequest {
  const { target, turn } = options;
  const plan = planRequest(request, target);
  const { messages, leftOut } = toHistory(request.messages, options);
  const { thinking, config, warning } = toOutput(plan, request, target);
  const { stop, temperature, topP } = plan.sampling;
  const body: JsonObject = defined({
    model: target.model,
    stream: true,
    cache_control: CACHE_MARK,
    tools: toTools(plan),
    system: request.system?.trim()
      ? [{ type: "text", text: request.system, cache_control: CACHE_MARK }]
      : undefined,
    messages: turn === undefined ? messages : [...messages, { role: "assistant", content: turn.blocks }],
    container: turn?.container,
    tool_choice: toToolChoice(plan),
    thinking,
    output_config: config,
    max_tokens: request.maxOutputTokens ?? options.maxOutputTokens,
    stop_sequences: stop,
    temperature,
    top_p: topP,
  });
  const extra = warning === undefined ? [] : [warning];
  return { body, plan, warnings: [...plan.warnings, ...extra, ...report(leftOut, target)] };
}

function report({ foreign, thinking, unreadable }: LeftOut, { model, provider }: WireTarget): ModelEvent[] {
  return leftOutWarnings([
    [foreign, "provider_parts_left_out", `opaque parts left out: they are not of "${model}" of ${provider}`],
    [
      thinking,
      "reasoning_items_left_out",
      "thinking blocks left out: they have lost what they led to, or were refused",
    ],
    [
      unreadable,
      "content_left_out",
      "images or files left out: they are of a kind that Claude does not read",
    ],
  ]);
}

/** How many parts were left out: of another model, thinking, and content of a kind that cannot be sent. */
interface LeftOut {
  foreign: number;
  thinking: number;
  unreadable: number;
}

interface Turn {
  readonly role: "user" | "assistant";
  readonly results: JsonObject[];
  readonly content: JsonObject[];
}

/**
 * Writes the whole history. Neighbours of one role are one turn, and results come first in it. Content is always a
 * list, so that a turn that grows keeps its bytes.
 */
function toHistory(
  messages: readonly Message[],
  options: BodyOptions,
): { readonly messages: readonly JsonObject[]; readonly leftOut: LeftOut } {
  const leftOut: LeftOut = { foreign: 0, thinking: 0, unreadable: 0 };
  const how = { ...options, leftOut };
  const turns: Turn[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const turn: Turn = { role, results: [], content: [] };
    for (const part of partsOf(message)) {
      if (role === "assistant") addSaid(part, turn.content, how);
      else addGiven(part, turn, leftOut);
    }
    // "The final block in an assistant message cannot be `thinking`" (400, github.com/tailcallhq/forgecode/issues/2107).
    while (role === "assistant" && isThinking(turn.content.at(-1)))
      leftOut.thinking += turn.content.splice(-1).length;
    const last = turns.at(-1);
    if (turn.results.length + turn.content.length === 0) continue;
    if (last?.role !== role) turns.push(turn);
    else {
      last.results.push(...turn.results);
      last.content.push(...turn.content);
    }
  }
  return {
    messages: turns.map(({ role, results, content }) => ({ role, content: [...results, ...content] })),
    leftOut,
  };
}

function addSaid(part: Part, content: JsonObject[], how: BodyOptions & { readonly leftOut: LeftOut }): void {
  if (part.type === "text") content.push(...textBlocks(part.text));
  else if (part.type === "tool_call")
    content.push({ type: "tool_use", id: legalId(part.callId), name: wireName(part.name), input: part.args });
  else if (part.type !== "provider" || !isJsonObject(part.data) || part.data["type"] === PENDING) return;
  else if (!isOwnPart(part, how.target)) how.leftOut.foreign += 1;
  else if (how.withoutThinking === true && isThinking(part.data)) how.leftOut.thinking += 1;
  else if (part.data["type"] === "text") cite(content, part.data);
  else content.push(part.data);
}

function addGiven(part: Part, { results, content }: Turn, leftOut: LeftOut): void {
  if (part.type !== "tool_result") return void content.push(...toContent(part, leftOut));
  const { callId, result, isError } = part;
  const given = typeof result === "string" ? result : result.flatMap((inner) => toContent(inner, leftOut));
  results.push({
    type: "tool_result",
    tool_use_id: legalId(callId),
    ...(given.length > 0 && { content: given }),
    ...(isError === true && { is_error: true }),
  });
}

/** Images and documents as in ImageBlockParam and DocumentBlockParam of @anthropic-ai/sdk 1.14.0. */
function toContent(part: Part, leftOut: LeftOut): readonly JsonObject[] {
  if (!isContent(part)) return [];
  if (part.type === "text") return textBlocks(part.text);
  const { mediaType, url, data = "" } = part;
  const isImage = part.type === "image";
  const title = isImage || part.name === undefined ? {} : { title: part.name };
  const block = { type: isImage ? "image" : "document", ...title };
  if (url !== undefined) return [{ ...block, source: { type: "url", url } }];
  if (isImage ? IMAGE_TYPES.includes(mediaType) : mediaType === "application/pdf")
    return [{ ...block, source: { type: "base64", media_type: mediaType, data } }];
  if (!isImage && mediaType.startsWith("text/")) {
    const text = Buffer.from(data, "base64").toString("utf8");
    return [{ ...block, source: { type: "text", media_type: "text/plain", data: text } }];
  }
  leftOut.unreadable += 1;
  return [];
}

/** Puts a block with citations in the place of its text, which the block before ends with; edited text stays bare. */
function cite(content: JsonObject[], cited: JsonObject): void {
  const before = content.at(-1)?.["text"];
  const { text } = cited;
  if (typeof before !== "string" || typeof text !== "string" || !before.endsWith(text)) return;
  content.splice(-1, 1, ...textBlocks(before.slice(0, before.length - text.length)), cited);
}

/** "Text content blocks must contain non-whitespace text" (400, github.com/anthropics/claude-code/issues/23440). */
function textBlocks(text: string): readonly JsonObject[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** Ids that other providers made may hold characters that the API refuses (it wants `^[a-zA-Z0-9_-]+$`). */
function legalId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`);
}

function isThinking(block: JsonObject | undefined): boolean {
  return block?.["type"] === "thinking" || block?.["type"] === "redacted_thinking";
}
