/** The contract suite of adapters: what every provider's model must look like from our side. */

import { replyCases } from "./testing/adapter-reply-cases.ts";
import type { AdapterSuite } from "./testing/adapter-situation.ts";
import { failureCases } from "./testing/adapter-failure-cases.ts";
import { requestCases } from "./testing/adapter-request-cases.ts";
import { streamCases } from "./testing/adapter-stream-cases.ts";
import type { SuiteRunner } from "./testing/suite-runner.ts";

/**
 * Runs the conformance suite of spec adapters.md section 13 with the `describe` and `it` of vitest or node:test.
 * With `fixtures` the adapter is questioned over HTTP by a fake server on loopback, through its own client; without,
 * only the cases about replies run. What `capabilities` declares false is left out. No network, no key.
 */
export function describeAdapter(name: string, suite: AdapterSuite, runner: SuiteRunner): void {
  const { describe } = runner;
  describe(`adapter ${name}`, () => {
    describe("replies", () => replyCases(suite, runner));
    const { fixtures } = suite;
    if (fixtures === undefined) return;
    const wired = { ...suite, fixtures };
    describe("streams", () => streamCases(wired, runner));
    describe("failures", () => failureCases(wired, runner));
    describe("requests", () => requestCases(wired, runner));
  });
}
