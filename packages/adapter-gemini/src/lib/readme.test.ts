/** The README's example, run against a fake server. */

import { geminiFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { expect, it, vi } from "vitest";

it("streams text and calls, as the README shows", async () => {
  const calls = [{ id: "call_1", name: "get_weather", args: ['{"city":"Oslo"}'] }];
  const server = await startFakeModelServer([
    { blocks: geminiFixtures.stream({ text: ["Let me ", "look."], calls }) },
  ]);
  vi.stubEnv("GEMINI_API_KEY", "key-readme-0123456789");
  vi.stubEnv("GOOGLE_GEMINI_BASE_URL", server.url);
  const written: string[] = [];
  const write = vi
    .spyOn(process.stdout, "write")
    .mockImplementation((text) => written.push(String(text)) > 0);
  try {
    // #region stream
    const { createGeminiAdapter } = await import("@openfunctions/adapter-gemini");

    const adapter = createGeminiAdapter({ model: "gemini-3.8-flash" }); // The key is GEMINI_API_KEY.

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
    }
    // #endregion
  } finally {
    write.mockRestore();
    vi.unstubAllEnvs();
    await server.close();
  }
  expect(written.join("")).toBe('Let me look.get_weather {"city":"Oslo"}\n');
});
