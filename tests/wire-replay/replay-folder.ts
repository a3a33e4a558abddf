/** Reads a folder of recorded traffic through the adapters, and says what each makes of every reply. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAnthropicAdapter } from "@openfunctions/adapter-anthropic";
import { createGeminiAdapter } from "@openfunctions/adapter-gemini";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import { createOpenRouterAdapter } from "@openfunctions/adapter-openrouter";
import { createXaiAdapter } from "@openfunctions/adapter-xai";
import { type AIAdapter, isPlainObject, type ModelReply, ProviderError } from "@openfunctions/core";
import { recordedReplies, type RecordedReply } from "./recorded-replies.ts";
import { type ReplyServer, startReplyServer } from "./reply-server.ts";

/** What an adapter made of one reply; the columns of ORACLE.tsv. */
export interface Reading {
  readonly file: string;
  /** Which reply of the file, from 0. */
  readonly response: number;
  readonly api: string;
  readonly outcome: "ok" | "error" | "unsupported";
  /** Whether the reply in small pieces gave the same; "-" where it was not tried. */
  readonly split: "same" | "different" | "-";
  /** The finish reason, or the kind and text of the failure. */
  readonly finish: string;
  /** Code points, and the first ten digits of the text's SHA-256. */
  readonly text: string;
  readonly calls: readonly (readonly [name: string, args: string])[];
  /** Input and output tokens as the wire counts them. */
  readonly usage: readonly [input: number, output: number] | null;
}

/** One line of INDEX.tsv. */
interface Listed {
  readonly file: string;
  readonly provider: string;
  readonly api: string;
}

/** Reads every file that INDEX.tsv lists. `split`: bytes per write of a second reading; 0 for none. */
export async function* replayFolder(
  dir: string,
  { split }: { readonly split: number },
): AsyncGenerator<Reading> {
  const server = await startReplyServer();
  try {
    for (const listed of readIndex(dir)) {
      const wire = WIRES.find(({ api, provider }) => api.test(listed.api) && provider.test(listed.provider));
      if (wire === undefined) continue;
      for (const [response, reply] of recordedReplies(join(dir, listed.file), listed.api).entries()) {
        const base = { file: listed.file, response, api: listed.api };
        yield { ...base, ...(await readTwice(wire, reply, { server, split })) };
      }
    }
  } finally {
    await server.close();
  }
}

function readIndex(dir: string): readonly Listed[] {
  const lines = readFileSync(join(dir, "INDEX.tsv"), "utf8").split("\n").slice(1);
  return lines.flatMap((line) => {
    const [file = "", provider = "", api = ""] = line.split("\t");
    return file === "" ? [] : [{ file, provider, api }];
  });
}

type What = Omit<Reading, "file" | "response" | "api" | "split">;

interface Wire {
  readonly api: RegExp;
  readonly provider: RegExp;
  /** True where a server may answer with one whole body as well. */
  readonly bodies?: true;
  /** True where arguments travel as text, so that their text can be compared. */
  readonly argsAsText?: true;
  make(baseUrl: string): AIAdapter;
  /** The wire's two numbers, put together from our disjoint counts. */
  usage(reply: ModelReply): readonly [number, number];
}

const COMMON = { apiKey: "sk-recorded-000000", model: "recorded", limits: { retries: 0 } } as const;

/** OpenAI counts cached tokens as input and reasoning as output; xAI's chat completions state reasoning beside it. */
function chatCounts(reply: ModelReply): readonly [number, number] {
  const [input, output] = responsesCounts(reply);
  return [input, reply.reportedModel?.startsWith("grok") === true ? reply.usage.output : output];
}

function responsesCounts({ usage }: ModelReply): readonly [number, number] {
  const { input, cacheRead, cacheWrite, output, reasoning } = usage;
  return [input + cacheRead + cacheWrite, output + reasoning];
}

const OPENAI_SHAPED = { bodies: true, argsAsText: true } as const;

