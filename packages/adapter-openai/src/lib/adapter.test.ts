/** OpenAI's adapter passes the conformance suite on both of its wires, through the real SDK. */

import { chatFixtures, describeAdapter, responsesFixtures } from "@openfunctions/core/testing";
import { describe, it } from "vitest";
import { createOpenAIAdapter } from "./adapter.ts";

const capabilities = { refusal: true, contentFilter: true, missingIds: true, usage: true };

for (const api of ["responses", "chat"] as const) {
  describeAdapter(
    `openai ${api}`,
    {
      make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
        createOpenAIAdapter({
          api,
          apiKey,
          baseUrl: `${baseUrl}/v1`,
          limits,
          ports,
          ...(fetch === undefined ? {} : { fetch }),
        }),
      fixtures: api === "responses" ? responsesFixtures : chatFixtures,
      capabilities: { ...capabilities, opaque: api === "responses" },
    },
    { describe, it },
  );
}
