/** What the SDK throws, as our errors. */

import { APIConnectionError, APIConnectionTimeoutError, APIError } from "@anthropic-ai/sdk/error";
import { ProtocolError, ProviderError } from "@openfunctions/core";
import { createRedactor } from "@openfunctions/core/wire";
import { describe, expect, it } from "vitest";
import { isStaleThinking, toAnthropicError } from "./to-error.ts";

const reading = { provider: "anthropic", redactor: createRedactor({ secrets: ["topsecret"] }), now: () => 0 };
const read = (cause: unknown): ProviderError => toAnthropicError(cause, reading);
const answer = (
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): APIError =>
  APIError.generate(status, { type: "error", error: { type, message } }, undefined, new Headers(headers));

describe("toAnthropicError", () => {
  it("reads status, type, request id and wait of the SDK's own errors", () => {
    const headers = { "request-id": "req_1", "retry-after": "2" };
    expect(read(answer(429, "rate_limit_error", "slow down, topsecret", headers))).toMatchObject({
      kind: "rate_limit",
      status: 429,
      requestId: "req_1",
      retryAfterMs: 2000,
      retryable: true,
      message: expect.not.stringContaining("topsecret"),
    });
  });

  // Types and statuses: platform.claude.com/docs/en/api/errors (2026-11-30).
  it.each([
    [400, "invalid_request_error", "invalid_request", false],
    [401, "authentication_error", "auth", false],
    [402, "billing_error", "quota", false],
    [403, "permission_error", "permission", false],
    [404, "not_found_error", "not_found", false],
    [413, "request_too_large", "context_length", false],
    [429, "rate_limit_error", "rate_limit", true],
    [500, "api_error", "overloaded", true],
    [504, "timeout_error", "timeout", true],
    [529, "overloaded_error", "overloaded", true],
  ] as const)("%i %s is %s", (status, type, kind, retryable) => {
    expect(read(answer(status, type, "No."))).toMatchObject({ kind, retryable, status });
  });

  it.each([
    "prompt is too long: 1000123 tokens > 1000000 maximum",
    // github.com/docker/docker-agent/issues/569
    "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again",
  ])("a window that is full is context_overflow: %s", (message) => {
    expect(read(answer(400, "invalid_request_error", message))).toMatchObject({
      kind: "context_length",
      code: "context_overflow",
    });
  });

  it("keeps the network, the time and a mistake of ours apart", () => {
    expect(read(new APIConnectionTimeoutError()).kind).toBe("timeout");
    const cause = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") });
    expect(read(new APIConnectionError({ cause }))).toMatchObject({
      kind: "network",
      message: expect.stringContaining("ECONNREFUSED"),
    });
    expect(read(new TypeError("x is not a function"))).toMatchObject({ kind: "protocol", retryable: false });
    expect(read(new ProtocolError("An event is not JSON.")).kind).toBe("protocol");
    const own = new ProviderError("x", { provider: "anthropic", kind: "quota" });
    expect(read(own)).toBe(own);
  });
});

describe("isStaleThinking", () => {
  it("knows the refusal of thinking by its words, and nothing else", () => {
    const said =
      "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
    expect(isStaleThinking(answer(400, "invalid_request_error", said))).toBe(true);
    expect(isStaleThinking(answer(400, "invalid_request_error", "max_tokens: required"))).toBe(false);
    expect(isStaleThinking(answer(500, "api_error", said))).toBe(false);
    expect(isStaleThinking(undefined)).toBe(false);
  });
});
