import { defineConfig } from "vitest/config";

const isWhole = (process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "1") === "1";

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
    // Many tests wait for a process or a server; one worker less than there are cores would leave half of two idle. The
    // full counts of CI are long by themselves and keep a core for the processes they start.
    ...(isWhole ? {} : { maxWorkers: "100%" }),
    // A floating rejection kills the worker and with it the run: a library that
    // leaves one behind would kill its user's process too.
    execArgv: ["--unhandled-rejections=strict"],
    testTimeout: 30_000,
    // A browser or a database server that starts or stops while other suites run.
    hookTimeout: 60_000,
    // A child that starts while other suites run needs its time.
    expect: { poll: { timeout: 10_000 } },
  },
});
