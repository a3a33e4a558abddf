/** Claude's adapter passes the conformance suite through the real SDK. */

import { anthropicFixtures, describeAdapter } from "@openfunctions/core/testing";
import { describe, it } from "vitest";
import { createAnthropicAdapter } from "./adapter.ts";

describeAdapter(
  "anthropic",
  {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createAnthropicAdapter({ apiKey, baseUrl, limits, ports, ...(fetch === undefined ? {} : { fetch }) }),
    fixtures: anthropicFixtures,
    // The Messages API has no content filter apart from refusals.
    capabilities: { refusal: true, contentFilter: false, opaque: true, missingIds: true, usage: true },
  },
  { describe, it },
);
