/** Messages: what was said, asked and answered, in no provider's words. */

import type { Json, JsonObject } from "./json.ts";

/** Where content came from. Remote content is data, never instructions. */
export type Origin = "owner" | "agent" | "tool" | "retrieval" | `remote:${string}`;

/** Plain text. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** An image: base64 `data`, or a `url` the provider fetches. */
export interface ImagePart {
  readonly type: "image";
  readonly mediaType: string;
  readonly data?: string;
  readonly url?: string;
}

/** A file: base64 `data`, or a `url` the provider fetches. */
export interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  readonly name?: string;
  readonly data?: string;
  readonly url?: string;
}

/** A tool call the model asked for. `args` is always an object in history. */
export interface ToolCallPart {
  readonly type: "tool_call";
  readonly callId: string;
  readonly name: string;
  readonly args: JsonObject;
}

/** The answer to one tool call. `synthetic` marks an answer that no handler gave. */
export interface ToolResultPart {
  readonly type: "tool_result";
  readonly callId: string;
  readonly name: string;
  /** What the model reads: text, or parts where the tool answers with images or files. */
  readonly result: string | readonly ContentPart[];
  /** True where the call failed, so providers with an error flag can set it. */
  readonly isError?: true;
  readonly synthetic?: true;
}

/** Reasoning text a model showed. The signed original travels as a `ProviderPart`. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text?: string;
}

/** An opaque provider item: goes back byte-exact to the same provider and model, never edited. */
export interface ProviderPart {
  readonly type: "provider";
  readonly provider: string;
  readonly model: string;
  readonly data: Json;
  /** Set where the provider executed a tool itself. */
  readonly executor?: "provider";
  /** Set where such a call and its result are two parts: which of its calls this is, and whether call or result. */
  readonly providerCall?: { readonly id: string; readonly stage: "call" | "result" };
}

/** Parts that carry content a person or a tool can show. */
export type ContentPart = TextPart | ImagePart | FilePart;

/** Any part of a message. */
export type Part = ContentPart | ToolCallPart | ToolResultPart | ReasoningPart | ProviderPart;

/** One turn. A string is one text part. Instructions travel beside the messages, never as a role. */
export interface Message {
  readonly role: "user" | "assistant" | "tool";
  readonly content: string | readonly Part[];
  readonly id?: string;
  readonly origin?: Origin;
}

/** The parts of a message; a string is one text part, the empty string none. */
export function partsOf(message: Message): readonly Part[] {
  if (typeof message.content !== "string") return message.content;
  return message.content === "" ? [] : [{ type: "text", text: message.content }];
}

/** All text of a message, text parts joined in order. */
export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

/** The tool calls of a message, in order. */
export function toolCallsOf(message: Message): readonly ToolCallPart[] {
  if (typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool_call");
}

/** The tool results of a message, in order. */
export function toolResultsOf(message: Message): readonly ToolResultPart[] {
  if (typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool_result");
}

/** Builds a user message. */
export function userMessage(content: string | readonly Part[]): Message {
  return { role: "user", content };
}
