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

/** A stream being written. */
export interface SseStream {
  /** The bytes, for a `Response` body. */
  readonly body: ReadableStream<Uint8Array>;
  /** Queues an event. False where the stream is over: ended, failed, or given up by its reader. */
  send(message: SseMessage): boolean;
  /** Ends the stream after what was sent. */
  end(): void;
  /** Aborts when the reader is gone or too slow; whoever produces events stops then. */
  readonly signal: AbortSignal;
}

/** Headers of a server-sent events response. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

const HEARTBEAT_MS = 15_000;
const MAX_BACKLOG_BYTES = 1024 * 1024;

/** Opens a stream that is written by `send`. A reader that lags over the backlog limit loses its stream. */
export function openSseStream(options: SseStreamOptions = {}): SseStream {
  return new SseWriter(options);
}

/** Writes everything of `messages`, then ends. When the reader leaves, the source's iterator is returned. */
export function toSseStream(
  messages: AsyncIterable<SseMessage>,
  options: SseStreamOptions = {},
): ReadableStream<Uint8Array> {
  const stream = openSseStream(options);
  const pump = async (): Promise<void> => {
    const iterator = messages[Symbol.asyncIterator]();
    stream.signal.addEventListener("abort", () => void iterator.return?.()?.catch(() => {}), { once: true });
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
      if (!stream.send(next.value)) return;
    stream.end();
  };
  pump().catch((cause: unknown) => failWriter(stream, cause));
  return stream.body;
}

function failWriter(stream: SseStream, cause: unknown): void {
  if (stream instanceof SseWriter) stream.fail(cause);
}

class SseWriter implements SseStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #encoder = new TextEncoder();
  readonly #gone = new AbortController();
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(options: SseStreamOptions) {
    const maxBacklogBytes = options.maxBacklogBytes ?? MAX_BACKLOG_BYTES;
    const heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: (reason) => this.#stop(reason),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxBacklogBytes }),
    );
    if (heartbeatMs > 0) {
      this.#heartbeat = setInterval(() => this.#write(": keep-alive\n\n"), heartbeatMs);
      this.#heartbeat.unref();
    }
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  send(message: SseMessage): boolean {
    this.#heartbeat?.refresh();
    return this.#write(toSseText(message));
  }

  end(): void {
    const controller = this.#controller;
    this.#release();
    controller?.close();
  }

  fail(cause: unknown): void {
    const controller = this.#controller;
    this.#stop(cause);
    controller?.error(cause);
  }

  #write(text: string): boolean {
    if (this.#controller === undefined) return false;
    const bytes = this.#encoder.encode(text);
    if ((this.#controller.desiredSize ?? 0) < bytes.byteLength) {
      this.fail(new Error("The reader of this stream is too slow."));
      return false;
    }
    this.#controller.enqueue(bytes);
    return true;
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
