/** What OpenRouter answers when it or a provider behind it refuses, as our errors. */

import { createRedactor } from "@openfunctions/core/wire";
import { APIConnectionError, APIError } from "openai";
import { expect, it } from "vitest";
import { toOpenRouterError } from "./to-error.ts";

const reading = {
  provider: "openrouter",
  redactor: createRedactor({ secrets: ["sk-or-topsecret"] }),
  now: () => 0,
};

function read(
  code: number,
  error: object,
  headers: Record<string, string> = {},
): ReturnType<typeof toOpenRouterError> {
  const body = { error: { code, ...error }, user_id: "user_1" };
  return toOpenRouterError(APIError.generate(code, body, undefined, new Headers(headers)), reading);
}

it("finds a full context window in what the provider said", () => {
  const raw = JSON.stringify({
    error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens" },
  });
  expect(
    read(400, { message: "Provider returned error", metadata: { provider_name: "Anthropic", raw } }),
  ).toMatchObject({
    kind: "context_length",
    code: "context_overflow",
    message: expect.stringContaining("Anthropic: "),
  });
});

it("takes flagged input for a content filter, and every other 403 for a permission", () => {
  const metadata = {
    reasons: ["violence"],
    flagged_input: "…",
    provider_name: "OpenAI",
    model_slug: "vendor/model",
  };
  expect(read(403, { message: "Input was flagged", metadata })).toMatchObject({
    kind: "content_filter",
    retryable: false,
    message: expect.stringContaining("violence"),
  });
  expect(read(403, { message: "Key has no permission" })).toMatchObject({ kind: "permission" });
});

it("adapters A10: keeps the key out, and reads codes and waits", () => {
  const failure = read(401, { message: "No user for sk-or-topsecret" });
  expect(failure).toMatchObject({ kind: "auth", retryable: false });
  expect(`${failure.message} ${failure.bodyExcerpt}`).not.toContain("topsecret");
  expect(read(402, { message: "Insufficient credits" })).toMatchObject({ kind: "quota", retryable: false });
  expect(
    read(429, { message: "Provider returned error", metadata: {} }, { "retry-after": "7" }),
  ).toMatchObject({
    kind: "rate_limit",
    retryAfterMs: 7000,
  });
  expect(read(502, { message: "Provider returned error", metadata: { raw: "" } })).toMatchObject({
    kind: "overloaded",
    retryable: true,
    message: "openrouter answered 502: Provider returned error",
  });
  expect(toOpenRouterError(new APIConnectionError({ message: "Connection error." }), reading).kind).toBe(
    "network",
  );
});
