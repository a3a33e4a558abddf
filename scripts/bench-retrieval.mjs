// npm run -s bench:retrieval -- --data <folder>: quality of retrieval; benchmarks/README.md says more.
import { runProgram } from "./run-program.mjs";

// Relative folders belong to where the user typed them.
runProgram("benchmarks/retrieval.ts", process.argv.slice(2), { cwd: process.env.INIT_CWD ?? process.cwd() });
