/** Asks a fake server through the adapter and the real SDK. */

import type { ModelReply, ModelRequest } from "@openfunctions/core";
import { type FakeRequest, geminiFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { createGeminiAdapter, type GeminiAdapterOptions } from "../adapter.ts";

/** A key that must never be seen again. */
export const KEY = "AIza-tests-0123456789abcdef";

/** One user message. */
export const HI = { messages: [{ role: "user", content: "hi" }] } as const;

/** A tool with a parameter. */
export const WEATHER = {
  name: "get_weather",
  description: "The weather of a city.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;

/** A tool without any. */
export const CLOCK = {
  name: "get_time",
  description: "The time now.",
  inputSchema: { type: "object", properties: {} },
} as const;

/** The request that reaches the server, and the reply to it. */
export async function sent(
  request: ModelRequest,
  options: GeminiAdapterOptions = {},
): Promise<{ readonly request: FakeRequest; readonly reply: ModelReply; readonly body: unknown }> {
  const server = await startFakeModelServer([{ blocks: geminiFixtures.stream({ text: ["ok"] }) }]);
  try {
    const adapter = createGeminiAdapter({ apiKey: KEY, baseUrl: server.url, model: "m", ...options });
    const reply = await adapter.chat(request);
    const [first] = server.requests;
    if (first === undefined) throw new Error("Nothing was sent.");
    return { request: first, reply, body: first.body };
  } finally {
    await server.close();
  }
}

/** The reply to one stream of chunks, written as JSON. */
export async function heard(chunks: readonly object[], options: GeminiAdapterOptions = {}): Promise<ModelReply> {
  const blocks = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`);
  const server = await startFakeModelServer([{ blocks }]);
  const limits = { retries: 0 };
  try {
    const adapter = createGeminiAdapter({ apiKey: KEY, baseUrl: server.url, model: "m", limits, ...options });
    return await adapter.chat({ ...HI, tools: [WEATHER, CLOCK] });
  } finally {
    await server.close();
  }
}

/** One chunk with parts, and a finish reason where it is the last. */
export function chunk(parts: readonly object[], finishReason?: string, more: object = {}): object {
  const end = finishReason === undefined ? {} : { finishReason };
  return { candidates: [{ content: { role: "model", parts }, ...end, ...more }] };
}
