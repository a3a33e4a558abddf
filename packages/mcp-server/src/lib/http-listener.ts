/** A node:http listener around a `fetch` handler, without a web framework. */

import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { ConfigError } from "@openfunctions/core";

import type { HttpPeer } from "./http-endpoint.ts";
import type { ResolvedOptions } from "./options.ts";

const STALLED_MS = 30_000;
const MAX_HEADERS_MS = 60_000;

/** Answers a web request. Must not reject. */
export type FetchHandler = (request: Request, peer: HttpPeer) => Promise<Response>;

/** A listener that is up. */
export interface HttpListener {
  readonly port: number;
  /** Takes no new connections. */
  stop(): void;
  /** Ends those there are. */
  close(): Promise<void>;
}

/** Listens. Throws `ConfigError` `port_in_use`, or `invalid_config` where the address cannot be used at all. */
export async function listen(
  handle: FetchHandler,
  { host, port, requestTimeoutMs }: ResolvedOptions["http"],
): Promise<HttpListener> {
  const server = createServer(
    {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, MAX_HEADERS_MS),
      connectionsCheckingInterval: Math.min(requestTimeoutMs, STALLED_MS),
    },
    (incoming, outgoing) => {
      serve(handle, incoming, outgoing).catch(() => outgoing.destroy());
    },
  );
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    throw toConfigError(cause, `${host}:${port}`);
  }
  const closed = once(server, "close");
  return {
    port: portOf(server),
    stop: () => {
      server.close();
      server.closeIdleConnections();
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(
  handle: FetchHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const { remoteAddress } = incoming.socket;
  const request = toRequest(incoming, gone.signal);
  const response =
    request === undefined ? new Response(null, { status: 400 }) : await handle(request, { remoteAddress });
  // What was not read of a body is not waited for.
  if (!incoming.complete && incoming.method === "POST") outgoing.setHeader("connection", "close");
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  await write(response.body, outgoing, gone.signal);
  outgoing.end();
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  try {
    const headers = Object.entries(incoming.headersDistinct).map(([name, values = []]) => [
      name,
      values.join(", "),
    ]);
    const { method = "GET" } = incoming;
    const body = method === "POST" ? { body: incoming, duplex: "half" as const } : {};
    return new Request(new URL(incoming.url ?? "/", "http://localhost"), {
      method,
      headers,
      signal,
      ...body,
    });
  } catch {
    return undefined; // a method, target or header that no Request can hold
  }
}

/** Writes at the pace of the socket. One that takes nothing for 30 s is cut off; it holds up nobody else. */
async function write(body: Response["body"], outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  gone.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (outgoing.write(next.value) || gone.aborted) continue;
    const stalled = new AbortController();
    const timeout = sleep(STALLED_MS, undefined, { signal: stalled.signal }).then(
      () => outgoing.destroy(),
      () => {},
    );
    await Promise.race([once(outgoing, "drain", { signal: gone }).catch(() => {}), timeout]);
    stalled.abort();
  }
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function toConfigError(cause: unknown, where: string): ConfigError {
  const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
  const message = isTaken ? `${where} is in use; choose another port.` : `Cannot listen on ${where}.`;
  return new ConfigError(message, { code: isTaken ? "port_in_use" : "invalid_config", cause });
}
