/** A call's result as MCP content: what the model reads, and the data beside it. */

import { Buffer } from "node:buffer";

import {
  type CallResult,
  type FailureResult,
  type FilePart,
  type ImagePart,
  type ModelContent,
  type SuccessResult,
  type Tool,
  type ToolView,
  resultText,
} from "@openfunctions/core";

import { wrapsData } from "./wire-tool.ts";

/** One content block. */
export type ContentBlock = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The result of `tools/call`. */
export type WireResult = { readonly content: readonly ContentBlock[]; readonly isError?: true } & Record<
  string,
  unknown
>;

/** Encodes a result of `tool`. A failure keeps its code and outcome beside its text, and is never validated. */
export async function toWireResult(view: ToolView, tool: Tool, result: CallResult): Promise<WireResult> {
  if (!result.success) return toWireFailure(result);
  const own =
    tool.toModel === undefined ? [] : blocksOf(await view.contentForModel(tool.name, result, { owner: "" }));
  const content = own.length > 0 ? own : dataBlocks(result);
  if (tool.output === undefined) return { content };
  return { content, structuredContent: wrapsData(tool.output) ? { result: result.data } : result.data };
}

function toWireFailure(result: CallResult & FailureResult): WireResult {
  const { outcome, code = "tool_failed", details } = result;
  const meta = { "openfunctions/outcome": { outcome, code } };
  return {
    content: [{ type: "text", text: resultText(result) }],
    isError: true,
    _meta: details === undefined ? meta : { ...meta, "openfunctions/details": details },
  };
}

function dataBlocks({ data, message }: SuccessResult<unknown>): readonly ContentBlock[] {
  const note = message === undefined ? [] : [{ type: "text", text: message }];
  if (data === null && message !== undefined) return note;
  return [{ type: "text", text: typeof data === "string" ? data : JSON.stringify(data, null, 2) }, ...note];
}

function blocksOf(content: ModelContent): readonly ContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const { data, mediaType: mimeType, url } = part;
    if (data === undefined) return { type: "resource_link", uri: url ?? "", name: nameOf(part), mimeType };
    if (part.type === "image") return { type: "image", data, mimeType };
    if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
    const uri = url ?? `openfunctions:${encodeURIComponent(nameOf(part))}`;
    const isText = /^text\/|[/+](?:json|xml)\b/.test(mimeType);
    const body = isText ? { text: Buffer.from(data, "base64").toString() } : { blob: data };
    return { type: "resource", resource: { uri, mimeType, ...body } };
  });
}

function nameOf(part: FilePart | ImagePart): string {
  return part.type === "file" && part.name !== undefined ? part.name : part.type;
}
