/** A model server on loopback that answers from a script, as badly as asked. */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { setTimeout as wait } from "node:timers/promises";

/** One scripted HTTP answer. Default: status 200, the blocks as one server-sent events body, ended properly. */
export interface FakeReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The pieces of the body, such as one server-sent event each. */
  readonly blocks?: readonly string[];
  /** Sent as JSON in place of blocks. */
  readonly json?: unknown;
  /** Bytes per write, at most. 1 cuts every UTF-8 sequence and line end apart. Default: a block at a time. */
  readonly splitBytes?: number;
  /** Only so many blocks are sent. */
  readonly cutAfter?: number;
  /** What happens after the last block. Default `end`. */
  readonly ending?: "end" | "destroy" | "stall";
  /** Nothing is sent at all, not even headers. */
  readonly silent?: true;
  /** Milliseconds before the headers. */
  readonly delayMs?: number;
}

/** A request as it arrived. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body's bytes as text. */
  readonly text: string;
  /** The body parsed; undefined where it is not JSON. */
  readonly body: unknown;
  /** Resolves when the connection of this request is gone or the answer was finished: true where the client left early. */
  readonly left: Promise<boolean>;
}

/** What answers a request: a reply, or a function of it. */
export type FakeStep = FakeReply | ((request: FakeRequest) => FakeReply);

/** A running fake. */
export interface FakeModelServer {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly requests: readonly FakeRequest[];
  /** Adds answers to the script, in the order of the requests to come. */
  queue(...steps: readonly FakeStep[]): void;
  /** Stops listening and drops every connection. */
  close(): Promise<void>;
}

/** Starts a fake on a free port of 127.0.0.1. A request after the end of the script is answered 418. */
export async function startFakeModelServer(script: readonly FakeStep[] = []): Promise<FakeModelServer> {
  const steps = [...script];
  const requests: FakeRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    void receive(incoming, outgoing).then(async (request) => {
      requests.push(request);
      const step = steps.shift() ?? {
        status: 418,
        json: { error: { message: "The script of the fake server is over.", code: "script_over" } },
      };
      await answer(outgoing, typeof step === "function" ? step(request) : step);
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    queue: (...more) => void steps.push(...more),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (typeof address === "object" && address !== null) resolve(address.port);
      else reject(new Error("The fake server has no port."));
    });
  });
}

async function receive(incoming: IncomingMessage, outgoing: ServerResponse): Promise<FakeRequest> {
  const left = new Promise<boolean>((resolve) =>
    outgoing.once("close", () => resolve(!outgoing.writableFinished)),
  );
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  } catch {
    // The client left while it was sending; the request counts as far as it came.
  }
  const text = Buffer.concat(chunks).toString("utf8");
  return {
    method: incoming.method ?? "",
    path: incoming.url ?? "",
    headers: incoming.headers,
    text,
    body: parse(text),
    left,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function answer(outgoing: ServerResponse, reply: FakeReply): Promise<void> {
  if (reply.silent === true) return;
  if (reply.delayMs !== undefined) await wait(reply.delayMs);
  outgoing.on("error", () => {}); // A client that leaves is what many cases are about.
  const isJson = reply.json !== undefined;
  outgoing.writeHead(reply.status ?? 200, {
    "content-type": isJson ? "application/json" : "text/event-stream",
    ...reply.headers,
  });
  outgoing.flushHeaders();
  outgoing.socket?.setNoDelay(true);
  const blocks = (isJson ? [JSON.stringify(reply.json)] : (reply.blocks ?? [])).slice(0, reply.cutAfter);
  for (const block of blocks)
    await writePieces(outgoing, { bytes: Buffer.from(block), size: reply.splitBytes });
  const ending = reply.ending ?? "end";
  if (ending === "end") outgoing.end();
  if (ending === "destroy") {
    await wait(5); // Lets the written bytes out first.
    outgoing.destroy();
  }
}

async function writePieces(
  outgoing: ServerResponse,
  what: { readonly bytes: Buffer; readonly size: number | undefined },
): Promise<void> {
  const size = what.size ?? Math.max(1, what.bytes.length);
  for (let at = 0; at < what.bytes.length; at += size) {
    if (outgoing.destroyed) return;
    outgoing.write(what.bytes.subarray(at, at + size));
    if ((at / size) % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
  }
}
