/** Streamable HTTP as a `fetch` handler: both eras on one URL, with limits on time, size and number. */

import { type McpHttpHandler, createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { isPlainObject } from "@openfunctions/core";
import { isLoopbackPeer } from "@openfunctions/core/http";

import { Deadline, bounded, readJson } from "./http-body.ts";
import { HttpGate, refusal } from "./http-gate.ts";
import { HttpSession } from "./http-session.ts";
import { RegistryServer } from "./registry-server.ts";
import type { Caller, ServerShared } from "./tool-call.ts";

const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 1_000;

/** What the listener knows of the socket. Without an address a request counts as coming over the network. */
export interface HttpPeer {
  readonly remoteAddress?: string | undefined;
}

interface OpenSession {
  readonly session: HttpSession;
  readonly server: RegistryServer;
  readonly caller: Caller;
  readonly timer: NodeJS.Timeout;
}

/** The endpoint of one server. */
export class HttpEndpoint {
  readonly #shared: ServerShared;
  readonly #gate: HttpGate;
  readonly #callers = new WeakMap<Request, Caller>();
  readonly #modern: McpHttpHandler;
  /** The one that was not used the longest is first. */
  readonly #sessions = new Map<string, OpenSession>();
  #isClosing = false;

  constructor(shared: ServerShared) {
    this.#shared = shared;
    this.#gate = new HttpGate(shared.options);
    const nobody: Caller = { transport: "http", local: false, lane: "nobody" };
    this.#modern = createMcpHandler(
      ({ requestInfo }) =>
        new RegistryServer(shared, (requestInfo && this.#callers.get(requestInfo)) ?? nobody),
      {
        legacy: "reject",
        onerror: ({ message }) => shared.options.logger.debug("A request was not served.", { message }),
      },
    );
  }

  /** Serves one request. Never rejects. */
  async fetch(request: Request, { remoteAddress }: HttpPeer = {}): Promise<Response> {
    const { headers } = request;
    const admission = await this.#gate.admit(request, remoteAddress);
    if (admission instanceof Response) return admission;
    if (this.#isClosing) return refusal(503, "The server is closing.", { "retry-after": "1" });
    const lane = `peer ${admission.token?.id ?? remoteAddress ?? "unknown"}`;
    const caller = {
      transport: "http",
      local: isLoopbackPeer(remoteAddress, headers),
      lane,
      headers,
    } as const;
    return this.#serve(request, {
      ...caller,
      ...admission,
      ...(remoteAddress === undefined ? {} : { remoteAddress }),
    });
  }

  /** Tells clients that the tools changed. */
  async announceTools(): Promise<void> {
    this.#modern.notify.toolsChanged();
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.announceTools()));
  }

  /** Refuses new requests from now on. */
  refuse(): void {
    this.#isClosing = true;
  }

  /** Ends streams, sessions and what still runs. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([
      this.#modern.close(),
      ...[...this.#sessions.values()].map(({ server }) => server.close()),
    ]);
  }

  async #serve(request: Request, caller: Caller): Promise<Response> {
    const { http, logger } = this.#shared.options;
    const deadline = new Deadline(request.signal, http.requestTimeoutMs);
    try {
      const response = await Promise.race([this.#answer(request, caller, deadline), deadline.passed]);
      if (!isStream(response)) deadline.end();
      return response;
    } catch (cause) {
      deadline.end();
      logger.error("An HTTP request failed.", { cause: String(cause) });
      return this.#isClosing ? refusal(503, "The server is closing.") : refusal(500, "Internal error");
    }
  }

  async #answer(request: Request, caller: Caller, deadline: Deadline): Promise<Response> {
    const { url, method, headers } = request;
    const body =
      method === "POST" ? await readJson(request, this.#shared.options.http.maxBodyBytes) : undefined;
    if (body instanceof Response) return body;
    // The SDK sees a request whose body is read already, with our signal.
    const inner = new Request(url, { method, headers, signal: deadline.signal });
    if (await isLegacyRequest(inner, body)) return this.#answerOlder(inner, body, { caller, deadline });
    const busy = this.#refuseBusy(body, caller);
    if (busy !== undefined) return busy;
    this.#callers.set(inner, caller);
    const response = await this.#modern.fetch(inner, { parsedBody: body });
    if (response.body === null || !isStream(response)) return response;
    // A stream that waits for changes has no end of its own.
    if (methodOf(body) === "subscriptions/listen") deadline.end();
    return new Response(bounded(response.body, deadline.end), response);
  }

  async #answerOlder(
    request: Request,
    body: unknown,
    { caller, deadline }: { readonly caller: Caller; readonly deadline: Deadline },
  ): Promise<Response> {
    if (methodOf(body) === "initialize")
      return (await this.#begin(caller)).session.fetch(request, body, deadline);
    const id = request.headers.get("mcp-session-id");
    if (id === null) return refusal(400, "The Mcp-Session-Id header is required; begin with initialize.");
    const open = this.#sessions.get(id);
    const isSame = open?.caller.token?.id === caller.token?.id && open?.caller.local === caller.local;
    if (open === undefined || !isSame) return refusal(404, "Session not found.");
    this.#sessions.delete(id);
    this.#sessions.set(id, open);
    open.timer.refresh();
    return this.#refuseBusy(body, open.caller) ?? open.session.fetch(request, body, deadline);
  }

  /** Begins a session: nobody but its owner may use its id, and it ends when nobody does for 30 minutes. */
  async #begin(opener: Caller): Promise<OpenSession> {
    const session = new HttpSession();
    const { sessionId } = session;
    const caller = { ...opener, lane: `session ${sessionId}` };
    const server = new RegistryServer(this.#shared, caller);
    const endIfIdle = (): unknown => (session.isBusy ? timer.refresh() : server.close());
    const timer = setTimeout(endIfIdle, IDLE_MS).unref();
    server.onclose = () => {
      clearTimeout(timer);
      this.#sessions.delete(sessionId);
    };
    const [oldest] = this.#sessions.values();
    if (oldest !== undefined && this.#sessions.size >= MAX_SESSIONS) await oldest.server.close();
    await server.connect(session);
    const open = { session, server, caller, timer };
    this.#sessions.set(sessionId, open);
    return open;
  }

  #refuseBusy(body: unknown, { lane }: Caller): Response | undefined {
    if (methodOf(body) !== "tools/call" || !this.#shared.lanes.isFull(lane)) return undefined;
    return refusal(429, "Too many calls wait.", { "retry-after": "1" });
  }
}

function methodOf(body: unknown): unknown {
  return isPlainObject(body) ? body["method"] : undefined;
}

function isStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}
