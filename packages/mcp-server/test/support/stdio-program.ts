/** Serves the fixture tools on stdio, as a program of a user would. */
import { defineTool, ok } from "@openfunctions/core";

import { startServer } from "../../src/index.ts";
import { fixtureTools } from "./fixture-tools.ts";

const { registry } = fixtureTools();
registry.register(
  defineTool({
    name: "chatty",
    description: "Prints to stdout, which is not its own.",
    inputSchema: { type: "object", properties: {} },
    contract: "read",
    handler: () => {
      console.log("a banner nobody asked for");
      process.stdout.write("{ not a frame }\n");
      return ok("printed");
    },
  }),
);
registry.register(
  defineTool({
    name: "survivor",
    description: "Ignores its signal and prints after the end.",
    inputSchema: { type: "object", properties: {} },
    contract: "read",
    handler: async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_600));
      console.log("too late");
      process.stdout.write("too late\n");
      return ok("survived");
    },
  }),
);
const server = await startServer(registry, { instructions: "Fixture tools." });
process.stderr.write("up\n");
await server.closed;
process.stderr.write("closed\n");
