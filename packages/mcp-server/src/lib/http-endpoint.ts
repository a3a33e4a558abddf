/** Streamable HTTP as a `fetch` handler: both eras on one URL, with limits on time, size and number. */

import {
  type McpHttpHandler,
  type ServerContext,
  createMcpHandler,
  isLegacyRequest,
} from "@modelcontextprotocol/server";
import { isPlainObject } from "@openfunctions/core";
import { isLoopbackPeer } from "@openfunctions/core/http";

import { readJson, relay } from "./http-body.ts";
import { HttpGate, refusal } from "./http-gate.ts";
import { SessionTable } from "./http-sessions.ts";
import { type Connection, RegistryServer } from "./protocol-server.ts";
import type { Caller, ServerShared } from "./tool-call.ts";

/** What the listener knows of the socket. Without an address a request counts as coming over the network. */
export interface HttpPeer {
  readonly remoteAddress?: string | undefined;
}

const NOBODY: Caller = { transport: "http", local: false, lane: "nobody" };

/** The endpoint of one server. */
export class HttpEndpoint {
  readonly #shared: ServerShared;
  readonly #gate: HttpGate;
  readonly #callers = new WeakMap<Request, Caller>();
  readonly #modern: McpHttpHandler;
  readonly #sessions: SessionTable;
  #closing = false;

  constructor(shared: ServerShared) {
    const { logger } = shared.options;
    this.#shared = shared;
    this.#gate = new HttpGate(shared.options);
    const callerOf = ({ http }: ServerContext): Caller => {
      return (http?.req === undefined ? undefined : this.#callers.get(http.req)) ?? NOBODY;
    };
    const create = (era: Connection["era"]): RegistryServer => new RegistryServer(shared, { era, callerOf });
    const onerror = (error: Error): void =>
      logger.debug("An HTTP request was not served.", { cause: error.message });
    this.#modern = createMcpHandler(() => create("modern"), { legacy: "reject", onerror });
    this.#sessions = new SessionTable(() => create("legacy"));
  }

  /** Serves one request. Never rejects. */
  async fetch(request: Request, { remoteAddress }: HttpPeer = {}): Promise<Response> {
    const { headers } = request;
    const admission = await this.#gate.admit(request, remoteAddress);
    if (admission instanceof Response) return admission;
    if (this.#closing) return refusal(503, "The server is closing.", { "retry-after": "1" });
    return this.#serve(request, {
      transport: "http",
      local: isLoopbackPeer(remoteAddress, headers),
      lane: `peer ${admission.token?.id ?? remoteAddress ?? "unknown"}`,
      headers,
      ...admission,
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
    });
  }

  /** Tells clients that the tools changed. */
  async announce(): Promise<void> {
    this.#modern.notify.toolsChanged();
    await Promise.all(this.#sessions.servers.map((server) => server.announceTools()));
  }

  /** Refuses new requests from now on. */
  refuse(): void {
    this.#closing = true;
  }

  /** Ends streams, sessions and what still runs. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all([this.#modern.close(), this.#sessions.close()]);
  }

  async #serve(request: Request, caller: Caller): Promise<Response> {
    const { http, logger } = this.#shared.options;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), http.requestTimeoutMs);
    try {
      const signal = AbortSignal.any([request.signal, stop.signal]);
      const read = await readJson(request, { maxBytes: http.maxBodyBytes, signal });
      const response =
        read instanceof Response
          ? read
          : await this.#exchange(request, read.body, { caller, stop, signal, timer });
      if (response.headers.get("content-type") !== EVENT_STREAM) clearTimeout(timer);
      return stop.signal.aborted
        ? refusal(408, "The request took too long.", { connection: "close" })
        : response;
    } catch (cause) {
      clearTimeout(timer);
      logger.error("An HTTP request failed.", { cause: String(cause) });
      return this.#closing ? refusal(503, "The server is closing.") : refusal(500, "Internal error");
    }
  }

  async #exchange(
    request: Request,
    body: unknown,
    { caller, stop, signal, timer }: Exchange,
  ): Promise<Response> {
    const inner = toInner(request, signal);
    const isLegacy = await isLegacyRequest(inner, body);
    const session = isLegacy ? request.headers.get("mcp-session-id") : null;
    const lane = session === null ? caller.lane : `session ${session}`;
    const method = isPlainObject(body) ? body["method"] : undefined;
    if (method === "tools/call" && this.#shared.lanes.isFull(lane)) {
      return refusal(429, "Too many calls wait on this connection.", { "retry-after": "1" });
    }
    this.#callers.set(inner, { ...caller, lane });
    const cancel = (): void => {
      stop.abort();
      if (isLegacy) this.#sessions.cancel(inner, body);
    };
    const end = (cut: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      this.#sessions.done(inner);
      if (cut) cancel();
    };
    signal.addEventListener("abort", cancel, { once: true });
    const answer = isLegacy
      ? this.#sessions.fetch(inner, body, caller)
      : this.#modern.fetch(inner, { parsedBody: body });
    const response = await answer;
    // A stream that waits for changes has no end of its own.
    if (request.method === "GET" || method === "subscriptions/listen") clearTimeout(timer);
    if (response.body !== null && response.headers.get("content-type") === EVENT_STREAM) {
      return new Response(relay(response.body, end), response);
    }
    end(false);
    return response;
  }
}

const EVENT_STREAM = "text/event-stream";

interface Exchange {
  readonly caller: Caller;
  readonly stop: AbortController;
  readonly signal: AbortSignal;
  readonly timer: NodeJS.Timeout;
}

/** The request as the SDK sees it: its body is read already, and the types it may answer in were checked. */
function toInner({ url, method, headers }: Request, signal: AbortSignal): Request {
  const inner = new Headers(headers);
  if (method === "POST") inner.set("accept", `application/json, ${EVENT_STREAM}`);
  return new Request(url, { method, headers: inner, signal });
}
