/** How the conformance suite runs for Claude; the support matrix runs the same. */

import { type AdapterSuite, anthropicFixtures } from "@openfunctions/core/testing";
import { createAnthropicAdapter } from "../adapter.ts";

/** The suites by name. */
export const SUITES: Readonly<Record<string, AdapterSuite>> = {
  anthropic: {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createAnthropicAdapter({ apiKey, baseUrl, limits, ports, ...(fetch === undefined ? {} : { fetch }) }),
    fixtures: anthropicFixtures,
    // The Messages API has no content filter apart from refusals.
    capabilities: { refusal: true, contentFilter: false, opaque: true, missingIds: true, usage: true },
  },
};
