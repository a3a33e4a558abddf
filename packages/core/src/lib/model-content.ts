/** What the model reads of a tool and of a result. */

import { describeThrown } from "./describe-thrown.ts";
import type { CallRuntime } from "./call-context.ts";
import { type Json, copyJson, isPlainObject } from "./json.ts";
import type { CallResult, ModelContent } from "./result.ts";
import type { Tool } from "./tool.ts";

/** A tool's description with its contract's guidance, one line each. */
export function describeTool(tool: Tool): string {
  const { useWhen = [], avoidWhen = [] } = tool.contract.guidance ?? {};
  return [
    tool.description,
    ...useWhen.map((line) => `Use when: ${line}`),
    ...avoidWhen.map((line) => `Avoid when: ${line}`),
  ].join("\n");
}

/** The stable text of a result: strings as they are, other data as JSON, failures with their code. */
export function resultText(result: CallResult): string {
  const lines = result.success
    ? [dataText(result.data), result.message]
    : [`Error (${result.code ?? "tool_failed"}): ${result.error}`, result.message, unknownNote(result)];
  return lines.filter((line) => line !== undefined).join("\n");
}

function dataText(data: Json): string {
  return typeof data === "string" ? data : JSON.stringify(data);
}

function unknownNote(result: CallResult): string | undefined {
  if (result.outcome !== "unknown") return undefined;
  return "The outcome is unknown: the effect may have happened. Do not repeat this call; say so, or check by reading.";
}

/** Whose result it is, for the artifact that keeps what is too long. */
export interface ReaderContext {
  readonly owner: string;
  readonly runId?: string;
}

/**
 * What the model reads: `toModel(result)` or the stable text, shortened to head and tail above the limit, with an
 * artifact id to page through where the app gave an artifact store.
 */
export async function contentForModel(
  runtime: CallRuntime,
  { tool, result }: { readonly tool: Tool | undefined; readonly result: CallResult },
  reader: ReaderContext,
): Promise<ModelContent> {
  const content = (await ownContent(runtime, tool, result)) ?? resultText(result);
  if (typeof content !== "string") return content;
  const limit = tool?.contract.limits?.maxResultChars ?? runtime.limits.maxResultChars;
  if (content.length <= limit) return content;
  return shorten(content, limit, await keepWhole(runtime, content, reader));
}

/** The id of the artifact that keeps the whole text; none where there is no store or it failed. */
async function keepWhole(
  runtime: CallRuntime,
  content: string,
  reader: ReaderContext,
): Promise<string | undefined> {
  try {
    return (await runtime.artifacts?.put(content, { ...reader, mediaType: "text/plain" }))?.id;
  } catch (cause) {
    runtime.logger.warn("A long result could not be kept as an artifact.", { cause: describeThrown(cause) });
    return undefined;
  }
}

async function ownContent(
  runtime: CallRuntime,
  tool: Tool | undefined,
  result: CallResult,
): Promise<ModelContent | undefined> {
  if (tool?.toModel === undefined || result.outcome === "not_started") return undefined;
  try {
    const content = await Promise.resolve<unknown>(tool.toModel(result));
    if (isModelContent(content)) return content;
    runtime.logger.warn(
      `toModel of "${tool.name}" gave neither text nor parts; the model reads the plain result.`,
    );
    return undefined;
  } catch (cause) {
    runtime.logger.warn(`toModel of "${tool.name}" threw; the model reads the plain result.`, {
      cause: describeThrown(cause),
    });
    return undefined;
  }
}

/** Text, or parts that a record can hold. */
function isModelContent(content: unknown): content is ModelContent {
  if (typeof content === "string") return true;
  if (!Array.isArray(content) || copyJson(content).problems.length > 0) return false;
  return content.every((part) => isPlainObject(part) && PART_TYPES.has(String(part["type"])));
}

const PART_TYPES = new Set(["text", "image", "file"]);

function shorten(text: string, limit: number, artifactId: string | undefined): string {
  const head = sliceWellFormed(text, 0, Math.ceil(limit * 0.7));
  const tail = sliceWellFormed(text, text.length - Math.floor(limit * 0.3), text.length);
  const left = text.length - head.length - tail.length;
  const how = artifactId === undefined ? "" : `; read it with read_artifact, id "${artifactId}"`;
  return `${head}\n[... ${left} characters left out${how} ...]\n${tail}`;
}

/** A slice that never cuts a surrogate pair in two. */
function sliceWellFormed(text: string, start: number, end: number): string {
  const slice = text.slice(start, end);
  if (slice.isWellFormed()) return slice;
  return slice.replace(/^[\uDC00-\uDFFF]/, "").replace(/[\uD800-\uDBFF]$/, "");
}
