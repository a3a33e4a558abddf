/** The chains that docs/providers shows: the first cannot answer, and the second does. */

import { createAnthropicAdapter } from "@openfunctions/adapter-anthropic";
import { createGeminiAdapter } from "@openfunctions/adapter-gemini";
import { createLocalAdapter, createOfflineAdapter } from "@openfunctions/adapter-local";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createOpenRouterAdapter } from "@openfunctions/adapter-openrouter";
import { createXaiAdapter } from "@openfunctions/adapter-xai";
import { type AIAdapter, type ModelEvent, collect, withFallback } from "@openfunctions/core";
import {
  type FakeModelServer,
  type WireFixtures,
  anthropicFixtures,
  openRouterFixtures,
  geminiFixtures,
  responsesFixtures,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

const busy = { status: 429, json: { error: { message: "Too many." } }, headers: { "retry-after": "3600" } };

let first: FakeModelServer;
let second: FakeModelServer;
beforeEach(async () => {
  first = await startFakeModelServer([busy]);
  second = await startFakeModelServer();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all([first.close(), second.close()]);
});

/** Points both providers at their fakes; the second one answers in its own wire. */
function between(busyOne: string, answering: string, fixtures: WireFixtures): void {
  for (const [prefix, server] of [
    [busyOne, first],
    [answering, second],
  ] as const) {
    vi.stubEnv(`${prefix}_API_KEY`, "key-0123456789");
    vi.stubEnv(`${prefix}_BASE_URL`, server.url);
  }
  second.queue({ blocks: fixtures.stream({ text: ["It works."] }) });
}

async function answerOf(adapter: AIAdapter): Promise<{ text: string; moves: readonly string[] }> {
  const events: ModelEvent[] = [];
  const request = { messages: [{ role: "user" as const, content: "Does it work?" }] };
  const { text } = await collect(adapter.stream(request), (event) => events.push(event));
  const moves = events.flatMap((event) => (event.type === "fallback" ? [`${event.from} > ${event.to}`] : []));
  return { text, moves };
}

it("Claude, then OpenAI", async () => {
  between("ANTHROPIC", "OPENAI", responsesFixtures);
  // #region anthropic
  const adapter = withFallback([createAnthropicAdapter(), createOpenAIAdapter({ role: "instant" })]);
  // #endregion
  const { text, moves } = await answerOf(adapter);
  expect([text, moves]).toEqual(["It works.", [expect.stringMatching(/^anthropic\/.* > openai\//)]]);
});

it("OpenAI, then Claude", async () => {
  between("OPENAI", "ANTHROPIC", anthropicFixtures);
  // #region openai
  const adapter = withFallback([createOpenAIAdapter(), createAnthropicAdapter()], { perAttemptMs: 60_000 });
  // #endregion
  const { text, moves } = await answerOf(adapter);
  expect([text, moves]).toEqual(["It works.", [expect.stringMatching(/^openai\/.* > anthropic\//)]]);
});

it("Gemini, then the same family through OpenRouter", async () => {
  between("GEMINI", "OPENROUTER", openRouterFixtures);
  // #region gemini
  const adapter = withFallback([
    createGeminiAdapter(),
    createOpenRouterAdapter({ model: "google/gemini-3.8-flash" }),
  ]);
  // #endregion
  const { text, moves } = await answerOf(adapter);
  expect([text, moves]).toEqual(["It works.", [expect.stringMatching(/^gemini\/.* > openrouter\/google\//)]]);
});

it("Grok, then Gemini", async () => {
  between("XAI", "GEMINI", geminiFixtures);
  // #region xai
  const adapter = withFallback([createXaiAdapter(), createGeminiAdapter()]);
  // #endregion
  const { text, moves } = await answerOf(adapter);
  expect([text, moves]).toEqual(["It works.", [expect.stringMatching(/^xai\/.* > gemini\//)]]);
});

it("OpenRouter, then a provider without it", async () => {
  between("OPENROUTER", "XAI", responsesFixtures);
  // #region openrouter
  const adapter = withFallback([
    createOpenRouterAdapter({ routing: { models: ["vendor/another-model"] } }), // OpenRouter's own fallback comes first
    createXaiAdapter(),
  ]);
  // #endregion
  const { text, moves } = await answerOf(adapter);
  expect([text, moves]).toEqual(["It works.", [expect.stringMatching(/^openrouter\/.* > xai\//)]]);
  expect(first.requests[0]?.body).toMatchObject({ models: ["vendor/another-model"] });
});

it("a local server that is not there, then Claude", async () => {
  between("LOCAL", "ANTHROPIC", anthropicFixtures);
  await first.close();
  // #region local
  const adapter = withFallback([
    createLocalAdapter({ model: "qwen3", limits: { retries: 0 } }), // at LOCAL_BASE_URL
    createAnthropicAdapter(),
  ]);
  // #endregion
  const { text, moves } = await answerOf(adapter);
  expect([text, moves]).toEqual(["It works.", [expect.stringMatching(/^local\/qwen3 > anthropic\//)]]);
});

it("OpenAI, then the offline adapter", async () => {
  between("OPENAI", "OPENAI", responsesFixtures);
  vi.stubEnv("OPENAI_BASE_URL", first.url);
  // #region offline
  const adapter = withFallback([createOpenAIAdapter(), createOfflineAdapter()]);
  // #endregion
  const { text, moves } = await answerOf(adapter);
  expect(text).toContain("not a language model");
  expect(moves).toEqual([expect.stringMatching(/^openai\/.* > offline\/offline$/)]);
});
