import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "packages/*/test/**/*.test.ts",
      "apps/*/src/**/*.test.ts",
      "apps/*/test/**/*.test.ts",
      "benchmarks/*.test.ts",
      "tests/*/**/*.test.ts",
      "scripts/**/*.test.mjs",
    ],
    // Live tests need a key or a service; they are started by hand.
    exclude: ["**/node_modules/**", "**/dist/**", "**/test/live/**"],
    pool: "forks",
    // A floating rejection kills the worker and with it the run: a library that
    // leaves one behind would kill its user's process too.
    execArgv: ["--unhandled-rejections=strict"],
    testTimeout: 30_000,
    // A child that starts while other suites run needs its time.
    expect: { poll: { timeout: 10_000 } },
  },
});
