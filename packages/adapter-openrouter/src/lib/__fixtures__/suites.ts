/** How the conformance suite runs for OpenRouter; the support matrix runs the same. */

import { type AdapterSuite, openRouterFixtures } from "@openfunctions/core/testing";
import { createOpenRouterAdapter } from "../adapter.ts";

/** The suites by name. */
export const SUITES: Readonly<Record<string, AdapterSuite>> = {
  openrouter: {
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
};
