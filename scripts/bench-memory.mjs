// npm run -s bench:memory -- --data <folder>: what memory recalls of long conversations; benchmarks/README.md says more.
import { runProgram } from "./run-program.mjs";

// Relative folders belong to where the user typed them.
runProgram("benchmarks/memory.ts", process.argv.slice(2), { cwd: process.env.INIT_CWD ?? process.cwd() });
