/**
 * A fake OpenAI on the loopback: chat completions and responses, as JSON and as server-sent events; streamed also
 * Anthropic's messages and Gemini's generateContent. The model's name is its script (fake-script.ts). It adds no delay and keeps no conversation: everything it knows of one is in the
 * request. `GET /stats` says what was asked of it.
 *
 * As a program: `node benchmarks/fake-openai-server.ts [port]`.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { answerChatCompletion } from "./fake-chat-completions.ts";
import { answerContent } from "./fake-generate-content.ts";
import { answerMessage } from "./fake-messages.ts";
import { type FakeReply, type FakeRequest, isObject, readText } from "./fake-reply.ts";
import { answerResponse } from "./fake-responses.ts";
import { scriptOf } from "./fake-script.ts";

/** What was asked so far. */
export interface FakeStats {
  readonly requests: number;
  readonly bytesIn: number;
  readonly byPath: Readonly<Record<string, number>>;
}

/** A running server. */
export interface FakeOpenAI {
  /** What a client takes as its base URL: ends with `/v1`. */
  readonly baseUrl: string;
  stats(): FakeStats;
  close(): Promise<void>;
}

/** Clients pause between rounds of a benchmark; their connections must survive that. */
const KEEP_ALIVE_MS = 60_000;

/** A provider puts many events into one packet. The first two go alone, as a first token does. */
const WRITE_CHARS = 4_096;
const EVENTS_SENT_ALONE = 2;

/** Starts the server on the loopback, by default on a free port. */
export async function startFakeOpenAI(options: { readonly port?: number } = {}): Promise<FakeOpenAI> {
  const handler = new FakeHandler();
  const server = createServer((request, response) => void handler.handle(request, response));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const port = await listen(server, options.port ?? 0);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    stats: () => handler.stats(),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

class FakeHandler {
  /** Replies that are the same each time are encoded once: the server shall not be what is measured. */
  readonly #cache = new Map<string, readonly string[]>();
  readonly #byPath: Record<string, number> = {};
  #requests = 0;
  #bytesIn = 0;

  stats(): FakeStats {
    return { requests: this.#requests, bytesIn: this.#bytesIn, byPath: { ...this.#byPath } };
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    if (request.method === "GET" && path.endsWith("/stats")) return sendJson(response, 200, this.stats());
    const text = await readBody(request);
    this.#count(path, text);
    const body = parseJson(text);
    if (!isObject(body)) return sendJson(response, 400, toError("The body is not a JSON object."));
    const answer = answererOf(path);
    if (answer === undefined) return sendJson(response, 404, toError(`There is no ${path}.`));
    const model = readText(body["model"]) ?? /\/models\/([^/:]+):/.exec(path)?.[1] ?? "";
    const asked: FakeRequest = { body, model, script: scriptOf(model), replyId: this.#requests };
    const writes = this.#cache.get(cacheKey(path, asked));
    if (writes !== undefined) return sendEvents(response, writes);
    this.#send(response, cacheKey(path, asked), answer(asked));
  }

  #send(response: ServerResponse, key: string, reply: FakeReply): void {
    if (reply.type === "json") return sendJson(response, 200, reply.body);
    const writes = groupEvents(reply.events);
    if (key !== "") this.#cache.set(key, writes);
    sendEvents(response, writes);
  }

  #count(path: string, text: string): void {
    this.#requests += 1;
    this.#bytesIn += Buffer.byteLength(text);
    this.#byPath[path] = (this.#byPath[path] ?? 0) + 1;
  }
}

function answererOf(path: string): ((request: FakeRequest) => FakeReply) | undefined {
  if (path.endsWith("/chat/completions")) return answerChatCompletion;
  if (path.endsWith("/responses")) return answerResponse;
  if (path.endsWith("/messages")) return answerMessage;
  if (path.endsWith(":streamGenerateContent")) return answerContent;
  return undefined;
}

/** Only streamed long texts are worth it; "" means no caching. */
function cacheKey(path: string, { body, model, script }: FakeRequest): string {
  const streams = body["stream"] === true || path.endsWith(":streamGenerateContent");
  return script.deltas > 0 && streams ? `${path} ${model}` : "";
}

function groupEvents(events: readonly string[]): readonly string[] {
  const writes = events.slice(0, EVENTS_SENT_ALONE);
  let group = "";
  for (const event of events.slice(EVENTS_SENT_ALONE)) {
    group += event;
    if (group.length < WRITE_CHARS) continue;
    writes.push(group);
    group = "";
  }
  return group === "" ? writes : [...writes, group];
}

function sendEvents(response: ServerResponse, writes: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const text of writes) response.write(text);
  response.end();
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}

function toError(message: string): object {
  return { error: { message, type: "invalid_request_error", param: null, code: null } };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer); // Proof: no encoding is set on the request
  return Buffer.concat(pieces).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Error("The server has no port."));
      else resolve(address.port);
    });
  });
}

if (import.meta.main) {
  const { baseUrl } = await startFakeOpenAI({ port: Number(process.argv[2] ?? 0) });
  console.log(baseUrl);
}
