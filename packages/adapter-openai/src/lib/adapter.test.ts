/** OpenAI's adapter passes the conformance suite on both of its wires, through the real SDK. */

import { describeAdapter } from "@openfunctions/core/testing";
import { describe, it } from "vitest";
import { SUITES } from "./__fixtures__/suites.ts";

for (const [name, suite] of Object.entries(SUITES)) describeAdapter(name, suite, { describe, it });
