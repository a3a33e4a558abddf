/**
 * One process of one provider, through our adapter or on its own SDK: warms up, measures, prints a line of JSON with
 * the CPU milliseconds of a run of one tool round and of 1,000 deltas. `node adapter-run.ts <provider> <way> <base URL>`.
 */

import { createAnthropicAdapter } from "@openfunctions/adapter-anthropic";
import { createGeminiAdapter } from "@openfunctions/adapter-gemini";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createOpenRouterAdapter } from "@openfunctions/adapter-openrouter";
import { createXaiAdapter } from "@openfunctions/adapter-xai";
import { type AIAdapter, collect, type Message, userMessage } from "@openfunctions/core";
import { TASK } from "./adapter-task.ts";
import type { ProviderAgent } from "./bare-sdks.ts";

interface Provider {
  /** What the provider's paths begin with on the fake server, whose address ends with /v1. */
  base(url: string): string;
  adapter(options: { readonly model: string; readonly baseUrl: string; readonly apiKey: string }): AIAdapter;
  sdk: "anthropicSdk" | "geminiSdk" | "responsesSdk" | "chatSdk";
}

const withoutVersion = (url: string): string => url.replace(/\/v1$/, "");
const asIs = (url: string): string => url;

const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: { base: withoutVersion, adapter: createAnthropicAdapter, sdk: "anthropicSdk" },
  openai: { base: asIs, adapter: createOpenAIAdapter, sdk: "responsesSdk" },
  gemini: { base: withoutVersion, adapter: createGeminiAdapter, sdk: "geminiSdk" },
  xai: { base: asIs, adapter: createXaiAdapter, sdk: "responsesSdk" },
  openrouter: { base: asIs, adapter: createOpenRouterAdapter, sdk: "chatSdk" },
};

const WARM_UP = { runs: 1_500, streams: 8 } as const;
const MEASURED = { runs: 1_000, streams: 20 } as const;
const DELTAS = 2_000;

const [name = "", way, url = ""] = process.argv.slice(2);
const provider = PROVIDERS[name];
if (provider === undefined) throw new Error(`There is no provider "${name}".`);
const agent = way === "sdk" ? await bareAgent(provider) : ourAgent(provider);
console.log(JSON.stringify(await measure(agent)));
process.exit(0);

/** Loaded only where it is measured: a process has one SDK. */
async function bareAgent({ sdk, base }: Provider): Promise<ProviderAgent> {
  const sdks = await import("./bare-sdks.ts");
  return sdks[sdk](base(url));
}

/** The same calls through the adapter alone: no loop, no record. */
function ourAgent({ adapter, base }: Provider): ProviderAgent {
  const adapters = new Map<string, AIAdapter>();
  const of = (model: string): AIAdapter => {
    const known = adapters.get(model) ?? adapter({ model, baseUrl: base(url), apiKey: "none" });
    adapters.set(model, known);
    return known;
  };
  const { system, question } = TASK;
  const tools = [{ name: TASK.name, description: TASK.description, inputSchema: TASK.schema }];
  return {
    async run(model) {
      const messages: Message[] = [userMessage(question)];
      for (;;) {
        const { text, parts, toolCalls } = await of(model).chat({ system, tools, messages });
        if (toolCalls.length === 0) return text;
        messages.push({ role: "assistant", content: parts });
        messages.push({
          role: "tool",
          content: toolCalls.map(({ callId, name: tool, args }) => ({
            type: "tool_result",
            callId,
            name: tool,
            result: String(Number(args["a"]) + Number(args["b"])),
          })),
        });
      }
    },
    async stream(model, onDelta) {
      const stream = of(model).stream({ system, tools, messages: [userMessage(question)] });
      const { text } = await collect(stream, (event) => {
        if (event.type === "text_delta") onDelta(event.text);
      });
      return text;
    },
  };
}

async function measure(measured: ProviderAgent): Promise<Record<string, number>> {
  const run = async (): Promise<void> => {
    const answer = await measured.run("k1");
    if (!answer.includes("42")) throw new Error(`Unexpected answer: ${answer}`);
  };
  const stream = async (): Promise<void> => {
    let seen = 0;
    await measured.stream(`s${DELTAS}`, () => (seen += 1));
    if (seen !== DELTAS) throw new Error(`${seen} deltas of ${DELTAS} arrived.`);
  };
  await repeat(WARM_UP.runs, run);
  const perRun = await cpuPer(MEASURED.runs, run);
  await repeat(WARM_UP.streams, stream);
  const perStream = await cpuPer(MEASURED.streams, stream);
  return { run: perRun, per1000: (perStream * 1_000) / DELTAS };
}

async function cpuPer(times: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await repeat(times, work);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / times;
}

async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  for (let time = 0; time < times; time += 1) await work();
}
