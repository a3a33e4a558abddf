/** Neutral replies as Ollama's `/api/chat` writes them: one JSON object per line (ChatResponse of ollama 0.6.4, npm). */

import { chatFixtures, type FakeReply, type NeutralReply, type WireFixtures } from "@openfunctions/core/testing";

const line = (fields: object): string =>
  `${JSON.stringify({ model: "model-that-answered", created_at: "2026-11-30T00:00:00Z", ...fields })}\n`;
const said = (message: object): string => line({ message: { role: "assistant", content: "", ...message }, done: false });
const failure = (status: number, error: string): FakeReply => ({
  status,
  json: { error },
  headers: { "x-request-id": `req_${status}` },
});

/** Arguments come whole, as an object; text that is none is what a broken server sends. */
function argumentsOf(pieces: readonly string[]): unknown {
  const text = pieces.join("");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function lines(reply: NeutralReply): string[] {
  const calls = (reply.calls ?? []).map(({ id, name, args }) => ({
    ...(id === null ? {} : { id }),
    function: { name, arguments: argumentsOf(args) },
  }));
  return [
    said({}),
    ...(reply.text ?? []).map((content) => said({ content })),
    ...calls.map((call) => said({ tool_calls: [call] })),
    line({
      message: { role: "assistant", content: "" },
      done: true,
      done_reason: reply.finish === "length" ? "length" : "stop",
      prompt_eval_count: reply.usage?.input ?? 10,
      eval_count: reply.usage?.output ?? 6,
    }),
  ];
}

/** Ollama's native wire. */
export const ollamaFixtures: WireFixtures = {
  ...chatFixtures,
  comments: false,
  stream: lines,
  errorEvent: (message) => `${JSON.stringify({ error: message })}\n`,
  failures: {
    unauthorized: failure(401, "unauthorized: sk-conformance-0123456789abcdef"),
    rateLimited: failure(429, "too many requests"),
    serverError: failure(500, "llama runner process has terminated"),
    contextOverflow: failure(400, "the input length exceeds the context length"),
  },
};
