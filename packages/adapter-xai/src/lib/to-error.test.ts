/** What xAI answers when it refuses, as our errors, through the real SDK. */

import { createRedactor } from "@openfunctions/core/wire";
import { APIError } from "openai";
import { expect, it } from "vitest";
import { toXaiError } from "./to-error.ts";

const reading = { provider: "xai", redactor: createRedactor({ secrets: ["xai-topsecret"] }), now: () => 0 };

function read(status: number, body: object): ReturnType<typeof toXaiError> {
  const headers = new Headers({ "x-request-id": "req_1" });
  return toXaiError(APIError.generate(status, body, undefined, headers), reading);
}

it("adapters A10: takes a 400 about the key for auth, without the key", () => {
  for (const said of [
    "Incorrect API key provided: xai-topsecret.",
    "Incorrect%20API%20key%20provided:%20xa***",
  ]) {
    const failure = read(400, { code: "Client specified an invalid argument", error: said });
    expect(failure).toMatchObject({ kind: "auth", status: 400, retryable: false, requestId: "req_1" });
    expect(`${failure.message} ${failure.bodyExcerpt}`).not.toContain("topsecret");
  }
});

it("leaves every other 400 what it is", () => {
  const code = "Client specified an invalid argument";
  expect(read(400, { code, error: "Argument not supported on this model: stop" })).toMatchObject({
    kind: "invalid_request",
    message: expect.stringContaining("Argument not supported"),
  });
  const full = "This model's maximum prompt length is 131072 but the request contains 537812 tokens.";
  expect(read(400, { code, error: full })).toMatchObject({
    kind: "context_length",
    code: "context_overflow",
  });
});
