/** The protocol side of one connection: the SDK's low-level server with our handlers. */

import { ProtocolError, ProtocolErrorCode, Server, type StandardSchemaV1 } from "@modelcontextprotocol/server";

import { type Caller, type ServerShared, callTool } from "./tool-call.ts";

const CACHE_HINT = { ttlMs: 60_000, cacheScope: "private" } as const;

type Handler = Parameters<Server["_wrapHandler"]>[1];

/** A server for one connection, or for one request of the modern era over HTTP. */
export class RegistryServer extends Server {
  #greeted = false;

  /** `onGreeted` hears of the end of the older era's handshake. */
  constructor(shared: ServerShared, caller: Caller, onGreeted?: (server: RegistryServer) => void) {
    const { name, version, instructions, logger } = shared.options;
    const capabilities = { tools: { listChanged: true }, prompts: {}, resources: {} };
    const cacheHints = { "tools/list": CACHE_HINT, "server/discover": CACHE_HINT };
    super(
      { name, version },
      { capabilities, cacheHints, ...(instructions === undefined ? {} : { instructions }) },
    );
    this.oninitialized = () => {
      this.#greeted = true;
      onGreeted?.(this);
    };
    this.onerror = (error) => logger.debug("An MCP message was not served.", { cause: error.message });
    for (const [method, empty] of Object.entries(EMPTY)) this.setRequestHandler(method, { params: ANY }, () => empty);
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
    const isModern = this.getNegotiatedProtocolVersion() !== undefined && this.getClientVersion() === undefined;
    if (this.transport !== undefined && (this.#greeted || isModern)) await this.sendToolListChanged();
  }

  // The SDK would check params and result of a call twice more; the registry has checked both.
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
  "~standard": { version: 1, vendor: "openfunctions", validate: (value) => ({ value: { ...Object(value) } }) },
};
