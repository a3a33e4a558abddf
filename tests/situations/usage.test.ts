/** What a run cost, per step and in all. */

import { describe, expect, it } from "vitest";
import { addUsage, createMemoryRunStore, ok, runLoop, ToolRegistry, userMessage } from "@openfunctions/core";
import { ADAPTERS, answerOf, type Said, type Talking, withSteps } from "./adapters.ts";

function toolsOf(): ToolRegistry {
  const tools = new ToolRegistry();
  const inputSchema = { type: "object", properties: {} } as const;
  tools.register({
    name: "look",
    description: "looks",
    inputSchema,
    contract: "read",
    handler: () => ok("seen"),
  });
  return tools;
}

/** Three steps, each with other counts. */
const COUNTS = [
  { input: 100, cached: 30, output: 50, reasoning: 20 },
  { input: 250, cached: 200, output: 7, reasoning: 0 },
  { input: 300, cached: 250, output: 40, reasoning: 39 },
];
const SAID: readonly Said[] = COUNTS.map((usage, index) =>
  index < 2
    ? { usage, calls: [{ id: `call_${index}`, name: "look", args: ["{}"] }] }
    : { usage, text: ["done"] },
);
/** The wires that state neither cached nor reasoning tokens. */
const PLAIN = ["ollama"];
const PRICED: Readonly<Record<string, string>> = {
  "openai responses": "gpt-6-luna",
  "openai chat": "gpt-6-luna",
  xai: "grok-4.3",
  openrouter: "openai/gpt-6-luna",
  anthropic: "claude-sonnet-5-5",
  gemini: "gemini-3.8-flash",
};

describe.each(ADAPTERS)("%s", (name) => {
  it.each(["m", PRICED[name] ?? "n"])(
    "adapters Z23: five disjoint counts per step add up to the step's total and the run's; the last request is told apart: %s",
    async (model) => {
      const steps = SAID.map((said) => answerOf(name, said));
      const store = createMemoryRunStore();
      const body = async ({ adapter }: Talking): Promise<void> => {
        const run = runLoop({ adapter, tools: toolsOf(), messages: [userMessage("go")], store });
        const { record, usage } = await run.result;
        const calls = record.modelCalls.map((call) => call.usage);
        expect(calls).toHaveLength(3);
        for (const [index, step] of calls.entries()) {
          const { input, cached, output, reasoning } = COUNTS[index]!;
          const isPlain = PLAIN.includes(name);
          expect(step).toMatchObject({
            input: isPlain ? input : input - cached,
            cacheRead: isPlain ? 0 : cached,
            cacheWrite: 0,
            output: isPlain ? output : output - reasoning,
            reasoning: isPlain ? 0 : reasoning,
            total: input + output,
          });
          expect(step.estimated).toBeUndefined();
        }
        expect(record.usage).toEqual(calls.reduce(addUsage));
        expect(usage).toEqual(record.usage);
        expect(record.usage.total).toBe(747);
        expect(record.lastRequestTokens).toBe(300);
        // A cost is the provider's own figure, or the price table's; otherwise there is none, and never zero.
        const isPriced = name === "openrouter" || model === PRICED[name];
        for (const { costUsd } of [...calls, record.usage])
          if (isPriced) expect(costUsd).toBeGreaterThan(0);
          else expect(costUsd).toBeUndefined();
        expect(JSON.stringify(record)).not.toMatch(/"costUsd":(0|null)[,}]/);
        expect(adapter.capabilities.priced).toBe(model === PRICED[name]);
      };
      await withSteps(name, steps, { model, body });
    },
  );
});
