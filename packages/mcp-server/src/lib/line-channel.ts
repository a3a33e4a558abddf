/** stdio framing: one JSON text per line, nothing else, and no line above 10 MiB. */

import { Buffer, isUtf8 } from "node:buffer";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

import { isPlainObject } from "@openfunctions/core";

import { type McpChannel, toErrorMessage } from "./wire.ts";

const MAX_FRAME_BYTES = 10 * 1024 * 1024;
const NEWLINE = 10;

/** A channel over a pair of streams. Ends with its input, or when its output breaks; writes nothing after that. */
export class LineChannel implements McpChannel {
  onmessage?: (message: unknown) => void;
  onclose?: () => void;
  /** Resolves when the channel is over, for whatever reason. */
  readonly ended: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #write: (text: string) => boolean;
  #parts: Buffer[] = [];
  #bytes = 0;
  #drained: Promise<unknown> | undefined;
  #end: (() => void) | undefined;

  /** `write` is the output's own function, taken before anything else could replace it. */
  constructor(
    input: Readable,
    output: Writable,
    write: (text: string) => boolean = (text) => output.write(text),
  ) {
    this.#input = input;
    this.#output = output;
    this.#write = write;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Begins to read. */
  start(): Promise<void> {
    this.#output.on("error", this.#stop); // stays, so that a late EPIPE does not end the process
    this.#input
      .on("data", this.#receive)
      .on("end", this.#stop)
      .on("close", this.#stop)
      .on("error", this.#stop);
    if (this.#input.readableEnded || this.#input.destroyed) this.#stop();
    return Promise.resolve();
  }

  /** Writes one frame, or an error in its place where it is too large; after the end, nothing. */
  async send(message: unknown): Promise<void> {
    if (this.#end === undefined) return;
    const text = JSON.stringify(message);
    const tooLarge = text.length * 3 > MAX_FRAME_BYTES && Buffer.byteLength(text) > MAX_FRAME_BYTES;
    const frame = tooLarge
      ? JSON.stringify(toErrorMessage(-32603, "The answer is larger than 10 MiB.", message))
      : text;
    if (this.#write(`${frame}\n`)) return;
    this.#drained ??= Promise.race([once(this.#output, "drain"), this.ended]).finally(
      () => (this.#drained = undefined),
    );
    await this.#drained;
  }

  /** Stops reading and writing. */
  close(): Promise<void> {
    this.#stop();
    return Promise.resolve();
  }

  #stop = (): void => {
    const end = this.#end;
    if (end === undefined) return;
    this.#end = undefined;
    this.#input.off("data", this.#receive).off("end", this.#stop).off("close", this.#stop).pause();
    this.onclose?.();
    end();
  };

  #receive = (chunk: Buffer): void => {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      this.#keep(rest.subarray(0, end));
      this.#takeLine();
      rest = rest.subarray(end + 1);
    }
    this.#keep(rest);
  };

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > MAX_FRAME_BYTES) this.#parts = [];
    else this.#parts.push(part);
  }

  #takeLine(): void {
    const [first] = this.#parts;
    const line = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    const tooLarge = this.#bytes > MAX_FRAME_BYTES;
    this.#parts = [];
    this.#bytes = 0;
    if (tooLarge) return void this.send(toErrorMessage(-32600, "A frame is larger than 10 MiB."));
    let message: unknown;
    try {
      if (!isUtf8(line)) throw new SyntaxError("not UTF-8");
      const text = line.toString();
      if (text.trim() === "") return;
      message = JSON.parse(text);
    } catch {
      return void this.send(toErrorMessage(-32700, "Parse error: the line is not JSON"));
    }
    this.onmessage?.(message);
  }
}
