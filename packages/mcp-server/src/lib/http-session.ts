/** Streamable HTTP of the older era: one session, its request streams, and its stream for everything else. */

import { randomUUID } from "node:crypto";

import * as mcp from "@modelcontextprotocol/server";
import { SSE_HEADERS, type SseStream, openSseStream } from "@openfunctions/core/http";

import { isRequest } from "./channel.ts";
import type { Deadline } from "./http-body.ts";
import { refusal } from "./http-gate.ts";

const MAX_BACKLOG_BYTES = 32 * 1024 * 1024;
const MAX_STANDING_BYTES = 1024 * 1024;

/** The transport of one session. A stream that its reader leaves cancels what it was opened for. */
export class HttpSession implements mcp.Transport {
  readonly sessionId: string = randomUUID();
  onclose?: () => void;
  onmessage?: (message: mcp.JSONRPCMessage) => void;
  readonly #requests = new Map<mcp.RequestId, { readonly stream: SseStream; readonly deadline: Deadline }>();
  #standing: SseStream | undefined;

  /** True while somebody reads a stream of it. */
  get isBusy(): boolean {
    return this.#requests.size > 0 || this.#standing?.signal.aborted === false;
  }

  /** Nothing to start. */
  async start(): Promise<void> {}

  /** Serves one HTTP request of this session. */
  async fetch({ method, headers }: Request, body: unknown, deadline: Deadline): Promise<Response> {
    const version = headers.get("mcp-protocol-version");
    if (version !== null && !mcp.SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
      return refusal(400, `Use one of the protocol versions ${mcp.SUPPORTED_PROTOCOL_VERSIONS.join(", ")}.`);
    }
    if (method === "DELETE") return this.close().then(() => new Response(null, { status: 200 }));
    if (method === "GET") return this.#stand(deadline);
    if (isRequest(body)) return this.#open(body, deadline);
    if (!mcp.isJSONRPCNotification(body) && !mcp.isJSONRPCResponse(body))
      return refusal(400, "The body is not one JSON-RPC message.");
    this.onmessage?.(body);
    // A cancelled request is never answered, so its stream has to end here.
    if ("method" in body && body.method === "notifications/cancelled") this.#end(body.params?.["requestId"]);
    return new Response(null, { status: 202 });
  }

  /** Sends a message on the stream it belongs to; an answer ends its stream. */
  async send(message: mcp.JSONRPCMessage, options: mcp.TransportSendOptions = {}): Promise<void> {
    const answers = mcp.isJSONRPCResponse(message) ? message.id : undefined;
    const related = answers ?? options.relatedRequestId;
    const stream = related === undefined ? this.#standing : this.#requests.get(related)?.stream;
    stream?.send({ event: "message", data: message });
    if (answers !== undefined) this.#end(answers);
  }

  /** Ends the session, its streams and its calls. */
  async close(): Promise<void> {
    this.#standing?.end();
    for (const id of this.#requests.keys()) this.#end(id);
    this.onclose?.();
  }

  #open(request: mcp.JSONRPCRequest, deadline: Deadline): Response {
    const { id } = request;
    if (this.#requests.has(id)) return refusal(400, "A request with this id is still open.");
    const stream = openSseStream({ maxBacklogBytes: MAX_BACKLOG_BYTES });
    this.#requests.set(id, { stream, deadline });
    const cancel = (): void => {
      if (this.#requests.get(id)?.stream !== stream) return;
      this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      this.#end(id);
    };
    for (const gone of [stream.signal, deadline.signal])
      gone.addEventListener("abort", cancel, { once: true });
    this.onmessage?.(request);
    return this.#answer(stream);
  }

  #stand(deadline: Deadline): Response {
    deadline.end();
    this.#standing?.end();
    this.#standing = openSseStream({ maxBacklogBytes: MAX_STANDING_BYTES });
    return this.#answer(this.#standing);
  }

  #end(id: unknown): void {
    if (typeof id !== "string" && typeof id !== "number") return;
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(id);
    request.deadline.end();
    request.stream.end();
  }

  #answer({ body }: SseStream): Response {
    return new Response(body, { headers: { ...SSE_HEADERS, "mcp-session-id": this.sessionId } });
  }
}
