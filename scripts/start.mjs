// npm start: installs if needed, then runs the reference chat app.
import { runProgram } from "./run-program.mjs";

runProgram("apps/chat/src/main.ts", process.argv.slice(2));
