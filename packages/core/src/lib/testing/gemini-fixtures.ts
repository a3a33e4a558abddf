/** Neutral replies in the words of Gemini's generateContent stream. */

import type { FakeReply } from "./fake-model-server.ts";
import { NEUTRAL_USAGE, type NeutralCall, type NeutralReply, type WireFixtures } from "./wire-fixtures.ts";

/** Failure bodies as Google sends them (fixture google/Chats_Tests_sendMessage_Send_message_stream_with_error). */
function errorReply(code: number, status: string, message: string): FakeReply {
  const json = { error: { code, message, status } };
  return { status: code, json, headers: { "x-request-id": `req_${code}` } };
}

const FINISH = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
  refusal: "SAFETY",
} as const;

/** What Google documents for calls of other models, which have no signature (ai.google.dev/gemini-api/docs/thought-signatures). */
const NO_SIGNATURE = "skip_thought_signature_validator";

/**
 * Gemini's generateContent stream: CRLF, no terminator, the counts so far in every chunk. A call arrives whole, so the
 * pieces of its arguments are joined; arguments that are no JSON object travel as text, as some gateways send them. An
 * opaque item is the signature of the first call, else of the text.
 */
export const geminiFixtures: WireFixtures = {
  stream: (reply) => geminiChunks(reply).map(block),
  errorEvent: (message) => block({ error: { code: 500, message, status: "INTERNAL" } }),
  failures: {
    unauthorized: errorReply(401, "UNAUTHENTICATED", "API key sk-conformance-0123456789abcdef is not valid."),
    rateLimited: errorReply(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    serverError: errorReply(500, "INTERNAL", "An internal error has occurred."),
    contextOverflow: errorReply(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    ),
  },
  historyOf: (body) => listOf(body, "contents"),
  opaqueOf: (body) =>
    listOf(body, "contents")
      .flatMap((content) => listOf(content, "parts"))
      .flatMap((part) => fieldOf(part, "thoughtSignature") ?? [])
      .filter((signature) => signature !== NO_SIGNATURE),
};

function geminiChunks(reply: NeutralReply): object[] {
  const { input, cached, output, reasoning } = reply.usage ?? NEUTRAL_USAGE;
  const usageMetadata = {
    promptTokenCount: input,
    cachedContentTokenCount: cached,
    candidatesTokenCount: output - reasoning,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input + output,
  };
  const calls = reply.calls ?? [];
  const signature = reply.opaque === undefined ? {} : { thoughtSignature: `secret é ${reply.opaque} \u2028` };
  const parts = [
    { text: "" }, // Empty texts are recorded at the end of streams; here one comes before anything is said as well.
    ...(reply.text ?? []).map((text) => ({ text })),
    ...calls.map((call, index) => ({ functionCall: functionCall(call), ...(index === 0 ? signature : {}) })),
    { text: "", ...(calls.length === 0 ? signature : {}) },
  ];
  return parts.map((part, index) => ({
    candidates: [
      {
        content: { parts: [part], role: "model" },
        ...(index === parts.length - 1 ? { finishReason: FINISH[reply.finish ?? "stop"] } : {}),
        index: 0,
      },
    ],
    usageMetadata,
    modelVersion: "model-that-answered",
    responseId: "resp_1",
  }));
}

function functionCall({ id, name, args }: NeutralCall): object {
  const text = args.join("");
  const own = { name, ...(id === null ? {} : { id }) };
  if (text === "") return own;
  try {
    return { ...own, args: JSON.parse(text) };
  } catch {
    return { ...own, args: text };
  }
}

function block(event: object): string {
  return `data: ${JSON.stringify(event)}\r\n\r\n`;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = fieldOf(value, name);
  return Array.isArray(list) ? list : [];
}
