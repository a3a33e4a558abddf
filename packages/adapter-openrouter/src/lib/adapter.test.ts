/** OpenRouter's adapter passes the conformance suite through the real SDK. */

import { describeAdapter, openRouterFixtures } from "@openfunctions/core/testing";
import { describe, it } from "vitest";
import { createOpenRouterAdapter } from "./adapter.ts";

describeAdapter(
  "openrouter",
  {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createOpenRouterAdapter({
        model: "vendor/model",
        apiKey,
        baseUrl: `${baseUrl}/v1`,
        limits,
        ports,
        ...(fetch === undefined ? {} : { fetch }),
      }),
    fixtures: openRouterFixtures,
    capabilities: { refusal: true, contentFilter: true, missingIds: true, usage: true, opaque: true },
  },
  { describe, it },
);
