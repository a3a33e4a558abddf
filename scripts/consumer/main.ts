// What a user's first file does, against the packed packages: it must compile without skipLibCheck and run.
import { strict as assert } from "node:assert";

import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { collect, defineTool, ok, ToolRegistry, type AIAdapter } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { createMcpServer } from "@openfunctions/mcp-server";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  contract: "read",
  handler: async ({ a, b }) => ok({ sum: a + b }),
});

const registry = new ToolRegistry();
registry.register(add);

const result = await registry.execute("add", { a: 2, b: 3 });
assert.equal(result.success, true);
assert.deepEqual(result.success ? result.data : undefined, { sum: 5 });

const refused = await registry.execute("add", { a: "two" });
assert.equal(refused.success, false);

const scripted: AIAdapter = scriptedAdapter([{ text: "done" }]);
const reply = await collect(scripted.stream({ messages: [{ role: "user", content: "hi" }] }));
assert.equal(reply.text, "done");

const openai: AIAdapter = createOpenAIAdapter({ apiKey: "not-a-key", model: "gpt-5" });
assert.equal(openai.provider, "openai");
assert.ok(createMcpServer(registry));

console.log(`consumer ran on ${process.version}`);
