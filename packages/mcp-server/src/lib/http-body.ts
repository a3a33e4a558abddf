/** Bodies in and out of the HTTP endpoint, with limits on size and time. */

import { Buffer } from "node:buffer";

import { refusal } from "./http-gate.ts";

const MAX_BACKLOG_BYTES = 1024 * 1024;
/** So high that a stream is never paused: what waits in it is measured instead. */
const NEVER_BYTES = 1024 * 1024 * 1024;

/** The time a request has, from its first byte to the end of its answer. */
export class Deadline {
  /** Aborts when the time is over or the client is gone. */
  readonly signal: AbortSignal;
  /** Resolves with the answer to give when the time is over. */
  readonly passed: Promise<Response>;
  readonly #timer: NodeJS.Timeout;

  constructor(client: AbortSignal, timeoutMs: number) {
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.signal = AbortSignal.any([client, stop.signal]);
    this.passed = promise;
    this.#timer = setTimeout(() => {
      resolve(refusal(408, "The request took too long.", { connection: "close" }));
      stop.abort();
    }, timeoutMs);
  }

  /** The request is over, or has no end of its own. */
  readonly end = (): void => clearTimeout(this.#timer);
}

/** The JSON of a body, or the answer that refuses it: too large, not UTF-8, not JSON. */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  const tooLarge = (): Response =>
    refusal(413, `The body is larger than ${maxBytes} bytes.`, { connection: "close" });
  if (Number(request.headers.get("content-length")) > maxBytes) return tooLarge();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) return tooLarge();
    parts.push(part);
  }
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts)));
  } catch {
    return refusal(400, "Parse error: the body is not JSON");
  }
}

/** A stream that its reader loses, and nobody else, when more than 1 MiB waits for it. `end` is called when it is over. */
export function bounded(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const limit = new TransformStream<Uint8Array, Uint8Array>(
    {
      transform: (part, to) => {
        const waiting = NEVER_BYTES - (to.desiredSize ?? 0);
        if (waiting <= MAX_BACKLOG_BYTES) return to.enqueue(part);
        end();
        to.error(new Error("The reader of this stream is too slow."));
      },
      flush: end,
      cancel: end,
    },
    undefined,
    new ByteLengthQueuingStrategy({ highWaterMark: NEVER_BYTES }),
  );
  return body.pipeThrough(limit);
}
