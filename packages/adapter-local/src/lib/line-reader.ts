/** A reply of one JSON value per line, cut into its lines. */

import { ProtocolError } from "@openfunctions/core";
import type { EventReader, SseEvent } from "@openfunctions/core/wire";

/** The longest line taken. */
const MAX_LINE_CHARS = 32 * 1024 * 1024;

/** Gives every line that is not empty as one event. Throws `ProtocolError` for a line that has no end. */
export class LineReader implements EventReader {
  readonly #decoder = new TextDecoder();
  // The open line, kept as a rope: only the newest piece is looked at, so one-byte pieces cost no more than one.
  #line = "";

  push(bytes: Uint8Array, out: SseEvent[]): void {
    this.#add(this.#decoder.decode(bytes, { stream: true }), out);
  }

  end(out: SseEvent[]): void {
    this.#add(`${this.#decoder.decode()}\n`, out);
  }

  #add(text: string, out: SseEvent[]): void {
    const [first = "", ...others] = text.split("\n");
    this.#line += first;
    for (const piece of others) {
      if (this.#line.trim() !== "") out.push({ event: "message", data: this.#line });
      this.#line = piece;
    }
    if (this.#line.length > MAX_LINE_CHARS) throw new ProtocolError("A line of the reply is too long.");
  }
}
