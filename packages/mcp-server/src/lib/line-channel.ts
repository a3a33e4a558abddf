/** stdio framing: one JSON-RPC message per line, nothing else, and no line above 10 MiB. */

import { Buffer, isUtf8 } from "node:buffer";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

import { type McpChannel, isMessage, toErrorMessage } from "./channel.ts";

const MAX_FRAME_BYTES = 10 * 1024 * 1024;

/** A channel over a pair of streams. Ends with its input, or when its output breaks; writes nothing after that. */
export class LineChannel implements McpChannel {
  onmessage?: (message: unknown) => void;
  onclose?: () => void;
  /** Resolves when the channel is over, for whatever reason. */
  readonly ended: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #write: (text: string) => boolean;
  #end: (() => void) | undefined;
  #parts: Buffer[] = [];
  #bytes = 0;

  /** `write` is the output's own function, taken before it was replaced. */
  constructor(input: Readable, output: Writable, write: (text: string) => boolean) {
    this.#input = input;
    this.#output = output;
    this.#write = write;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** Begins to read. */
  async start(): Promise<void> {
    this.#output.on("error", this.#stop); // stays, so that a late EPIPE does not end the process
    for (const event of ["end", "close", "error"]) this.#input.on(event, this.#stop);
    this.#input.on("data", this.#receive);
    if (this.#input.readableEnded || this.#input.destroyed) this.#stop();
  }

  /** Writes one frame, or an error in its place where it is too large; after the end, nothing. */
  async send(message: unknown): Promise<void> {
    // Some readers take U+2028 and U+2029 for line ends too.
    const text = JSON.stringify(message).replaceAll(/[\u2028\u2029]/g, (end) =>
      end === "\u2028" ? "\\u2028" : "\\u2029",
    );
    const tooLarge = text.length * 3 > MAX_FRAME_BYTES && Buffer.byteLength(text) > MAX_FRAME_BYTES;
    if (tooLarge) return this.#refuse(-32603, "The answer is larger than 10 MiB.", message);
    if (this.#end === undefined || this.#write(`${text}\n`)) return;
    await Promise.race([once(this.#output, "drain"), this.ended]);
  }

  /** Stops reading and writing. */
  async close(): Promise<void> {
    this.#stop();
  }

  readonly #stop = (): void => {
    const end = this.#end;
    this.#end = undefined;
    if (end === undefined) return;
    this.#input.off("data", this.#receive).pause();
    this.onclose?.();
    end();
  };

  readonly #receive = (chunk: Buffer): void => {
    let rest = chunk;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
      this.#keep(rest.subarray(0, end));
      this.#takeLine();
      rest = rest.subarray(end + 1);
    }
    this.#keep(rest);
  };

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > MAX_FRAME_BYTES) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  #takeLine(): void {
    const line = Buffer.concat(this.#parts);
    const tooLarge = this.#bytes > MAX_FRAME_BYTES;
    this.#parts = [];
    this.#bytes = 0;
    if (tooLarge) return this.#refuse(-32600, "A frame is larger than 10 MiB.");
    const text = isUtf8(line) ? line.toString() : "not JSON";
    if (text.trim() === "") return;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return this.#refuse(-32700, "Parse error: the line is not JSON");
    }
    if (isMessage(message)) this.onmessage?.(message);
    else this.#refuse(-32600, "Invalid Request: not a JSON-RPC 2.0 message", message);
  }

  #refuse(code: number, message: string, request?: unknown): void {
    void this.send(toErrorMessage(code, message, request));
  }
}
