/** Where the apps keep their state. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** `$OPENFUNCTIONS_HOME`, by default `~/.openfunctions`. The apps' rule; libraries take a folder. */
export function dataHome(environment: NodeJS.ProcessEnv = process.env): string {
  const given = environment["OPENFUNCTIONS_HOME"];
  return given === undefined || given === "" ? join(homedir(), ".openfunctions") : resolve(given);
}
