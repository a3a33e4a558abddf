// npm run -s conformance:server -- --port <n>: the MCP fixture server for the public conformance suite.
import { runProgram } from "./run-program.mjs";

runProgram("packages/mcp-server/test/conformance/server.ts", process.argv.slice(2));
