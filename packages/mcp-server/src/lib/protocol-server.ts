/** The protocol side of one connection: the SDK's low-level server with our two handlers. */

import {
  ProtocolError,
  Server,
  type ServerContext,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import { type JsonObject, isPlainObject } from "@openfunctions/core";

import { internalError } from "./protocol-errors.ts";
import { type Caller, type ServerShared, callTool } from "./tool-call.ts";

const CACHE_HINT = { ttlMs: 60_000, cacheScope: "private" } as const;

/** A server for one connection (or one modern HTTP request). `callerOf` names who sent a request. */
export class RegistryServer extends Server {
  #ready: boolean;

  constructor(shared: ServerShared, connection: Connection) {
    const { name, version, instructions, logger } = shared.options;
    super(
      { name, version },
      {
        capabilities: { tools: { listChanged: true } },
        cacheHints: { "tools/list": CACHE_HINT, "server/discover": CACHE_HINT },
        ...(instructions === undefined ? {} : { instructions }),
      },
    );
    this.#ready = connection.era === "modern";
    this.oninitialized = () => void (this.#ready = true);
    this.onerror = (error) => logger.debug("An MCP message was not served.", { cause: error.message });
    this.setRequestHandler("tools/list", { params: ANY_PARAMS }, ({ cursor }) => ({
      ...shared.list.page(cursor),
    }));
    this.setRequestHandler("tools/call", { params: ANY_PARAMS }, async (params, context) => {
      try {
        const env = { caller: connection.callerOf(context), context, client: this.getClientVersion() };
        return await callTool(shared, params, env);
      } catch (cause) {
        if (cause instanceof ProtocolError) throw cause;
        logger.error("A tool call failed outside its handler.", { cause: String(cause) });
        throw internalError();
      }
    });
  }

  /** Tells the client that the tools changed, once its handshake is over. */
  async announceTools(): Promise<void> {
    if (this.#ready && this.transport !== undefined) await this.sendToolListChanged();
  }

  // Params and results of calls are checked by the registry and built by us: the SDK's second check is left out.
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    return method === "tools/call" ? handler : super._wrapHandler(method, handler);
  }
}

/** What differs between connections. */
export interface Connection {
  readonly era: "legacy" | "modern";
  callerOf(context: ServerContext): Caller;
}

type Handler = Parameters<Server["_wrapHandler"]>[1];

const ANY_PARAMS: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "openfunctions",
    validate: (value) =>
      isPlainObject(value) ? { value } : { issues: [{ message: "params are not an object" }] },
  },
};
