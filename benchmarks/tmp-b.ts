import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
const { z } = await import("/work/main/node_modules/zod/index.js");
const s = new McpServer({ name: "b", version: "1.0.0" });
for (let i = 0; i < 500; i++)
  s.registerTool(
    i ? `tool_${i}` : "echo",
    {
      description: "Echo the text back to the caller " + i,
      inputSchema: z.object({ text: z.string().describe("the text") }),
    },
    async ({ text }) => ({ content: [{ type: "text", text }] }),
  );
await s.connect(new StdioServerTransport());
