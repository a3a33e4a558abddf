/** Every adapter behind the same question: what the model "said" is scripted on a fake server, the rest is real. */

import { createAnthropicAdapter } from "@openfunctions/adapter-anthropic";
import { createGeminiAdapter } from "@openfunctions/adapter-gemini";
import { createLocalAdapter } from "@openfunctions/adapter-local";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createOpenRouterAdapter } from "@openfunctions/adapter-openrouter";
import { createXaiAdapter } from "@openfunctions/adapter-xai";
import type { AIAdapter, Ports } from "@openfunctions/core";
import {
  type FakeModelServer,
  type FakeReply,
  type FakeRequest,
  type FakeStep,
  type NeutralReply,
  type WireFixtures,
  anthropicFixtures,
  chatFixtures,
  openRouterFixtures,
  geminiFixtures,
  responsesFixtures,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import type { RequestLimits } from "@openfunctions/core/wire";
import { ollamaFixtures } from "../../packages/adapter-local/src/lib/__fixtures__/ollama-wire.ts";

/** What a fake model says: a reply, also with shown reasoning, or one that is cut or stalls. */
export type Said = NeutralReply &
  Pick<FakeReply, "cutAfter" | "ending" | "splitBytes"> & { readonly thought?: string };

/** An adapter and the server it talks to. */
export interface Talking {
  readonly adapter: AIAdapter;
  readonly server: FakeModelServer;
}

/** How an adapter is made, besides its address. Default: no retries, an idle limit of two seconds. */
export interface Making {
  readonly limits?: Partial<RequestLimits>;
  readonly ports?: Partial<Ports>;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly model?: string;
}

type Options = Required<Pick<Making, "limits" | "apiKey" | "model">> &
  Pick<Making, "ports" | "headers"> & { readonly baseUrl: string };

/** One wire: what its servers write, and the adapter that speaks it. */
export interface Wire {
  readonly name: string;
  readonly fixtures: WireFixtures;
  readonly make: (options: Options) => AIAdapter;
  /** Reasoning that is shown, as a block of the stream. Absent where the wire has none. */
  readonly thought?: (text: string) => string;
}

const sse = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const chatThought =
  (field: string) =>
  (text: string): string =>
    sse({ id: "c", model: "m", choices: [{ index: 0, delta: { [field]: text }, finish_reason: null }] });
const responsesThought = (delta: string): string =>
  sse({ type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta });

const WIRES: readonly Wire[] = [
  {
    name: "openai responses",
    fixtures: responsesFixtures,
    make: createOpenAIAdapter,
    thought: responsesThought,
  },
  {
    name: "openai chat",
    fixtures: chatFixtures,
    make: (options) => createOpenAIAdapter({ ...options, api: "chat" }),
    thought: chatThought("reasoning_content"),
  },
  { name: "xai", fixtures: responsesFixtures, make: createXaiAdapter, thought: responsesThought },
  {
    name: "openrouter",
    fixtures: openRouterFixtures,
    make: createOpenRouterAdapter,
    thought: chatThought("reasoning"),
  },
  {
    name: "anthropic",
    fixtures: anthropicFixtures,
    make: createAnthropicAdapter,
    thought: (text) =>
      [
        { type: "content_block_start", index: 90, content_block: { type: "thinking", thinking: "" } },
        { type: "content_block_delta", index: 90, delta: { type: "thinking_delta", thinking: text } },
        { type: "content_block_delta", index: 90, delta: { type: "signature_delta", signature: "c2ln" } },
        { type: "content_block_stop", index: 90 },
      ]
        .map(sse)
        .join(""),
  },
  {
    name: "gemini",
    fixtures: geminiFixtures,
    make: createGeminiAdapter,
    thought: (text) => sse({ candidates: [{ content: { parts: [{ text, thought: true }] }, index: 0 }] }),
  },
  {
    name: "local",
    fixtures: chatFixtures,
    make: (options) => createLocalAdapter({ ...options, server: "vllm" }),
    thought: chatThought("reasoning_content"),
  },
  {
    name: "ollama",
    fixtures: ollamaFixtures,
    make: (options) =>
      createLocalAdapter({ ...options, baseUrl: options.baseUrl.replace("/v1", ""), server: "ollama" }),
    thought: (text) => `${JSON.stringify({ model: "m", message: { thinking: text }, done: false })}\n`,
  },
];

/** The names of the adapters, for `it.each`. */
export const ADAPTERS: readonly string[] = WIRES.map(({ name }) => name);

/** The wire of that name. */
export function wireOf(name: string): Wire {
  const wire = WIRES.find((candidate) => candidate.name === name);
  if (wire === undefined) throw new Error(`There is no adapter "${name}".`);
  return wire;
}

/** What is said, as the HTTP answer of a wire. Shown reasoning comes right after the reply's beginning. */
export function answerOf(name: string, said: Said): FakeReply {
  const { cutAfter, ending, splitBytes, thought, ...reply } = said;
  const { fixtures, thought: write } = wireOf(name);
  const blocks = [...fixtures.stream(reply)];
  if (thought !== undefined && write !== undefined) blocks.splice(1, 0, write(thought));
  return {
    blocks,
    ...(cutAfter === undefined ? {} : { cutAfter }),
    ...(ending === undefined ? {} : { ending }),
    ...(splitBytes === undefined ? {} : { splitBytes }),
  };
}

/** The request of that number, which must have been sent. */
export function sentTo({ server }: Talking, index: number): FakeRequest {
  const request = server.requests[index];
  if (request === undefined) throw new Error(`There was no request ${index}.`);
  return request;
}

/** Starts the fake with what it is to say, runs the body, and ends the fake on every path. */
export function withAdapter(
  name: string,
  said: readonly Said[],
  body: (talking: Talking) => Promise<void>,
): Promise<void> {
  return withSteps(
    name,
    said.map((one) => answerOf(name, one)),
    { body },
  );
}

/** The same with whole HTTP answers, and an adapter that is made in another way. */
export async function withSteps(
  name: string,
  steps: readonly FakeStep[],
  how: Making & { readonly body: (talking: Talking) => Promise<void> },
): Promise<void> {
  const { body, limits = { retries: 0, idleMs: 2_000 }, apiKey = "k", model = "m", ...rest } = how;
  const server = await startFakeModelServer(steps);
  try {
    const adapter = wireOf(name).make({ ...rest, limits, apiKey, model, baseUrl: `${server.url}/v1` });
    await body({ adapter, server });
  } finally {
    await server.close();
  }
}
