#!/usr/bin/env node
/** The `openfunctions` command. What it imports first would be compiled anew each time, so it imports nothing else. */

import { enableCompileCache } from "node:module";

enableCompileCache();

const { runProgram } = await import("./lib/run-program.ts");
await runProgram(new URL("../package.json", import.meta.url));
