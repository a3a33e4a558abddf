/** Sends recorded replies on the loopback, in pieces of any size. */

import { createServer } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import type { RecordedReply } from "./recorded-replies.ts";

/** A running server. */
export interface ReplyServer {
  /** A base URL at which every request gets this reply, `split` bytes per write (0: all at once). */
  urlOf(reply: RecordedReply, split: number): string;
  close(): Promise<void>;
}

/** Starts it on a free port. */
export async function startReplyServer(): Promise<ReplyServer> {
  const plans: { readonly reply: RecordedReply; readonly split: number }[] = [];
  const server = createServer(async (request, response) => {
    request.resume();
    const plan = plans[Number(/^\/(\d+)/.exec(request.url ?? "")?.[1] ?? -1)];
    if (plan === undefined) return void response.writeHead(404).end();
    const { reply, split } = plan;
    const bytes = Buffer.from(reply.blocks.join(""));
    response.writeHead(reply.status, reply.headers);
    const step = split > 0 ? split : Math.max(1, bytes.length);
    for (let at = 0; at < bytes.length; at += step) {
      response.write(bytes.subarray(at, at + step));
      if ((at / step) % 64 === 0) await turn();
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    urlOf: (reply, split) => `http://127.0.0.1:${port}/${plans.push({ reply, split }) - 1}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
