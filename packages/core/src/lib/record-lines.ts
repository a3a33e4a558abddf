/** Cuts bytes into lines without holding more than one of them. */

import { isUtf8 } from "node:buffer";

/** Bytes of a record file: whole, or in pieces as they are read. */
export type RecordBytes = string | Uint8Array | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** One line: `bytes[end]` is its newline, which was added where the file has none (`torn`). */
export interface LinePlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** True where the bytes are known to be UTF-8. */
  readonly utf8: boolean;
  /** The offset of the line's first byte in the file. */
  readonly offset: number;
  readonly torn: boolean;
  /** The line is longer than `MAX_LINE_BYTES`; its bytes were dropped. */
  readonly huge: boolean;
}

/** The longest line that is read. A store keeps values of 8 MiB of text, of which an event may hold several. */
export const MAX_LINE_BYTES: number = 64 * 1024 * 1024;

const NEWLINE = 10;

/** Hands every line to `take`, in order. Rejects only where the source itself does. */
export async function eachLine(source: RecordBytes, take: (line: LinePlace) => void): Promise<void> {
  const cutter = new LineCutter(take);
  if (typeof source === "string") cutter.feed(Buffer.from(source, "utf8"));
  else if (source instanceof Uint8Array) cutter.feed(source);
  else for await (const chunk of source) cutter.feed(chunk);
  cutter.end();
}

class LineCutter {
  readonly #take: (line: LinePlace) => void;
  #pieces: Uint8Array[] = [];
  #held = 0;
  /** Offset of the open line. */
  #offset = 0;
  #dropped = 0;

  constructor(take: (line: LinePlace) => void) {
    this.#take = take;
  }

  feed(piece: Uint8Array): void {
    const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    // Looked at as a whole, lines cost less.
    const first = this.#held + this.#dropped > 0 ? chunk.indexOf(NEWLINE) + 1 : 0;
    const utf8 = isUtf8(chunk.subarray(first, Math.max(first, chunk.lastIndexOf(NEWLINE))));
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      if (this.#held === 0 && this.#dropped === 0) this.#line(chunk, start, { end, torn: false, utf8 });
      else {
        this.#hold(chunk.subarray(start, end));
        this.#flush(false);
      }
      start = end + 1;
    }
    // A source may use its buffer again, so what is kept is a copy.
    if (start < chunk.length) this.#hold(Buffer.from(chunk.subarray(start)));
  }

  end(): void {
    if (this.#held + this.#dropped > 0) this.#flush(true);
  }

  #hold(piece: Uint8Array): void {
    if (this.#dropped > 0 || this.#held + piece.length > MAX_LINE_BYTES) {
      this.#dropped += this.#held + piece.length;
      this.#held = 0;
      this.#pieces = [];
      return;
    }
    this.#pieces.push(piece);
    this.#held += piece.length;
  }

  #flush(torn: boolean): void {
    const length = this.#held;
    const bytes = Buffer.concat([...this.#pieces, Uint8Array.of(NEWLINE)]);
    this.#pieces = [];
    this.#held = 0;
    this.#line(bytes, 0, { end: length, torn, utf8: false });
    this.#dropped = 0;
  }

  #line(bytes: Buffer, start: number, line: Pick<LinePlace, "end" | "torn" | "utf8">): void {
    const { end, torn, utf8 } = line;
    const huge = this.#dropped > 0 || end - start > MAX_LINE_BYTES;
    this.#take({ bytes, start, end, offset: this.#offset, torn, huge, utf8 });
    this.#offset += (this.#dropped > 0 ? this.#dropped : end - start) + 1;
  }
}
