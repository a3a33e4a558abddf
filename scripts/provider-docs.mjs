// npm run providers: writes the generated parts of docs/providers from the policy table and from a run of the
// conformance suite; `-- --check` only compares.
import { runProgram } from "./run-program.mjs";

runProgram("tests/providers/main.ts", process.argv.slice(2));
