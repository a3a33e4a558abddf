#!/usr/bin/env node
/** The `openfunctions` command. */

import { readFileSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { CommanderError } from "commander";
import { describeError, exitCodeOf, note, paint } from "./lib/output.ts";
import { createProgram, usageExitCode } from "./lib/program.ts";

enableCompileCache();

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

// A reader that goes away (`| head`) is no failure of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

try {
  await createProgram(version).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = usageExitCode(error);
  } else {
    note(paint("red", describeError(error)));
    process.exitCode = exitCodeOf(error);
  }
}
