/** One tool with five providers, then a chain whose first model is overloaded. Fake servers answer: no key, no network. */

import assert from "node:assert/strict";
import { createAnthropicAdapter } from "@openfunctions/adapter-anthropic";
import { createGeminiAdapter } from "@openfunctions/adapter-gemini";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createOpenRouterAdapter } from "@openfunctions/adapter-openrouter";
import { createXaiAdapter } from "@openfunctions/adapter-xai";
import { ToolRegistry, isChainEvent, ok, runLoop, userMessage, withFallback } from "@openfunctions/core";
import * as fake from "@openfunctions/core/testing";

const tools = new ToolRegistry();
tools.register({
  name: "add_vat",
  description: "Adds value added tax to a net price.",
  inputSchema: { type: "object", properties: { net: { type: "number" } }, required: ["net"] },
  contract: "read",
  handler: ({ net }) => ok({ gross: net * 1.25 }),
});
const messages = [userMessage("add tax to 80")];

/** A server that asks for the tool and then answers, in the words of one provider. */
function serve(wire: fake.WireFixtures): Promise<fake.FakeModelServer> {
  const calls = [{ id: "call_1", name: "add_vat", args: ['{"net":80}'] }];
  const replies = [{ calls }, { text: ["It is ", "100."] }];
  return fake.startFakeModelServer(replies.map((reply) => ({ blocks: wire.stream(reply) })));
}

for (const [create, wire] of [
  [createAnthropicAdapter, fake.anthropicFixtures],
  [createGeminiAdapter, fake.geminiFixtures],
  [createOpenAIAdapter, fake.responsesFixtures],
  [createXaiAdapter, fake.responsesFixtures],
  [createOpenRouterAdapter, fake.openRouterFixtures],
] as const) {
  const server = await serve(wire);
  const adapter = create({ apiKey: "fake", baseUrl: server.url });
  const { text, record } = await runLoop({ adapter, tools, messages }).result;
  assert.deepEqual([text, record.toolCalls[0]?.outcome], ["It is 100.", "succeeded"]);
  process.stdout.write(`${adapter.provider}/${adapter.model}: ${text}\n`);
  await server.close();
}

const overloaded = { status: 529, json: { type: "error", error: { type: "overloaded_error" } } };
const busy = await fake.startFakeModelServer([overloaded, overloaded]);
const free = await serve(fake.geminiFixtures);
// #region fallback
const claude = createAnthropicAdapter({ apiKey: "fake", baseUrl: busy.url, limits: { retries: 0 } });
const gemini = createGeminiAdapter({ apiKey: "fake", baseUrl: free.url });
const run = runLoop({ adapter: withFallback([claude, gemini]), tools, messages });
for await (const event of run)
  if (isChainEvent(event) && event.type === "model.fallback")
    process.stdout.write(`${event.data.from} cannot (${event.data.reason}); asking ${event.data.to}\n`);
const { text } = await run.result;
// #endregion
process.stdout.write(`${gemini.provider} answered: ${text}\n`);
assert.deepEqual([text, busy.requests.length, free.requests.length], ["It is 100.", 2, 2]);
await Promise.all([busy.close(), free.close()]);
