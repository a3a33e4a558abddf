/** Starts a server: on this process's stdio, or on a port. */

import { setTimeout as sleep } from "node:timers/promises";

import { ConfigError, type ToolRegistry } from "@openfunctions/core";
import { isLoopbackAddress } from "@openfunctions/core/http";

import { listen } from "./http-listener.ts";
import { LineChannel } from "./line-channel.ts";
import { createMcpServer } from "./mcp-server.ts";
import { type McpServerOptions, resolveOptions } from "./options.ts";

const DRAIN_MS = 5_000;
const FLUSH_MS = 500;
const INVALID = { code: "invalid_config" } as const;

/** A server that is up. */
export interface RunningServer {
  /** HTTP only. */
  readonly url?: string;
  /** HTTP only. */
  readonly port?: number;
  /** Stops; running calls are aborted (stdio: at once, HTTP: after 5 s). Resolves when it is over. */
  close(): Promise<void>;
  /** Resolves when the server is over, for whatever reason. */
  readonly closed: Promise<void>;
}

/**
 * Starts a server; default transport stdio. On stdio, stdout belongs to the protocol from then on: whatever else the
 * process prints goes to stderr, also after the end. Throws `ConfigError`: `port_in_use`, `token_required` for a host
 * that is not loopback without a token, `invalid_config`.
 */
export async function startServer(
  registry: ToolRegistry,
  { transport = "stdio", ...options }: McpServerOptions & { readonly transport?: "stdio" | "http" } = {},
): Promise<RunningServer> {
  if (transport === "stdio") return startStdio(registry, options);
  if (transport === "http") return startHttp(registry, options);
  throw new ConfigError(`There is no transport "${String(transport)}"; use "stdio" or "http".`, INVALID);
}

function startStdio(registry: ToolRegistry, options: McpServerOptions): RunningServer {
  const unused = Object.keys(options.http ?? {}).find((key) => key !== "maxConcurrent");
  if (unused !== undefined) {
    throw new ConfigError(`MCP server option "http.${unused}" means nothing on stdio.`, INVALID);
  }
  const server = createMcpServer(registry, options);
  const { stdin, stdout, stderr } = process;
  const channel = new LineChannel(stdin, stdout, stdout.write.bind(stdout));
  stdout.write = stderr.write.bind(stderr);
  server.connect(channel);
  const closed = channel.ended.then(() => server.close());
  return { closed, close: () => channel.close().then(() => closed) };
}

async function startHttp(registry: ToolRegistry, options: McpServerOptions): Promise<RunningServer> {
  const { http } = resolveOptions(options);
  if (http.token === undefined && http.host !== "localhost" && !isLoopbackAddress(http.host)) {
    const message = `A server on ${http.host} can be reached from other machines; give it an "http.token".`;
    throw new ConfigError(message, { code: "token_required" });
  }
  const server = createMcpServer(registry, options);
  const listener = await listen((request, peer) => server.fetch(request, peer), http).catch(async (cause) => {
    await server.close();
    throw cause;
  });
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : http.port;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    listener.close(() => resolve());
    await server.close(DRAIN_MS);
    const idle = setInterval(() => listener.closeIdleConnections(), 10);
    await Promise.race([closed, sleep(FLUSH_MS)]);
    clearInterval(idle);
    listener.closeAllConnections();
    await closed;
  };
  const host = http.host.includes(":") ? `[${http.host}]` : http.host;
  return { url: `http://${host}:${port}${http.path}`, port, closed, close: () => (closing ??= stop()) };
}
