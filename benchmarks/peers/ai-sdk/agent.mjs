// The agent on the AI SDK, as its documentation shows it: `generate` for an answer, `stream` for deltas.
import { createOpenAI } from "@ai-sdk/openai";
import { stepCountIs, tool, ToolLoopAgent } from "ai";
import { z } from "zod";

globalThis.AI_SDK_LOG_WARNINGS = false;

const add = tool({
  description: "Add two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
});

export function make(baseUrl) {
  const provider = createOpenAI({ baseURL: baseUrl, apiKey: "none" });
  const agents = new Map();
  const agentOf = (model) => {
    if (!agents.has(model)) agents.set(model, makeAgent(provider(model)));
    return agents.get(model);
  };

  return {
    async run(model) {
      const { text } = await agentOf(model).generate({ prompt: "go" });
      return text;
    },

    async stream(model, onDelta) {
      const result = await agentOf(model).stream({ prompt: "go" });
      let text = "";
      for await (const delta of result.textStream) {
        text += delta;
        onDelta(delta);
      }
      return text;
    },
  };
}

function makeAgent(model) {
  return new ToolLoopAgent({
    model,
    instructions: "You are a helpful calculator.",
    stopWhen: stepCountIs(20),
    tools: { add },
    // Stateless, like the others; stored conversations would be sent by reference, which a fake has no memory for.
    providerOptions: { openai: { store: false } },
  });
}
