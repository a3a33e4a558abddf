/** A call's result as MCP content: what the model reads, and the data beside it. */

import { Buffer } from "node:buffer";

import {
  type CallResult,
  type ModelContent,
  type Tool,
  type ToolView,
  resultText,
} from "@openfunctions/core";

import { wrapsData } from "./tool-list.ts";

/** The result of `tools/call`. */
export type WireResult = { readonly content: readonly object[] } & Record<string, unknown>;

/** Encodes a result of `tool`. A failure keeps its code and outcome beside its text, and is never validated. */
export async function toWireResult(view: ToolView, tool: Tool, result: CallResult): Promise<WireResult> {
  if (!result.success) {
    const { outcome, code = "tool_failed" } = result;
    const _meta = { "openfunctions/outcome": { outcome, code } };
    return { content: [textBlock(resultText(result))], isError: true, _meta };
  }
  const { data, message } = result;
  const own =
    tool.toModel === undefined ? [] : blocksOf(await view.contentForModel(tool.name, result, { owner: "" }));
  const note = message === undefined ? [] : [textBlock(message)];
  const text = typeof data === "string" ? data : JSON.stringify(data, null, 2);
  const plain = data === null && message !== undefined ? note : [textBlock(text), ...note];
  const content = own.length > 0 ? own : plain;
  if (tool.output === undefined) return { content };
  return { content, structuredContent: wrapsData(tool.output) ? { result: data } : data };
}

function textBlock(text: string): object {
  return { type: "text", text };
}

function blocksOf(content: ModelContent): readonly object[] {
  if (typeof content === "string") return [textBlock(content)];
  return content.map((part) => {
    if (part.type === "text") return textBlock(part.text);
    const { type, data, mediaType: mimeType, url } = part;
    const name = part.type === "file" ? (part.name ?? "file") : "image";
    if (data === undefined) return { type: "resource_link", uri: url, name, mimeType };
    if (type === "image") return { type, data, mimeType };
    if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
    const uri = url ?? `openfunctions:${encodeURIComponent(name)}`;
    const isText = /^text\/|[/+](?:json|xml)\b/.test(mimeType);
    const body = isText ? { text: Buffer.from(data, "base64").toString() } : { blob: data };
    return { type: "resource", resource: { uri, mimeType, ...body } };
  });
}
