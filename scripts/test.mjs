// npm test: installs if needed, then runs every check there is. The last line is always
// `N passed, N failed`, and the exit code is zero only when something ran and nothing failed.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bootstrap, node, root, tsc } from "./bootstrap.mjs";
import { checkPackages } from "./check-packages.mjs";
import { closeRun, countChecks, runCheck, runSteps } from "./steps.mjs";
import { exampleFiles } from "./workspace.mjs";

const EXAMPLE_TIMEOUT_MS = 60_000;

bootstrap();
const scratch = mkdtempSync(join(tmpdir(), "openfunctions-test-"));
const env = testEnvironment();
try {
  closeRun(
    await runSteps([
      {
        name: "types",
        run: () => countChecks([bin("tsc", [tsc, "-b", "tsconfig.json", "tsconfig.checks.json"])]),
      },
      {
        name: "lint",
        run: () => countChecks([bin("oxlint", [moduleBin("oxlint", "bin/oxlint"), "--deny-warnings"])]),
      },
      {
        name: "format",
        run: () => countChecks([bin("oxfmt", [moduleBin("oxfmt", "bin/oxfmt"), "--check"])]),
      },
      { name: "shape", run: checkShape },
      { name: "api", run: () => countChecks([bin("api reports", ["scripts/api-report.mjs", "--check"])]) },
      {
        name: "readmes",
        run: () => countChecks([bin("readme fences", ["scripts/readme-fences.mjs", "--check"])]),
      },
      { name: "dependencies", run: checkDependencies },
      { name: "tests", run: runVitest },
      {
        name: "providers",
        run: () => countChecks([bin("provider docs", ["tests/providers/main.ts", "--check"])]),
      },
      { name: "examples", run: () => countChecks(exampleFiles(root).map(runExample)) },
      {
        name: "packages",
        run: () => countChecks(checkPackages({ scratch: join(scratch, "packages"), env })),
      },
    ]),
  );
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/**
 * What tests see of the environment: no provider settings (a live one must never be called by accident), no home
 * folder of the user, and the scale of property, fuzz and repeat counts.
 */
function testEnvironment() {
  const isPrivate = (name) => /(_API_KEY|_MODEL|_BASE_URL)$|^(PORT|INIT_CWD)$/.test(name);
  const kept = Object.entries(process.env).filter(([name]) => !isPrivate(name));
  return {
    ...Object.fromEntries(kept),
    ...(process.stdout.isTTY ? {} : { NO_COLOR: "1" }),
    OPENFUNCTIONS_HOME: join(scratch, "home"),
    // Hundreds of processes start; what one of them compiled, types stripped, the next ones read.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, "node_modules", ".cache", "compile"),
    OPENFUNCTIONS_TEST_SCALE: process.env.OPENFUNCTIONS_TEST_SCALE ?? "0.1",
  };
}

// Tools are started by path under the repository's Node: which Node a .bin link finds depends on the PATH.
function bin(name, args) {
  return runCheck(name, [node, ...args], { cwd: root, env });
}

function moduleBin(name, file) {
  return join(root, "node_modules", name, file);
}

function checkShape() {
  const check = bin("check-shape", ["scripts/check-shape.mjs"]);
  if (check.ok) console.log(check.output.trimEnd());
  return countChecks([check]);
}

function checkDependencies() {
  return countChecks([
    bin("knip", [moduleBin("knip", "bin/knip.js")]),
    runCheck("sherif", [moduleBin(".bin", "sherif")], { cwd: root, env }),
  ]);
}

function runVitest() {
  const report = join(scratch, "vitest.json");
  const args = ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = spawnSync(node, [moduleBin("vitest", "vitest.mjs"), ...args], {
    cwd: root,
    env,
    stdio: "inherit",
  });
  const counts = existsSync(report) ? readVitestReport(report) : { passed: 0, failed: 0, skipped: 0 };
  // A file that does not load, or an error outside a test, fails the run without failing a test.
  if (status !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

function readVitestReport(file) {
  const report = JSON.parse(readFileSync(file, "utf8"));
  const brokenFiles = report.testResults.filter(
    (suite) => suite.status === "failed" && suite.assertionResults.length === 0,
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + brokenFiles.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

function runExample(file) {
  return runCheck(file, [node, file], { cwd: root, env, timeout: EXAMPLE_TIMEOUT_MS });
}
