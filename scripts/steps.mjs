// The bookkeeping of a check run: named steps, each with counts, and one closing line.
import { spawnSync } from "node:child_process";

const MAX_SHOWN_LINES = 80;

/** Runs the steps in order, prints each one's result and time, and returns the sum of their counts. */
export async function runSteps(steps) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, run } of steps) {
    const started = Date.now();
    const counts = await runStep(run);
    for (const key of Object.keys(total)) total[key] += counts[key] ?? 0;
    console.log(`${counts.failed ? "FAIL" : "ok  "}  ${name}  ${describe(counts)}  ${seconds(started)} s`);
  }
  return total;
}

/** Prints the closing line and sets the exit code: a run that executed nothing has not passed. */
export function closeRun({ passed, failed, skipped }) {
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
}

/** The counts of a list of `{ name, ok, output?, skipped? }`; prints those that failed or were skipped. */
export function countChecks(checks) {
  for (const check of checks) {
    if (check.skipped) console.log(`skip  ${check.name}: ${check.skipped}`);
    else if (!check.ok) console.log(`FAIL  ${check.name}\n${lastLines(check.output ?? "")}`);
  }
  const skipped = checks.filter((check) => check.skipped).length;
  const passed = checks.filter((check) => check.ok && !check.skipped).length;
  return { passed, failed: checks.length - passed - skipped, skipped };
}

/** Runs a command to its end and returns it as a check; both of its streams become the output. */
export function runCheck(name, [command, ...args], options = {}) {
  const result = spawnSync(command, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, ...options });
  const reason = result.error
    ? `${result.error.message}\n`
    : result.signal
      ? `ended by ${result.signal}\n`
      : "";
  return { name, ok: result.status === 0, output: `${reason}${result.stdout ?? ""}${result.stderr ?? ""}` };
}

// One step that throws is one failure; the steps after it still run.
async function runStep(run) {
  try {
    return await run();
  } catch (error) {
    console.log(error instanceof Error ? error.stack : String(error));
    return { passed: 0, failed: 1 };
  }
}

function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`;
}

function seconds(started) {
  return ((Date.now() - started) / 1000).toFixed(1);
}

function lastLines(text) {
  const lines = text.trimEnd().split("\n");
  const hidden = lines.length - MAX_SHOWN_LINES;
  const shown = hidden > 0 ? [`... ${hidden} lines before`, ...lines.slice(-MAX_SHOWN_LINES)] : lines;
  // Indented: the closing line of a tool must not be taken for ours.
  return shown.map((line) => `      ${line}`).join("\n");
}
