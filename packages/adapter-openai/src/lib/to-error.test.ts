/** What the SDK throws, as our errors. */

import { ProtocolError, ProviderError } from "@openfunctions/core";
import { createRedactor } from "@openfunctions/core/wire";
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "openai";
import { describe, expect, it } from "vitest";
import { toOpenAIError } from "./to-error.ts";

const reading = { provider: "openai", redactor: createRedactor({ secrets: ["topsecret"] }), now: () => 0 };
const read = (cause: unknown): ProviderError => toOpenAIError(cause, reading);

describe("toOpenAIError", () => {
  it("reads the SDK's own errors by their shape", () => {
    const headers = new Headers({ "x-request-id": "req_1", "retry-after": "2" });
    const body = { error: { code: "rate_limit_exceeded", message: "slow down, topsecret" } };
    expect(read(APIError.generate(429, body, undefined, headers))).toMatchObject({
      kind: "rate_limit",
      status: 429,
      requestId: "req_1",
      retryAfterMs: 2000,
      retryable: true,
      message: expect.not.stringContaining("topsecret"),
    });
    expect(read(new APIConnectionTimeoutError()).kind).toBe("timeout");
    const cause = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") });
    expect(read(new APIConnectionError({ cause }))).toMatchObject({
      kind: "network",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("keeps a mistake of ours apart from the network", () => {
    expect(read(new TypeError("x is not a function"))).toMatchObject({ kind: "protocol", retryable: false });
    expect(read(new SyntaxError("bad"))).toMatchObject({ kind: "protocol" });
    expect(read(new ProtocolError("An event is not JSON."))).toMatchObject({ kind: "protocol" });
    expect(read(new TypeError("terminated"))).toMatchObject({ kind: "network", retryable: true });
    expect(read(new Error("socket hang up"))).toMatchObject({ kind: "network" });
    expect(read("a string")).toMatchObject({ kind: "network" });
  });

  it("gives a ProviderError back as it is", () => {
    const error = new ProviderError("x", { provider: "openai", kind: "quota" });
    expect(read(error)).toBe(error);
  });
});
