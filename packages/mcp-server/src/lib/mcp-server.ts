/** A registry as an MCP server, however it is reached. */

import { setImmediate } from "node:timers/promises";

import type { Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { ToolRegistry } from "@openfunctions/core";

import { CallLanes } from "./call-lanes.ts";
import type { McpChannel } from "./channel.ts";
import { HttpEndpoint, type HttpPeer } from "./http-endpoint.ts";
import { type McpServerOptions, resolveOptions } from "./options.ts";
import { RegistryServer } from "./registry-server.ts";
import type { Caller, ServerShared } from "./tool-call.ts";
import { ToolList } from "./tool-list.ts";

const QUIET_MS = 50;
const CLOSE_MS = 2_000;

/** A server that answers on channels and to web requests, both eras on each. */
export interface McpServerHandle {
  /** Serves one client over a channel, as a local peer. Returns the function that ends it. */
  connect(channel: McpChannel): () => Promise<void>;
  /** Serves one HTTP request, for an app to mount at `http.path`. Never rejects. */
  fetch(request: Request, peer?: HttpPeer): Promise<Response>;
  /** Refuses new requests, lets calls run for `drainMs` more (default 0), aborts the rest, ends every connection. */
  close(drainMs?: number): Promise<void>;
}

/** Makes a server of a registry. Throws `ConfigError` for bad options, `RegistryError` for an unknown name in `expose`. */
export function createMcpServer(registry: ToolRegistry, options: McpServerOptions = {}): McpServerHandle {
  return new RegistryHandle(registry, options);
}

class RegistryHandle implements McpServerHandle {
  readonly #shared: ServerShared;
  readonly #http: HttpEndpoint;
  readonly #servers = new Set<RegistryServer>();
  readonly #ends = new Set<() => Promise<void>>();
  readonly #stops: readonly (() => void)[];
  #timer: NodeJS.Timeout | undefined;
  #channels = 0;

  constructor(registry: ToolRegistry, given: McpServerOptions) {
    const options = resolveOptions(given);
    const view = registry.view(options.expose);
    const list = new ToolList(view, options.pageSize);
    this.#shared = { view, list, lanes: new CallLanes(options.http.maxConcurrent), options };
    this.#http = new HttpEndpoint(this.#shared);
    const note = (): void => void (this.#timer ??= setTimeout(() => this.#announce(), QUIET_MS));
    const events = ["tool:registered", "tool:replaced", "tool:removed"] as const;
    this.#stops = events.map((event) => registry.on(event, note));
  }

  connect(channel: McpChannel): () => Promise<void> {
    this.#channels += 1;
    const caller: Caller = { transport: "stdio", local: true, lane: `channel ${this.#channels}` };
    const create = (): RegistryServer => {
      const server = new RegistryServer(this.#shared, caller, channel);
      this.#servers.add(server);
      server.onclose = () => this.#servers.delete(server);
      return server;
    };
    const { logger } = this.#shared.options;
    const connection = serveStdio(create, {
      transport: channel as Transport, // Proof: of a channel the SDK uses these five members, and gives whole messages
      onerror: ({ message }) => logger.debug("A message was not served.", { message }),
    });
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
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    this.#http.refuse();
    await this.#shared.lanes.settled(drainMs);
    await setImmediate(); // what has ended is answered in this turn
    await Promise.all([this.#http.close(), ...[...this.#ends].map((end) => end())]);
    await this.#shared.lanes.settled(CLOSE_MS);
  }

  #announce(): void {
    this.#timer = undefined;
    Promise.all([this.#http, ...this.#servers].map((one) => one.announceTools())).catch((cause: unknown) => {
      this.#shared.options.logger.warn("A client was not told that the tools changed.", {
        cause: String(cause),
      });
    });
  }
}
