/** How the conformance suite runs for OpenAI, on both of its wires; the support matrix runs the same. */

import { type AdapterSuite, chatFixtures, responsesFixtures } from "@openfunctions/core/testing";
import { createOpenAIAdapter } from "../adapter.ts";

/** The suites by name. */
export const SUITES: Readonly<Record<string, AdapterSuite>> = {
  "openai responses": suiteOf("responses"),
  "openai chat": suiteOf("chat"),
};

function suiteOf(api: "responses" | "chat"): AdapterSuite {
  const isChat = api === "chat";
  return {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createOpenAIAdapter({
        api,
        apiKey,
        baseUrl: `${baseUrl}/v1`,
        limits,
        ports,
        ...(fetch === undefined ? {} : { fetch }),
      }),
    fixtures: isChat ? chatFixtures : responsesFixtures,
    // Chat completions have nothing opaque to carry.
    capabilities: { refusal: true, contentFilter: true, missingIds: true, usage: true, opaque: !isChat },
  };
}
