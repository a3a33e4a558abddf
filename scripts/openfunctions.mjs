// npm run -s openfunctions -- <args>: the command, from the working tree.
import { runProgram } from "./run-program.mjs";

// npm moves to the root before it runs a script; relative paths in the arguments belong to
// the folder where the user typed them.
runProgram("apps/cli/src/main.ts", process.argv.slice(2), { cwd: process.env.INIT_CWD ?? process.cwd() });
