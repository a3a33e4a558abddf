/** Reads the command line, runs the command, and says how it ended. */

import { readFileSync } from "node:fs";
import { CommanderError } from "commander";
import { describeError, exitCodeOf, note, paint } from "./output.ts";
import { createProgram, usageExitCode } from "./program.ts";

/** Runs what the process was asked for, in the version that the manifest says; sets its exit code. */
export async function runProgram(manifest: URL): Promise<void> {
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
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
}
