/** Gemini's adapter passes the conformance suite, through the real SDK. */

import { describeAdapter, geminiFixtures } from "@openfunctions/core/testing";
import { describe, it } from "vitest";
import { createGeminiAdapter } from "./adapter.ts";

describeAdapter(
  "gemini",
  {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createGeminiAdapter({ apiKey, baseUrl, limits, ports, ...(fetch === undefined ? {} : { fetch }) }),
    fixtures: geminiFixtures,
    // The API has no refusal of its own: what it will not say is content_filter.
    capabilities: { refusal: false, contentFilter: true, missingIds: true, usage: true, opaque: true },
  },
  { describe, it },
);
