/** Sessions of the older era: one SDK transport and one server each, in memory, until 30 idle minutes have passed. */

import { randomUUID } from "node:crypto";

import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { isPlainObject } from "@openfunctions/core";

import { refusal } from "./http-gate.ts";
import type { RegistryServer } from "./protocol-server.ts";
import type { Caller } from "./tool-call.ts";

const IDLE_MS = 30 * 60_000;
const MAX_SESSIONS = 1_000;

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: RegistryServer;
  /** The token owner that opened it: nobody else may use its id. */
  readonly owner: string | undefined;
  readonly open: Set<Request>;
  readonly timer: NodeJS.Timeout;
}

/** All sessions of one server. */
export class SessionTable {
  readonly #sessions = new Map<string, Session>();
  readonly #createServer: () => RegistryServer;

  constructor(createServer: () => RegistryServer) {
    this.#createServer = createServer;
  }

  /** The servers to tell about changes. */
  get servers(): readonly RegistryServer[] {
    return [...this.#sessions.values()].map(({ server }) => server);
  }

  /** Serves one request of the older era. `initialize` begins a session, whatever id it comes with. */
  async fetch(request: Request, body: unknown, caller: Caller): Promise<Response> {
    if (isPlainObject(body) && body["method"] === "initialize") return this.#begin(request, body, caller);
    const id = request.headers.get("mcp-session-id");
    if (id === null)
      return refusal(400, "Bad Request: the Mcp-Session-Id header is required; begin with initialize.");
    const session = this.#sessions.get(id);
    if (session === undefined || session.owner !== caller.token?.id)
      return refusal(404, "Session not found.");
    session.timer.refresh();
    session.open.add(request);
    const response = await session.transport.handleRequest(request, { parsedBody: body });
    if (
      isPlainObject(body) &&
      body["method"] === "notifications/cancelled" &&
      isPlainObject(body["params"])
    ) {
      forget(session.transport, body["params"]["requestId"], true);
    }
    return response;
  }

  /** Aborts what a request asked for, and answers it where its stream is still open. */
  cancel(request: Request, body: unknown): void {
    const session = this.#sessionOf(request);
    for (const message of Array.isArray(body) ? body : [body]) {
      const id = isPlainObject(message) && "method" in message ? message["id"] : undefined;
      if (session === undefined || (typeof id !== "string" && typeof id !== "number")) continue;
      session.transport.onmessage?.({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: id },
      });
      forget(session.transport, id, false);
    }
  }

  /** A request and its stream are over. */
  done(request: Request): void {
    const session = this.#sessionOf(request);
    session?.open.delete(request);
    session?.timer.refresh();
  }

  /** Ends every session with its streams and calls. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()));
  }

  async #begin(request: Request, body: unknown, caller: Caller): Promise<Response> {
    if (this.#sessions.size >= MAX_SESSIONS)
      return refusal(429, "Too many sessions.", { "retry-after": "60" });
    const server = this.#createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        const endIfIdle = (): void => {
          if (session.open.size > 0) session.timer.refresh();
          else void server.close();
        };
        const timer = setTimeout(endIfIdle, IDLE_MS).unref();
        const session: Session = { transport, server, owner: caller.token?.id, open: new Set(), timer };
        this.#sessions.set(id, session);
        server.onclose = () => {
          clearTimeout(timer);
          this.#sessions.delete(id);
        };
      },
    });
    await server.connect(transport);
    return transport.handleRequest(request, { parsedBody: body });
  }

  #sessionOf(request: Request): Session | undefined {
    return this.#sessions.get(request.headers.get("mcp-session-id") ?? "");
  }
}

/** The transport keeps a stream and two map entries per unanswered request; a cancelled one is never answered. */
function forget(transport: WebStandardStreamableHTTPServerTransport, id: unknown, silently: boolean): void {
  if (typeof id !== "string" && typeof id !== "number") return;
  if (silently) transport.closeSSEStream(id);
  const error = { code: -32001, message: "The request was cancelled or took too long." };
  transport.send({ jsonrpc: "2.0", id, error }).catch(() => {}); // answered already: nothing to forget
}
