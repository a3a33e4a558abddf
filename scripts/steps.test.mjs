import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { describe, expect, it } from "vitest";

const steps = pathToFileURL(join(dirname(fileURLToPath(import.meta.url)), "steps.mjs")).href;

describe("a check run", () => {
  it("ends with the sum of all steps and exit code 0", () => {
    const run = runSteps("{ passed: 2, failed: 0 }", "{ passed: 3, failed: 0, skipped: 1 }");
    expect(run).toEqual({ last: "5 passed, 0 failed, 1 skipped", status: 0 });
  });

  it("fails when one step failed", () => {
    expect(runSteps("{ passed: 2, failed: 1 }")).toEqual({ last: "2 passed, 1 failed", status: 1 });
  });

  it("fails when nothing ran", () => {
    expect(runSteps("{ passed: 0, failed: 0 }")).toEqual({ last: "0 passed, 0 failed", status: 1 });
  });

  it("counts a step that throws as one failure and runs the next", () => {
    const run = runSteps("(() => { throw new Error('x'); })()", "{ passed: 1, failed: 0 }");
    expect(run).toEqual({ last: "1 passed, 1 failed", status: 1 });
  });

  it("counts a check whose command fails, cannot start or is too slow", () => {
    const commands = [["false"], ["no-such-command"], ["sleep", "5"], ["true"]];
    const checks = `countChecks(${JSON.stringify(commands)}.map((command) => runCheck("x", command, { timeout: 200 })))`;
    expect(runSteps(checks)).toEqual({ last: "1 passed, 3 failed", status: 1 });
  });
});

function runSteps(...results) {
  const list = results.map((result) => `{ name: "x", run: () => (${result}) }`).join(", ");
  const code = `import { closeRun, countChecks, runCheck, runSteps } from "${steps}"; closeRun(await runSteps([${list}]));`;
  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    encoding: "utf8",
  });
  return { last: stdout.trimEnd().split("\n").at(-1), status };
}
