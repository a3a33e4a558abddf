// The agent on our packages, installed from the tarballs that were packed in the same run: events are read, and every
// run is recorded in a memory store.
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createMemoryRunStore, defineTool, ok, runLoop, ToolRegistry, userMessage } from "@openfunctions/core";

const add = defineTool({
  name: "add",
  description: "Add two numbers",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
  contract: "read",
  handler: async ({ a, b }) => ok(a + b),
});

export function make(baseUrl) {
  const tools = new ToolRegistry();
  tools.register(add);
  const store = createMemoryRunStore();
  const adapters = new Map();
  const adapterOf = (model) => {
    if (!adapters.has(model)) adapters.set(model, createOpenAIAdapter({ model, baseUrl, apiKey: "none" }));
    return adapters.get(model);
  };

  const start = (model) =>
    runLoop({
      adapter: adapterOf(model),
      tools,
      store,
      system: "You are a helpful calculator.",
      messages: [userMessage("go")],
      limits: { maxRounds: 20 },
    });

  return {
    async run(model) {
      const run = start(model);
      for await (const _event of run);
      const { text } = await run.result;
      return text;
    },

    async stream(model, onDelta) {
      const run = start(model);
      for await (const event of run) {
        if (event.type === "text.delta") onDelta(event.data.text);
      }
      const { text } = await run.result;
      return text;
    },
  };
}
