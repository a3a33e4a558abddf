/** Server-sent events, from values to bytes, with a limit on what a slow reader may leave behind. */

import { InputError } from "./errors.ts";

/** One event to write. `data` is written as one line: text as it is (JSON for everything else). */
export interface SseMessage {
  readonly data: unknown;
  readonly event?: string;
  readonly id?: string;
}

/** The text of one event: `id`, `event`, and `data` on one line. Throws `InputError` for a name or id with a line break. */
export function toSseText(message: SseMessage): string {
  const data = typeof message.data === "string" ? message.data : JSON.stringify(message.data ?? null);
  // A line break inside text would end the line, so each line of text gets its own data field.
  const lines = /[\r\n]/.test(data)
    ? data
        .split(/\r\n|\r|\n/)
        .map((line) => `data: ${line}\n`)
        .join("")
    : `data: ${data}\n`;
  return `${field("id", message.id)}${field("event", message.event)}${lines}\n`;
}

function field(name: string, value: string | undefined): string {
  if (value === undefined) return "";
  if (/[\r\n\0]/.test(value))
    throw new InputError(`The ${name} of a server-sent event cannot hold a line break.`);
  return `${name}: ${value}\n`;
}

/** How a stream is kept alive and bounded. */
export interface SseStreamOptions {
  /** A comment is written after so many milliseconds without an event. Default 15 000; 0 for never. */
  readonly heartbeatMs?: number;
  /** Bytes that may wait for a slow reader before the stream is ended with an error. Default 1 MiB. */
  readonly maxBacklogBytes?: number;
}

/** Headers of a server-sent events response. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const HEARTBEAT_MS = 15_000;
const MAX_BACKLOG_BYTES = 1024 * 1024;

/** A stream being written by `send`. A reader that lags over the backlog limit loses its stream. */
export class SseStream {
  /** The bytes, for a `Response` body. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #gone = new AbortController();
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor({ heartbeatMs = HEARTBEAT_MS, maxBacklogBytes = MAX_BACKLOG_BYTES }: SseStreamOptions = {}) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        cancel: (reason) => this.#stop(reason),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxBacklogBytes }),
    );
    if (heartbeatMs <= 0) return;
    this.#heartbeat = setInterval(() => this.#write(": keep-alive\n\n"), heartbeatMs);
    this.#heartbeat.unref();
  }

  /** Aborts when the reader is gone or too slow; whoever produces events stops then. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Queues an event. False where the stream is over: ended, failed, or given up by its reader. */
  send(message: SseMessage): boolean {
    this.#heartbeat?.refresh();
    return this.#write(toSseText(message));
  }

  /** Ends the stream after what was sent. */
  end(): void {
    const controller = this.#controller;
    this.#release();
    controller?.close();
  }

  #write(text: string): boolean {
    const controller = this.#controller;
    if (controller === undefined) return false;
    const bytes = this.#encoder.encode(text);
    if ((controller.desiredSize ?? 0) >= bytes.byteLength) {
      controller.enqueue(bytes);
      return true;
    }
    const slow = new Error("The reader of this stream is too slow.");
    this.#stop(slow);
    controller.error(slow);
    return false;
  }

  #stop(reason: unknown): void {
    this.#release();
    this.#gone.abort(reason);
  }

  #release(): void {
    clearInterval(this.#heartbeat);
    this.#controller = undefined;
  }
}

/** Opens a stream that is written by `send`. */
export function openSseStream(options?: SseStreamOptions): SseStream {
  return new SseStream(options);
}
