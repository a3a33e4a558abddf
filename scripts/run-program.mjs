// Starts a TypeScript program of this repository under its own Node and takes over its life:
// same terminal, same signals, same exit code.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { join } from "node:path";

import { bootstrap, node, root } from "./bootstrap.mjs";

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"];
const PARENT_CHECK_MS = 250;

/** Installs if needed, then runs `file` (relative to the root) with `args`, in the caller's folder when npm names it. */
export function runProgram(file, args, { cwd = process.cwd() } = {}) {
  bootstrap();
  const child = spawn(node, [join(root, file), ...args], { cwd, stdio: "inherit" });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  endWithShell(child);
  child.on("error", (error) => {
    process.stderr.write(`Cannot start ${file}: ${error.message}\n`);
    process.exit(1);
  });
  // A program that a signal ended has no exit code; shells write that as 128 + the signal's number.
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

/**
 * npm runs a script in a shell that a signal ends without being passed on. The program must not outlive it:
 * it would keep its port.
 */
function endWithShell(child) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, PARENT_CHECK_MS);
}
