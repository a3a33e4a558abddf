/** What a contract suite needs of a test runner: `describe` and `it` of vitest or node:test. */

/** The two functions a suite calls. */
export interface SuiteRunner {
  describe(title: string, body: () => void): unknown;
  it(title: string, body: () => Promise<void> | void): unknown;
}
