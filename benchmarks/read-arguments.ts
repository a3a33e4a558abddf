/** The options of a program, or what is wrong with them and how it is used. */

import { parseArgs, type ParseArgsConfig } from "node:util";

/** Reads them. Ends the process with 2 for an option that is none, `--help` too. */
export function readArguments<T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\nUsage: ${usage}\n`);
    process.exit(2);
  }
}
