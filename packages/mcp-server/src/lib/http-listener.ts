/** A node:http listener around a `fetch` handler, without a web framework. */

import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { pipeline } from "node:stream/promises";

import { ConfigError } from "@openfunctions/core";

import type { HttpPeer } from "./http-endpoint.ts";
import type { ResolvedOptions } from "./options.ts";

type FetchHandler = (request: Request, peer: HttpPeer) => Promise<Response>;

/** Listens. Throws `ConfigError` `port_in_use`, or `invalid_config` where the address cannot be used at all. */
export async function listen(handle: FetchHandler, options: ResolvedOptions["http"]): Promise<Server> {
  const { host, port, requestTimeoutMs } = options;
  const half = Math.min(requestTimeoutMs, 30_000);
  const server = createServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: half, connectionsCheckingInterval: half },
    (incoming, outgoing) => void serve(handle, incoming, outgoing).catch(() => outgoing.destroy()),
  );
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    const message = isTaken
      ? `${host}:${port} is in use; choose another port.`
      : `Cannot listen on ${host}:${port}.`;
    throw new ConfigError(message, { code: isTaken ? "port_in_use" : "invalid_config", cause });
  }
  return server;
}

async function serve(
  handle: FetchHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const { method = "GET", url = "/", socket } = incoming;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct))
    headers.set(name, values.join(", "));
  const body = method === "POST" ? { body: incoming, duplex: "half" as const } : {};
  const request = new Request(new URL(url, "http://localhost"), {
    method,
    headers,
    signal: gone.signal,
    ...body,
  });
  const response = await handle(request, { remoteAddress: socket.remoteAddress });
  // What was not read of a body is not waited for.
  if (!incoming.complete) outgoing.setHeader("connection", "close");
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void outgoing.end();
  outgoing.flushHeaders(); // a stream may have nothing to say for long
  await pipeline(response.body, outgoing);
}
