/** The JSON body of a chat request, read with a limit and checked before a run begins. */

import { isPlainObject } from "@openfunctions/core";
import type { ErrorBody } from "./stream-parts.ts";

interface RefusedBody {
  readonly ok: false;
  readonly status: 400 | 413 | 415;
  readonly error: ErrorBody;
}

/** A body that may go on, or the answer that says why not. */
export type ChatBody =
  | { readonly ok: true; readonly message: string; readonly threadId?: string; readonly runId?: string }
  | RefusedBody;

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_MESSAGE_CHARS = 100_000;
const THREAD_ID = /^[A-Za-z0-9_-]{1,128}$/;

/** Reads `{ message, threadId? }`. Invalid UTF-8 and anything that is not a JSON object is 400. */
export async function readBody(
  request: Request,
  { needsMessage }: { readonly needsMessage: boolean },
): Promise<ChatBody> {
  const body = await readJsonObject(request);
  if (!body.ok) return body;
  const { message, threadId, runId } = body.value;
  if (threadId !== undefined && (typeof threadId !== "string" || !THREAD_ID.test(threadId))) {
    return refuse(400, "invalid_thread", "threadId has 1 to 128 letters, digits, _ or -.");
  }
  const thread = {
    ...(typeof threadId === "string" ? { threadId } : {}),
    ...(typeof runId === "string" ? { runId } : {}),
  };
  if (!needsMessage) return { ok: true, message: "", ...thread };
  if (typeof message !== "string" || message.trim() === "")
    return refuse(400, "invalid_message", "message must be a text that is not empty.");
  if (message.length > MAX_MESSAGE_CHARS)
    return refuse(400, "invalid_message", "message may have at most 100,000 characters.");
  if (!message.isWellFormed())
    return refuse(400, "invalid_message", "message holds half of a character (a lone surrogate).");
  return { ok: true, message, ...thread };
}

/** Reads any JSON object of at most 1 MiB. */
export async function readJsonObject(
  request: Request,
): Promise<{ readonly ok: true; readonly value: Readonly<Record<string, unknown>> } | RefusedBody> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    return refuse(415, "unsupported_type", "Send application/json.");
  const bytes = await readLimited(request);
  if (bytes === undefined) return refuse(413, "too_large", "The body may have at most 1 MiB.");
  const value = parse(bytes);
  if (!isPlainObject(value)) return refuse(400, "invalid_body", "The body must be a JSON object.");
  return { ok: true, value };
}

async function readLimited(request: Request): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function refuse(status: 400 | 413 | 415, code: string, message: string): RefusedBody {
  return { ok: false, status, error: { code, message, retryable: false } };
}
