/** A registry as an MCP server, before anybody has decided how it is reached. */

import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { ToolRegistry } from "@openfunctions/core";

import { CallLanes } from "./call-lanes.ts";
import { HttpEndpoint, type HttpPeer } from "./http-endpoint.ts";
import { type McpServerOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { RegistryServer } from "./protocol-server.ts";
import type { Caller, ServerShared } from "./tool-call.ts";
import { watchTools } from "./tool-changes.ts";
import { ToolList } from "./tool-list.ts";
import { type McpChannel, Wire } from "./wire.ts";

const CLOSE_MS = 2_000;

/** A server that answers on channels and to web requests, both eras on each. */
export interface McpServerHandle {
  /** Serves one client over a channel, as a local peer. Returns the function that ends it. */
  connect(channel: McpChannel): () => Promise<void>;
  /** Serves one HTTP request, for an app to mount at `http.path`. Never rejects. `peer` is the socket's, where there is one. */
  fetch(request: Request, peer?: HttpPeer): Promise<Response>;
  /** Waits for running calls, aborts those that take longer than `drainMs` (default 0), and ends every connection. */
  close(drainMs?: number): Promise<void>;
}

/** Makes a server of a registry. Throws `ConfigError` for bad options and `RegistryError` for an unknown name in `expose`. */
export function createMcpServer(registry: ToolRegistry, options: McpServerOptions = {}): McpServerHandle {
  return new RegistryHandle(registry, resolveOptions(options));
}

/** The one implementation. */
class RegistryHandle implements McpServerHandle {
  readonly #shared: ServerShared;
  readonly #http: HttpEndpoint;
  readonly #servers = new Set<RegistryServer>();
  readonly #ends = new Set<() => Promise<void>>();
  readonly #unwatch: () => void;
  #channels = 0;

  constructor(registry: ToolRegistry, options: ResolvedOptions) {
    const view = registry.view(options.expose);
    const lanes = new CallLanes(options.http.maxConcurrent);
    this.#shared = { view, options, lanes, list: new ToolList(view, options.pageSize) };
    this.#http = new HttpEndpoint(this.#shared);
    this.#unwatch = watchTools(registry, view, () => this.#announce());
  }

  connect(channel: McpChannel): () => Promise<void> {
    this.#channels += 1;
    const caller: Caller = { transport: "stdio", local: true, lane: `channel ${this.#channels}` };
    const create = ({ era }: { readonly era: "legacy" | "modern" }): RegistryServer => {
      const server = new RegistryServer(this.#shared, { era, callerOf: () => caller });
      this.#servers.add(server);
      server.onclose = () => this.#servers.delete(server);
      return server;
    };
    const onerror = (error: Error): void =>
      this.#shared.options.logger.debug("A message was not served.", { cause: error.message });
    const connection = serveStdio(create, { transport: new Wire(channel), onerror });
    const end = (): Promise<void> => {
      this.#ends.delete(end);
      return connection.close();
    };
    this.#ends.add(end);
    return end;
  }

  fetch(request: Request, peer?: HttpPeer): Promise<Response> {
    return this.#http.fetch(request, peer);
  }

  async close(drainMs = 0): Promise<void> {
    this.#unwatch();
    this.#http.refuse();
    if (drainMs > 0) await this.#shared.lanes.settled(drainMs);
    await Promise.all([...this.#ends].map((end) => end()));
    await this.#http.close();
    await this.#shared.lanes.settled(CLOSE_MS);
  }

  #announce(): void {
    const told = [...this.#servers].map((server) => server.announceTools());
    Promise.all([...told, this.#http.announce()]).catch((cause: unknown) => {
      this.#shared.options.logger.warn("A client was not told that the tools changed.", {
        cause: String(cause),
      });
    });
  }
}
