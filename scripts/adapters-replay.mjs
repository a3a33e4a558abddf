// npm run -s adapters:replay -- --dir <folder>: recorded traffic through every adapter, from the working tree.
import { runProgram } from "./run-program.mjs";

// npm moves to the root before it runs a script; relative paths in the arguments belong to
// the folder where the user typed them.
runProgram("tests/wire-replay/main.ts", process.argv.slice(2), {
  cwd: process.env.INIT_CWD ?? process.cwd(),
});
