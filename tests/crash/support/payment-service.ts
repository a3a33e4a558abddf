/** A fake payment service on the loopback that remembers every request and every effect. */

import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What was asked for. A request with a key that was seen has no effect of its own. */
export interface ChargeRequest {
  readonly order: string;
  readonly key?: string;
}

/** How it answers one request: late by some milliseconds, or never. The effect happens at once in any case. */
export type Manner = { readonly delayMs: number } | "silent";

/** The service, in the process of the test. */
export interface PaymentService {
  readonly url: string;
  readonly requests: readonly ChargeRequest[];
  /** The effects: one per charge that really happened. */
  readonly charges: readonly ChargeRequest[];
  /** How often an order was charged. */
  chargesOf(order: string): number;
  /** From now on it answers like this; `manner` decides about each request. */
  behave(manner: () => Manner): void;
  /** Resolves once nothing that was sent is on its way any more. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it; it answers at once. */
export async function startPaymentService(): Promise<PaymentService> {
  let manner = (): Manner => ({ delayMs: 0 });
  const requests: ChargeRequest[] = [];
  const charges: ChargeRequest[] = [];
  const sockets = new Set<Socket>();
  const charge = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const asked: ChargeRequest = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const how = manner();
    requests.push(asked);
    const seen = asked.key === undefined ? undefined : charges.find((one) => one.key === asked.key);
    const effect = seen ?? asked;
    if (seen === undefined) charges.push(asked);
    response.setHeader("content-type", "application/json");
    response.flushHeaders();
    if (how === "silent") return;
    if (how.delayMs > 0) await sleep(how.delayMs);
    response.end(JSON.stringify({ receipt: `receipt-${charges.indexOf(effect)}` }));
  };
  const look = (url: string, response: ServerResponse): void => {
    const index = charges.findIndex(({ order }) => `/charges/${order}` === url);
    response.end(JSON.stringify(index === -1 ? {} : { receipt: `receipt-${index}` }));
  };
  const server = createServer((request, response) => {
    response.setHeader("connection", "close");
    if (request.method === "GET") return look(request.url ?? "", response);
    // A client that was killed while it sent has asked for nothing.
    charge(request, response).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The service has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    charges,
    chargesOf: (order) => charges.filter((one) => one.order === order).length,
    behave: (next) => (manner = next),
    settled: async () => {
      // What a dead process sent reaches an idle server with the next turns of its loop.
      for (let turn = 0; turn < 3 || sockets.size > 0; turn += 1) await sleep(2);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
