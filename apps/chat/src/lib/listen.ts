/** Listens on loopback, on the wanted port or the next free one. */

import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import { ConfigError } from "@openfunctions/core";
import type { Hono } from "hono";

/** A server that listens. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Stops listening and ends the connections; resolves when all are gone. */
  close(): Promise<void>;
}

/** Where to listen. */
export interface ListenOptions {
  /** 0 takes a free port. */
  readonly port: number;
  /** How many ports after `port` may be tried when it is taken. Default 0. */
  readonly more?: number;
}

const HOST = "127.0.0.1";

/** Binds to 127.0.0.1. Throws `ConfigError` `port_in_use` when no port is free. */
export async function listen(app: Hono, { port, more = 0 }: ListenOptions): Promise<Listening> {
  for (let candidate = port; candidate <= port + more; candidate += 1) {
    const server = await tryListen(app, candidate);
    if (server !== undefined) return toListening(server);
  }
  throw new ConfigError(`Port ${port} is in use.`, {
    code: "port_in_use",
    hint: "Set PORT to another port, or end what uses it.",
  });
}

function tryListen(app: Hono, port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    // Proof: without http2 options @hono/node-server makes a node:http server
    const server = serve({ fetch: app.fetch, hostname: HOST, port }) as Server;
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(undefined) : reject(error),
    );
    server.once("listening", () => resolve(server));
  });
}

function toListening(server: Server): Listening {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    port,
    url: `http://${HOST}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
