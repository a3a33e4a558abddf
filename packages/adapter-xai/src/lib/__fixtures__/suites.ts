/** How the conformance suite runs for Grok; the support matrix runs the same. */

import { type AdapterSuite, type FakeReply, responsesFixtures } from "@openfunctions/core/testing";
import { createXaiAdapter } from "../adapter.ts";

/** xAI's failures are flat: a code in words, and the message as `error` (docs.x.ai, debugging errors; continuedev/continue #10778). */
const failure = (status: number, code: string, error: string): FakeReply => ({
  status,
  json: { code, error },
});

/** The suites by name. */
export const SUITES: Readonly<Record<string, AdapterSuite>> = {
  xai: {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createXaiAdapter({
        model: "recorded",
        apiKey,
        baseUrl: `${baseUrl}/v1`,
        limits,
        ports,
        ...(fetch === undefined ? {} : { fetch }),
      }),
    fixtures: {
      ...responsesFixtures,
      failures: {
        unauthorized: failure(
          401,
          "unauthenticated",
          "Invalid or missing credentials: sk-conformance-0123456789abcdef.",
        ),
        rateLimited: failure(429, "resource-exhausted", "Too many requests."),
        serverError: failure(500, "internal", "Internal error."),
        contextOverflow: failure(
          400,
          "Client specified an invalid argument",
          "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        ),
      },
    },
    capabilities: { refusal: true, contentFilter: true, missingIds: true, usage: true, opaque: true },
  },
};
