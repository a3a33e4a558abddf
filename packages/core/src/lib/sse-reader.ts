/** Server-sent events, from bytes to events, however the bytes were cut. */

import { ProtocolError } from "./errors.ts";

/** One server-sent event. `event` is "message" where the stream names none. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
}

/** How much one event may hold, in UTF-16 code units; a streamed image fits. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024;
const LF = 10;
const COLON = 58;

/**
 * Reads a server-sent events body (WHATWG HTML, "server-sent events") piece by piece. Bytes may be cut
 * anywhere, also inside a UTF-8 sequence or a CRLF; lines end with LF, CRLF or CR; comments, ids, unknown fields and
 * a byte order mark are skipped. Memory is bounded by the one open event: over the limit it throws
 * `ProtocolError`.
 */
export class SseReader {
  readonly #decoder = new TextDecoder();
  // The open line, kept as a rope: only complete lines are looked at, so one-byte pieces cost no more than one.
  #line = "";
  #afterCr = false;
  #data: string | undefined;
  #event = "";

  /** Takes the next bytes and appends every event they complete to `out`. */
  push(bytes: Uint8Array, out: SseEvent[]): void {
    this.#pushText(this.#decoder.decode(bytes, { stream: true }), out);
  }

  /**
   * Ends the body. An event that lacks its closing blank line is appended too, since servers leave it out; the
   * caller decides whether its data is whole.
   */
  end(out: SseEvent[]): void {
    this.#pushText(this.#decoder.decode(), out);
    if (this.#line !== "") this.#takeLine(this.#line, out);
    this.#line = "";
    this.#dispatch(out);
  }

  #pushText(text: string, out: SseEvent[]): void {
    if (text === "") return;
    let start = this.#afterCr && text.charCodeAt(0) === LF ? 1 : 0;
    this.#afterCr = false;
    let cr = text.indexOf("\r", start);
    for (;;) {
      const lf = text.indexOf("\n", start);
      if (cr !== -1 && cr < start) cr = text.indexOf("\r", start);
      const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
      if (end === -1) break;
      const piece = text.slice(start, end);
      const line = this.#line === "" ? piece : this.#line + piece;
      this.#line = "";
      this.#takeLine(line, out);
      start = end + 1;
      if (end === cr && start === text.length) this.#afterCr = true;
      else if (end === cr && text.charCodeAt(start) === LF) start += 1;
    }
    this.#line += start === 0 ? text : text.slice(start);
    this.#checkSize(this.#line.length);
  }

  #takeLine(line: string, out: SseEvent[]): void {
    if (line === "") return this.#dispatch(out);
    if (line.charCodeAt(0) === COLON) return;
    if (line.startsWith("data:")) return this.#addData(line.slice(line[5] === " " ? 6 : 5));
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#addData(value);
    else if (field === "event") this.#event = value;
  }

  #addData(value: string): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    this.#checkSize(this.#data.length);
  }

  #dispatch(out: SseEvent[]): void {
    const event = this.#event === "" ? "message" : this.#event;
    this.#event = "";
    if (this.#data === undefined) return;
    const data = this.#data;
    this.#data = undefined;
    out.push({ event, data });
  }

  #checkSize(chars: number): void {
    if (chars <= MAX_EVENT_CHARS) return;
    throw new ProtocolError(`One server-sent event is larger than ${MAX_EVENT_CHARS} characters.`);
  }
}
