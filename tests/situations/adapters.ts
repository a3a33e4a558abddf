/** Every adapter behind the same question: what the model "said" is scripted on a fake server, the rest is real. */

import { createAnthropicAdapter } from "@openfunctions/adapter-anthropic";
import { createGeminiAdapter } from "@openfunctions/adapter-gemini";
import { createLocalAdapter } from "@openfunctions/adapter-local";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createOpenRouterAdapter } from "@openfunctions/adapter-openrouter";
import { createXaiAdapter } from "@openfunctions/adapter-xai";
import type { AIAdapter } from "@openfunctions/core";
import {
  type FakeModelServer,
  type FakeReply,
  type NeutralReply,
  type WireFixtures,
  anthropicFixtures,
  chatFixtures,
  openRouterFixtures,
  geminiFixtures,
  responsesFixtures,
  startFakeModelServer,
} from "@openfunctions/core/testing";

/** What a fake model says: a reply, or a reply that is cut or stalls. */
export type Said = NeutralReply & Pick<FakeReply, "cutAfter" | "ending" | "splitBytes">;

/** An adapter and the server it talks to. */
export interface Talking {
  readonly adapter: AIAdapter;
  readonly server: FakeModelServer;
}

const LIMITS = { retries: 0, idleMs: 2_000 } as const;

const WIRES: readonly {
  readonly name: string;
  readonly fixtures: WireFixtures;
  readonly make: (url: string) => AIAdapter;
}[] = [
  {
    name: "openai responses",
    fixtures: responsesFixtures,
    make: (url) => createOpenAIAdapter({ apiKey: "k", baseUrl: url, model: "m", limits: LIMITS }),
  },
  {
    name: "openai chat",
    fixtures: chatFixtures,
    make: (url) =>
      createOpenAIAdapter({ apiKey: "k", baseUrl: url, model: "m", api: "chat", limits: LIMITS }),
  },
  {
    name: "xai",
    fixtures: responsesFixtures,
    make: (url) => createXaiAdapter({ apiKey: "k", baseUrl: url, model: "m", limits: LIMITS }),
  },
  {
    name: "openrouter",
    fixtures: openRouterFixtures,
    make: (url) => createOpenRouterAdapter({ apiKey: "k", baseUrl: url, model: "m", limits: LIMITS }),
  },
  {
    name: "anthropic",
    fixtures: anthropicFixtures,
    make: (url) => createAnthropicAdapter({ apiKey: "k", baseUrl: url, model: "m", limits: LIMITS }),
  },
  {
    name: "gemini",
    fixtures: geminiFixtures,
    make: (url) => createGeminiAdapter({ apiKey: "k", baseUrl: url, model: "m", limits: LIMITS }),
  },
  {
    name: "local",
    fixtures: chatFixtures,
    make: (url) => createLocalAdapter({ server: "vllm", baseUrl: url, model: "m", limits: LIMITS }),
  },
];

/** The names of the adapters, for `it.each`. */
export const ADAPTERS: readonly string[] = WIRES.map(({ name }) => name);

/** Starts the fake with what it is to say, runs the body, and ends the fake on every path. */
export async function withAdapter(
  name: string,
  said: readonly Said[],
  body: (talking: Talking) => Promise<void>,
): Promise<void> {
  const wire = WIRES.find((candidate) => candidate.name === name);
  if (wire === undefined) throw new Error(`There is no adapter "${name}".`);
  const server = await startFakeModelServer(
    said.map(({ cutAfter, ending, splitBytes, ...reply }) => ({
      blocks: wire.fixtures.stream(reply),
      ...(cutAfter === undefined ? {} : { cutAfter }),
      ...(ending === undefined ? {} : { ending }),
      ...(splitBytes === undefined ? {} : { splitBytes }),
    })),
  );
  try {
    await body({ adapter: wire.make(`${server.url}/v1`), server });
  } finally {
    await server.close();
  }
}
