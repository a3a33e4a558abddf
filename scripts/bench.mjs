// npm run bench -- <args>: measurements against peers; benchmarks/README.md says which.
import { runProgram } from "./run-program.mjs";

runProgram("benchmarks/main.ts", process.argv.slice(2));
