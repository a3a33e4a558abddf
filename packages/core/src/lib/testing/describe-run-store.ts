/** The contract suite of `RunStore`: every implementation runs it. */

import type { RunStoreFixture, RunStoreTest } from "./run-store-situation.ts";
import { describeClosing, describeDurability, describeLists, describeWatch } from "./run-store-read-cases.ts";
import { describeAnnex, describeAppends } from "./run-store-write-cases.ts";
import type { SuiteRunner } from "./suite-runner.ts";

/** A run store to put to the test. */
export interface RunStoreSuite {
  /** True where runs outlive the store; then `make` gives `reopen`, and that is tested too. */
  readonly durable: boolean;
  /** An empty store; called once per test. */
  make(): Promise<RunStoreFixture>;
}

/** Runs the contract of `RunStore` against what the suite makes. */
export function describeRunStore(name: string, suite: RunStoreSuite, { describe, it }: SuiteRunner): void {
  const test: RunStoreTest = (title, body) =>
    it(title, async () => {
      const fixture = await suite.make();
      try {
        await body(fixture);
      } finally {
        await fixture.store.close();
      }
    });
  describe(`RunStore contract: ${name}`, () => {
    describeAppends(test);
    describeAnnex(test);
    describeLists(test);
    describeWatch(test);
    describeClosing(test);
    if (suite.durable) describeDurability(test);
  });
}
