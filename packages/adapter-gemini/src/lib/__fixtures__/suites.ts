/** How the conformance suite runs for Gemini; the support matrix runs the same. */

import { type AdapterSuite, geminiFixtures } from "@openfunctions/core/testing";
import { createGeminiAdapter } from "../adapter.ts";

/** The suites by name. */
export const SUITES: Readonly<Record<string, AdapterSuite>> = {
  gemini: {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createGeminiAdapter({ apiKey, baseUrl, limits, ports, ...(fetch === undefined ? {} : { fetch }) }),
    fixtures: geminiFixtures,
    // The API has no refusal of its own: what it will not say is content_filter.
    capabilities: { refusal: false, contentFilter: true, missingIds: true, usage: true, opaque: true },
  },
};
