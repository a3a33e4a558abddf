/** A registry as an MCP server, and a real client that lists and calls its tools. No network. */

import assert from "node:assert/strict";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
// #region serve
import { ToolRegistry, defineTool, ok } from "@openfunctions/core";
import { createMcpServer } from "@openfunctions/mcp-server";

const tools = new ToolRegistry();
tools.register(
  defineTool({
    name: "add_vat",
    description: "Adds value added tax to a net price.",
    inputSchema: {
      type: "object",
      properties: { net: { type: "number" }, percent: { type: "number", default: 25 } },
      required: ["net"],
    },
    outputSchema: { type: "object", properties: { gross: { type: "number" } }, required: ["gross"] },
    contract: "read",
    handler: ({ net, percent }) => ok({ gross: net * (1 + percent / 100) }),
  }),
);

const server = createMcpServer(tools, { name: "prices" });
// #endregion

for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
  // #region call
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  server.connect(ours);

  const client = new Client({ name: "example", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(theirs);
  const { tools: listed } = await client.listTools();
  assert.deepEqual(listed[0]?.annotations?.readOnlyHint, true); // from the contract

  const result = await client.callTool({ name: "add_vat", arguments: { net: 80 } });
  assert.deepEqual(result.structuredContent, { gross: 100 });

  const wrong = await client.callTool({ name: "add_vat", arguments: { net: "eighty" } });
  assert.equal(wrong.isError, true); // a result that the model can read and correct, not a protocol error
  // #endregion
  await client.close();
}
await server.close();
process.stdout.write("both eras list and call the same tools\n");
