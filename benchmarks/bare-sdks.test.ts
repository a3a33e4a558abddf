/** The agents that adapters are compared with do what is measured: two calls and an answer, and every delta. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { anthropicSdk, chatSdk, geminiSdk, type ProviderAgent, responsesSdk } from "./bare-sdks.ts";
import { type FakeOpenAI, startFakeOpenAI } from "./fake-openai-server.ts";

let server: FakeOpenAI;
beforeAll(async () => void (server = await startFakeOpenAI()));
afterAll(() => server.close());

const AGENTS: readonly (readonly [string, (baseUrl: string) => ProviderAgent, boolean])[] = [
  ["anthropic", anthropicSdk, false],
  ["gemini", geminiSdk, false],
  ["responses", responsesSdk, true],
  ["chat completions", chatSdk, true],
];

it.each(AGENTS)("%s", async (_name, make, versioned) => {
  const agent = make(versioned ? server.baseUrl : server.baseUrl.replace(/\/v1$/, ""));
  const before = server.stats().requests;
  expect(await agent.run("k1")).toContain("42");
  expect(server.stats().requests - before).toBe(2);
  const deltas: string[] = [];
  const text = await agent.stream("s25", (delta) => deltas.push(delta));
  expect([deltas.length, deltas.join("")]).toEqual([25, text]);
});
