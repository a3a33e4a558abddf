// What a user's first file does, against the packed packages: it must compile without skipLibCheck and run.
import { strict as assert } from "node:assert";

import { createAnthropicAdapter } from "@openfunctions/adapter-anthropic";
import { createGeminiAdapter } from "@openfunctions/adapter-gemini";
import { createLocalAdapter } from "@openfunctions/adapter-local";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createOpenRouterAdapter } from "@openfunctions/adapter-openrouter";
import { createXaiAdapter } from "@openfunctions/adapter-xai";
import { collect, defineTool, ok, ToolRegistry, type AIAdapter } from "@openfunctions/core";
import {
  anthropicFixtures,
  chatFixtures,
  geminiFixtures,
  openRouterFixtures,
  responsesFixtures,
  scriptedAdapter,
  startFakeModelServer,
  type WireFixtures,
} from "@openfunctions/core/testing";
import { createMcpServer } from "@openfunctions/mcp-server";
import { createMemoryChunkStore, createRAG } from "@openfunctions/rag";

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

// Every adapter asks its provider's SDK, as it was packed, once.
type Options = { readonly apiKey: string; readonly baseUrl: string; readonly model: string };
const providers: [WireFixtures, (options: Options) => AIAdapter][] = [
  [anthropicFixtures, createAnthropicAdapter],
  [geminiFixtures, createGeminiAdapter],
  [responsesFixtures, createOpenAIAdapter],
  [responsesFixtures, createXaiAdapter],
  [openRouterFixtures, createOpenRouterAdapter],
  [chatFixtures, (options) => createLocalAdapter({ ...options, server: "vllm" })],
];
for (const [fixtures, make] of providers) {
  const server = await startFakeModelServer([{ blocks: fixtures.stream({ text: ["hello"] }) }]);
  const adapter = make({ apiKey: "not-a-key", baseUrl: server.url, model: "some-model" });
  const { text } = await adapter.chat({ messages: [{ role: "user", content: "hi" }] });
  assert.equal(text, "hello", adapter.provider);
  await server.close();
}
assert.ok(createMcpServer(registry));

// The thread that parses documents is found where it was packed; what it loads is not installed here.
const rag = await createRAG({ store: createMemoryChunkStore() });
await rag.ingest({ sourceId: "tea.md", content: "Green tea is steamed." });
assert.equal((await rag.search("tea")).hits[0]?.content, "Green tea is steamed.");
const pdf = { sourceId: "tea.pdf", content: Buffer.from("%PDF-1.4") };
await assert.rejects(rag.ingest(pdf), { code: "package_missing", hint: "Install it: npm install unpdf" });

console.log(`consumer ran on ${process.version}`);
