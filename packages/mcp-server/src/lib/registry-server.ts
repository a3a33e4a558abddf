/** The protocol side of one connection: the SDK's low-level server with our handlers. */

import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";

import { type McpChannel, isRequest } from "./channel.ts";
import { type Caller, type ServerShared, callTool } from "./tool-call.ts";

const CACHE_HINT = { ttlMs: 60_000, cacheScope: "private" } as const;

type Handler = Parameters<Server["_wrapHandler"]>[1];

/** A server for one connection, or for one request of the modern era over HTTP. */
export class RegistryServer extends Server {
  #greeted = false;

  constructor(shared: ServerShared, caller: Caller, channel?: McpChannel) {
    const { name, version, instructions, logger } = shared.options;
    const capabilities = { tools: { listChanged: true }, prompts: {}, resources: {} };
    const cacheHints = { "tools/list": CACHE_HINT, "server/discover": CACHE_HINT };
    super(
      { name, version },
      { capabilities, cacheHints, ...(instructions === undefined ? {} : { instructions }) },
    );
    this.oninitialized = () => {
      if (!this.#greeted && channel !== undefined) this.#shorten(channel);
      this.#greeted = true;
    };
    this.onerror = (error) => logger.debug("An MCP message was not served.", { cause: error.message });
    for (const [method, empty] of Object.entries(EMPTY))
      this.setRequestHandler(method, { params: ANY }, () => empty);
    this.setRequestHandler("tools/list", { params: ANY }, ({ cursor }) => ({ ...shared.list.page(cursor) }));
    this.setRequestHandler("tools/call", { params: ANY }, async (params, { mcpReq: request }) => {
      try {
        return await callTool(shared, params, { caller, greeting: this.getClientVersion(), request });
      } catch (cause) {
        if (cause instanceof ProtocolError) throw cause;
        logger.error("A tool call failed outside its handler.", { cause: String(cause) });
        throw new ProtocolError(ProtocolErrorCode.InternalError, "Internal error");
      }
    });
  }

  /** Tells the client that the tools changed: in the older era after its handshake, in the modern one as it subscribed. */
  async announceTools(): Promise<void> {
    const isModern =
      this.getNegotiatedProtocolVersion() !== undefined && this.getClientVersion() === undefined;
    if (this.transport !== undefined && (this.#greeted || isModern)) await this.sendToolListChanged();
  }

  /**
   * After its handshake an older client stays older, so its requests go straight to the SDK's dispatch. The way there
   * looks at the era of each message and holds it against four schemas, which costs more than the call itself
   * (benchmarks/mcp.ts); `isRequest` is the one check that is left. Everything else takes the usual way.
   */
  #shorten(channel: McpChannel): void {
    const { transport } = this;
    const deliver = channel.onmessage?.bind(channel);
    if (transport === undefined || deliver === undefined) return;
    channel.onmessage = (message) => (isRequest(message) ? this["_onrequest"](message) : deliver(message));
    transport.send = (message) => channel.send(message);
  }

  // The SDK would check a call and its result twice more; the registry has checked both.
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    return method === "tools/call" ? handler : super._wrapHandler(method, handler);
  }
}

/** Clients ask for these whether or not a server has any, and an empty list is a better answer than an error. */
const EMPTY = {
  "prompts/list": { prompts: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
};

const ANY: StandardSchemaV1<unknown, Readonly<Record<string, unknown>>> = {
  "~standard": {
    version: 1,
    vendor: "openfunctions",
    validate: (value) => ({ value: { ...Object(value) } }),
  },
};
