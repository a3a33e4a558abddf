/** The README's example, run against a fake server. */

import { openRouterFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { expect, it, vi } from "vitest";

it("streams text and calls, as the README shows", async () => {
  const calls = [{ id: "call_1", name: "get_weather", args: ['{"city":"Oslo"}'] }];
  const server = await startFakeModelServer([
    { blocks: openRouterFixtures.stream({ text: ["Let me ", "look."], calls }) },
  ]);
  vi.stubEnv("OPENROUTER_API_KEY", "sk-readme-0123456789");
  vi.stubEnv("OPENROUTER_BASE_URL", server.url);
  const written: string[] = [];
  const write = vi
    .spyOn(process.stdout, "write")
    .mockImplementation((text) => written.push(String(text)) > 0);
  try {
    // #region stream
    const { createOpenRouterAdapter } = await import("@openfunctions/adapter-openrouter");

    const adapter = createOpenRouterAdapter({
      model: "anthropic/claude-sonnet-5", // The key is OPENROUTER_API_KEY.
      routing: { dataCollection: "deny", sort: "throughput" },
    });

    const weather = {
      name: "get_weather",
      description: "The weather of a city.",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    } as const;

    for await (const event of adapter.stream({
      system: "Be brief.",
      messages: [{ role: "user", content: "How is the weather in Oslo?" }],
      tools: [weather],
    })) {
      if (event.type === "text_delta") process.stdout.write(event.text);
      if (event.type === "tool_call") process.stdout.write(`${event.name} ${JSON.stringify(event.args)}\n`);
      if (event.type === "usage") process.stdout.write(`$${event.usage.costUsd}\n`);
    }
    // #endregion
  } finally {
    write.mockRestore();
    vi.unstubAllEnvs();
    await server.close();
  }
  expect(written.join("")).toBe('Let me look.get_weather {"city":"Oslo"}\n$0.00085\n');
});
