/** What the SDK throws, as our errors. */

import { ApiError } from "@google/genai/web";
import { ProtocolError, ProviderError } from "@openfunctions/core";
import { createRedactor } from "@openfunctions/core/wire";
import { describe, expect, it } from "vitest";
import { geminiErrorFromEvent, toGeminiError } from "./to-error.ts";

const reading = { provider: "gemini", redactor: createRedactor({ secrets: ["topsecret"] }), now: () => 0 };
const read = (cause: unknown, headers?: Headers): ProviderError =>
  toGeminiError(cause, { ...reading, answer: headers && { status: 503, headers } });
const answer = (status: number, error: object): ApiError =>
  new ApiError({ status, message: JSON.stringify({ error }) });

describe("toGeminiError", () => {
  it("reads the SDK's own error, with the headers of the answer", () => {
    const error = answer(429, { code: 429, status: "RESOURCE_EXHAUSTED", message: "slow down, topsecret" });
    expect(read(error, new Headers({ "x-request-id": "req_1", "retry-after": "2" }))).toMatchObject({
      kind: "rate_limit",
      status: 429,
      requestId: "req_1",
      retryAfterMs: 2000,
      retryable: true,
      message: expect.not.stringContaining("topsecret"),
    });
  });

  it("takes the wait that Google states in the body, where no header does", () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
    const error = answer(429, { code: 429, message: "Quota exceeded.", details });
    expect(read(error).retryAfterMs).toBe(34_500);
    expect(read(error, new Headers({ "retry-after": "1" })).retryAfterMs).toBe(1000);
  });

  it.each([
    ["auth", 400, "API key not valid. Please pass a valid API key.", []],
    ["auth", 400, "Bad.", [{ reason: "API_KEY_INVALID", domain: "googleapis.com" }]],
    ["permission", 403, "Your project has been denied access.", []],
    ["not_found", 404, "models/x is not found for API version v1beta.", []],
    [
      "context_length",
      400,
      "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
      [],
    ],
    [
      "quota",
      429,
      "Quota exceeded.",
      [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }],
    ],
    ["rate_limit", 429, "Resource has been exhausted (e.g. check quota).", []],
    ["overloaded", 503, "The model is overloaded. Please try again later.", []],
    ["invalid_request", 400, "Invalid JSON payload received.", []],
  ])("says %s to a %d: %s", (kind, status, message, details) => {
    expect(read(answer(status, { code: status, message, details }))).toMatchObject({ kind, status });
    // An answer to a stream's request reaches the SDK as text, which it puts into a message of its own.
    const inner = JSON.stringify({ error: { code: status, message, details } });
    for (const text of [inner, `data: ${inner}\n\n`, `[${inner}]`])
      expect(read(answer(status, { message: text, code: status, status: "Bad Request" }))).toMatchObject({
        kind,
        status,
        message: `gemini answered ${status}: ${message}`,
      });
  });

  it("reads an error page as what it is", () => {
    expect(read(answer(502, { message: "<html>Bad Gateway</html>", code: 502 }))).toMatchObject({
      kind: "overloaded",
      retryable: true,
    });
    expect(read(new ApiError({ status: 500, message: "no JSON" }))).toMatchObject({ status: 500 });
  });

  it("reads an error event, whose code says whether asking again may help", () => {
    const event = { error: { code: 503, status: "UNAVAILABLE", message: "Busy, topsecret." } };
    expect(geminiErrorFromEvent(event, reading)).toMatchObject({
      kind: "overloaded",
      retryable: true,
      message: expect.stringMatching(/^gemini ended the reply with an error: Busy, (?!topsecret)/),
    });
    const error = {
      code: 400,
      message: "The input token count (2) exceeds the maximum number of tokens (1).",
    };
    expect(geminiErrorFromEvent({ error }, reading).kind).toBe("context_length");
  });

  it("keeps a mistake of ours apart from the network", () => {
    expect(read(new TypeError("x is not a function"))).toMatchObject({ kind: "protocol", retryable: false });
    expect(read(new SyntaxError("bad"))).toMatchObject({ kind: "protocol" });
    expect(read(new ProtocolError("An event is not JSON."))).toMatchObject({ kind: "protocol" });
    expect(read(new TypeError("terminated"))).toMatchObject({ kind: "network", retryable: true });
    const cause = new Error("connect ECONNREFUSED 127.0.0.1:1");
    expect(read(new TypeError("fetch failed", { cause })).message).toContain("ECONNREFUSED");
    expect(read("a string")).toMatchObject({ kind: "network" });
  });

  it("gives a ProviderError back as it is", () => {
    const error = new ProviderError("x", { provider: "gemini", kind: "quota" });
    expect(read(error)).toBe(error);
  });
});
