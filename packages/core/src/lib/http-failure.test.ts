/** What failed HTTP answers mean. */

import { describe, expect, it } from "vitest";
import {
  failureReading,
  providerErrorFromEvent,
  providerErrorFromHttp,
  readRetryAfterMs,
} from "./http-failure.ts";
import { createRedactor } from "./redactor.ts";

const reading = {
  provider: "p",
  redactor: createRedactor({ secrets: ["topsecret"] }),
  now: () => Date.UTC(2026, 0, 1),
};
const kind = (status: number, body?: unknown): string =>
  providerErrorFromHttp({ status, body }, reading).kind;

describe("providerErrorFromHttp", () => {
  it("reads the status", () => {
    const kinds = {
      400: "invalid_request",
      401: "auth",
      402: "quota",
      403: "permission",
      404: "not_found",
      408: "timeout",
      409: "invalid_request",
      422: "invalid_request",
      429: "rate_limit",
      500: "overloaded",
      503: "overloaded",
      529: "overloaded",
    };
    for (const [status, expected] of Object.entries(kinds))
      expect(kind(Number(status)), status).toBe(expected);
  });

  it("lets a code or message say more than the status", () => {
    expect(kind(429, { error: { code: "insufficient_quota", message: "You exceeded your quota" } })).toBe(
      "quota",
    );
    expect(
      kind(400, { error: { code: null, message: "This model's maximum context length is 128000 tokens." } }),
    ).toBe("context_length");
    expect(kind(400, '{"error":{"type":"context_length_exceeded"}}')).toBe("context_length");
    expect(kind(400, { error: "model not loaded" })).toBe("invalid_request");
  });

  it("does not ask again where waiting will not help", () => {
    const retryable = (status: number, body?: unknown): boolean =>
      providerErrorFromHttp({ status, body }, reading).retryable;
    expect([408, 409, 425, 429, 500, 502, 503, 599].map((status) => retryable(status))).toEqual(
      Array.from({ length: 8 }, () => true),
    );
    expect([400, 401, 402, 403, 404, 422].map((status) => retryable(status))).toEqual(
      Array.from({ length: 6 }, () => false),
    );
    expect(retryable(429, { error: { code: "insufficient_quota" } })).toBe(false);
  });

  it("redacts and cuts the body", () => {
    const failure = providerErrorFromHttp({ status: 500, body: `topsecret ${"x".repeat(5000)}` }, reading);
    expect(failure.bodyExcerpt).toHaveLength(2048);
    expect(`${failure.message} ${failure.bodyExcerpt}`).not.toContain("topsecret");
    // Case: the cut would leave half a key behind, which no pattern knows.
    expect(
      providerErrorFromHttp({ status: 500, body: `${"x".repeat(2043)}topsecret` }, reading).bodyExcerpt,
    ).not.toContain("topse");
  });
});

describe("providerErrorFromEvent", () => {
  it("takes an unnamed failure as passing, a named one by its name, an unknown name as final", () => {
    expect(providerErrorFromEvent({ message: "oops" }, reading)).toMatchObject({
      kind: "overloaded",
      retryable: true,
    });
    expect(providerErrorFromEvent({ error: { code: 502, message: "bad gateway" } }, reading)).toMatchObject({
      kind: "overloaded",
      status: 502,
    });
    expect(providerErrorFromEvent({ code: "server_error" }, reading)).toMatchObject({ kind: "overloaded" });
    expect(providerErrorFromEvent({ code: "whatever", message: "no" }, reading)).toMatchObject({
      kind: "invalid_request",
      retryable: false,
    });
  });
});

describe("failureReading", () => {
  it("takes the key and the values of secret headers out of every text, however they were padded", () => {
    const headers = {
      "X-Proxy-Auth": "Bearer proxypass",
      "cf-client-secret": "cfvalue",
      "x-team": "blue-team",
    };
    const reading = failureReading("p", { apiKey: " mykey77\n", headers });
    const message = "mykey77 Bearer proxypass proxypass cfvalue blue-team";
    const error = providerErrorFromHttp({ status: 400, body: { error: { message } } }, reading);
    expect(`${error.message} ${error.bodyExcerpt}`).not.toMatch(/mykey77|proxypass|cfvalue/);
    expect(error.message).toContain("blue-team");
  });
});

describe("readRetryAfterMs", () => {
  it("reads milliseconds, seconds and dates", () => {
    const read = (headers: Record<string, string>): number | undefined =>
      readRetryAfterMs(new Headers(headers), reading.now());
    expect(read({ "retry-after-ms": "12.3", "retry-after": "9" })).toBe(13);
    expect(read({ "retry-after": "1.5" })).toBe(1500);
    expect(read({ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" })).toBe(7000);
    expect(read({ "retry-after": "Thu, 01 Jan 2025 00:00:07 GMT" })).toBe(0);
    expect([read({}), read({ "retry-after": "soon" }), read({ "retry-after": "" })]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
