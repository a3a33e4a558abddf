/** How the conformance suite runs for local servers; the support matrix runs the same. */

import { type AdapterSuite, chatFixtures } from "@openfunctions/core/testing";
import { createLocalAdapter } from "../adapter.ts";
import type { LocalServer } from "../quirks.ts";
import { ollamaFixtures } from "./ollama-wire.ts";

/** The suites by name. */
export const SUITES: Readonly<Record<string, AdapterSuite>> = {
  "local ollama": suiteOf("ollama"),
  "local lmstudio": suiteOf("lmstudio"),
  "local llamacpp": suiteOf("llamacpp"),
  "local vllm": suiteOf("vllm"),
};

function suiteOf(server: LocalServer): AdapterSuite {
  const isNative = server === "ollama";
  return {
    make: ({ baseUrl, apiKey, limits, ports, fetch }) =>
      createLocalAdapter({
        server,
        model: "small",
        apiKey,
        baseUrl: `${baseUrl}/v1`,
        limits,
        ports,
        ...(fetch === undefined ? {} : { fetch }),
      }),
    fixtures: isNative ? ollamaFixtures : chatFixtures,
    // Ollama's own wire has no refusals, no filter, and no counts of cached or reasoning tokens.
    capabilities: {
      refusal: !isNative,
      contentFilter: !isNative,
      usage: !isNative,
      missingIds: true,
      opaque: false,
    },
  };
}
