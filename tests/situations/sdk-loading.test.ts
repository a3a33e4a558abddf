/** A process that asks one provider loads that provider's SDK, and only when it asks. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  anthropicFixtures,
  chatFixtures,
  geminiFixtures,
  openRouterFixtures,
  responsesFixtures,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import { expect, it } from "vitest";

const SDKS = ["@anthropic-ai/sdk", "@google/genai", "openai"] as const;

const CASES = [
  ["anthropic", "createAnthropicAdapter", anthropicFixtures, "@anthropic-ai/sdk"],
  ["gemini", "createGeminiAdapter", geminiFixtures, "@google/genai"],
  ["openai", "createOpenAIAdapter", responsesFixtures, "openai"],
  ["xai", "createXaiAdapter", responsesFixtures, "openai"],
  ["openrouter", "createOpenRouterAdapter", openRouterFixtures, "openai"],
  ["local", "createLocalAdapter", chatFixtures, undefined],
] as const;

const HOOKS = `
  import { registerHooks } from "node:module";
  globalThis.loaded = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const sdk = ${JSON.stringify(SDKS)}.find((name) => specifier === name || specifier.startsWith(name + "/"));
      if (sdk !== undefined) globalThis.loaded.add(sdk);
      return next(specifier, context);
    },
  });`;

it.each(CASES)("%s", async (name, factory, fixtures, sdk) => {
  const server = await startFakeModelServer([{ blocks: fixtures.stream({ text: ["hello"] }) }]);
  const script = `
    const { ${factory}: make } = await import("@openfunctions/adapter-${name}");
    const adapter = make({ apiKey: "sk-0123456789abcdef", model: "m", baseUrl: ${JSON.stringify(server.url)}, server: "vllm" });
    const before = [...globalThis.loaded];
    const { text } = await adapter.chat({ messages: [{ role: "user", content: "hi" }] });
    process.stdout.write(JSON.stringify({ before, text, after: [...globalThis.loaded] }));`;
  try {
    const hooks = `data:text/javascript,${encodeURIComponent(HOOKS)}`;
    const args = ["--import", hooks, "--input-type=module", "-e", script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
    expect(JSON.parse(stdout)).toEqual({
      before: [],
      text: "hello",
      after: sdk === undefined ? [] : [sdk],
    });
  } finally {
    await server.close();
  }
});