/** The first that fits reads a file. */
const WIRES: readonly Wire[] = [
  {
    api: /^Messages/,
    provider: /./,
    make: (baseUrl) => createAnthropicAdapter({ ...COMMON, baseUrl }),
    usage: ({ usage: { input, output, reasoning } }) => [input, output + reasoning],
  },
  {
    api: /^generateContent/,
    provider: /./,
    make: (baseUrl) => createGeminiAdapter({ ...COMMON, baseUrl }),
    usage: ({ usage: { input, cacheRead, output } }) => [input + cacheRead, output],
  },
  {
    ...OPENAI_SHAPED,
    api: /^(Open )?Responses/,
    provider: /^xai$/,
    make: (baseUrl) => createXaiAdapter({ ...COMMON, baseUrl }),
    usage: responsesCounts,
  },
  {
    ...OPENAI_SHAPED,
    api: /^(Open )?Responses/,
    provider: /./,
    make: (baseUrl) => createOpenAIAdapter({ ...COMMON, baseUrl }),
    usage: responsesCounts,
  },
  {
    ...OPENAI_SHAPED,
    api: /^Chat Completions/,
    provider: /^openrouter$/,
    make: (baseUrl) => createOpenRouterAdapter({ ...COMMON, baseUrl }),
    usage: chatCounts,
  },
  {
    ...OPENAI_SHAPED,
    api: /^Chat Completions/,
    provider: /./,
    make: (baseUrl) => createOpenAIAdapter({ ...COMMON, baseUrl, api: "chat" }),
    usage: chatCounts,
  },
];

async function readTwice(
  wire: Wire,
  reply: RecordedReply,
  { server, split }: { readonly server: ReplyServer; readonly split: number },
): Promise<What & Pick<Reading, "split">> {
  const isJson = reply.status === 200 && reply.headers["content-type"]?.includes("json") === true;
  if (isJson && wire.bodies !== true) return { ...UNSUPPORTED, split: "-" };
  const whole = await readOnce(wire, server.urlOf(reply, 0));
  if (split === 0) return { ...whole, split: "-" };
  const pieces = await readOnce(wire, server.urlOf(reply, split));
  return { ...whole, split: JSON.stringify(pieces) === JSON.stringify(whole) ? "same" : "different" };
}

/** A whole body on a wire whose only answer to our request is a stream. */
const UNSUPPORTED: What = {
  outcome: "unsupported",
  finish: "a whole body where a stream is asked for",
  text: "",
  calls: [],
  usage: null,
};

async function readOnce(wire: Wire, baseUrl: string): Promise<What> {
  try {
    const reply = await wire.make(baseUrl).chat({ messages: [{ role: "user", content: "x" }] });
    const { text, finishReason } = reply;
    const digest = createHash("sha256").update(text).digest("hex").slice(0, 10);
    return {
      outcome: "ok",
      finish: finishReason,
      text: `${Array.from(text).length} ${digest}`,
      calls: callsOf(reply, wire.argsAsText === true),
      usage: wire.usage(reply),
    };
  } catch (cause) {
    const kind = cause instanceof ProviderError ? `${cause.kind}: ` : "";
    const message = cause instanceof Error ? cause.message : String(cause);
    return { ...UNSUPPORTED, outcome: "error", finish: `${kind}${message.replaceAll(baseUrl, "")}` };
  }
}

/** The calls in order, those among them that the provider ran itself. */
function callsOf({ parts, toolCalls }: ModelReply, argsAsText: boolean): Reading["calls"] {
  const texts = new Map(toolCalls.map(({ callId, argsText }) => [callId, argsText]));
  return parts.flatMap((part): (readonly [string, string])[] => {
    const text = part.type === "tool_call" && argsAsText ? texts.get(part.callId) : undefined;
    if (part.type === "tool_call") return [[part.name, text ?? JSON.stringify(part.args)]];
    if (part.type !== "provider" || !isPlainObject(part.data)) return [];
    const { type, name, input } = part.data;
    const isCall = typeof type === "string" && type.endsWith("_tool_use");
    return isCall && typeof name === "string" ? [[name, JSON.stringify(input)]] : [];
  });
}
