/** Reads a line of a record file as bytes: whether it is canonical, and where its fields and sealed leaves stand. */

/** Where a sealed leaf stands in the bytes. Offsets; -1 for a part that is not there. */
export interface LeafSpan {
  readonly start: number;
  readonly end: number;
  /** The first byte after the `$sealed` string, closing quote included. */
  readonly sealedEnd: number;
  /** Salt without its quotes. */
  readonly saltStart: number;
  readonly saltEnd: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

const MAX_DEPTH = 512;
const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const MINUS = 45;
const POINT = 46;
const ZERO = 48;
const NINE = 57;

/** 1 for the bytes that end or interrupt a string: control characters, quote, backslash. */
const SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 32 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);
/** 1 for the bytes of which numbers are made. */
const NUMBER_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  "+-.0123456789e".includes(String.fromCharCode(byte)) ? 1 : 0,
);
/** Two decimals of so many digits are never the same number. */
const SURE_DIGITS = 15;
/** No number is written with more. */
const MAX_NUMBER_BYTES = 32;
const SHORT_ESCAPES = new Set(Buffer.from('"\\bfnrt'));
/** What has a short escape of its own and so never stands as `\u00..`. */
const SHORT_ESCAPED = new Set([8, 9, 10, 12, 13]);

const EVENT_FIELDS = ["at", "data", "hash", "prev", "runId", "seq", "type", "v"].map((name, index) =>
  Buffer.from(`${index === 0 ? "{" : ","}"${name}":`),
);
const SEALED = Buffer.from('"$sealed"');
const SALT = Buffer.from(',"salt":');
const VALUE = Buffer.from(',"value":');
const CLOSE = Buffer.from("}");
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

const HIGH_BITS = 0x80808080;

/**
 * Sets the high bit of each of four bytes that ends or interrupts a string; other bits mean nothing. A byte below n, less
 * n, has its high bit set where it had not; so has a byte of zero, less one.
 */
function specials(four: number): number {
  const quotes = four ^ 0x22222222;
  const backslashes = four ^ 0x5c5c5c5c;
  return (
    ((four - 0x20202020) & ~four) |
    ((quotes - 0x01010101) & ~quotes) |
    ((backslashes - 0x01010101) & ~backslashes)
  );
}

/**
 * Scans lines of one buffer after the other, without copying or parsing them. The bytes must be valid UTF-8, and the
 * byte at a line's end must be its newline: no JSON holds one, so every loop stops there.
 */
export class RecordScan {
  /** The leaves of the last line, in order. */
  readonly leaves: LeafSpan[] = [];
  /** Where the values of the last event begin and end: at, data, hash, prev, runId, seq, type, v. */
  readonly starts: Int32Array = new Int32Array(EVENT_FIELDS.length);
  readonly ends: Int32Array = new Int32Array(EVENT_FIELDS.length);
  /** The first byte that is not as it must be. */
  bad = -1;
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(this.#bytes.buffer);
  #escaped = false;

  /** True for a line that is exactly the canonical bytes of an event; else `bad` is set. */
  event(bytes: Buffer, start: number, end: number): boolean {
    this.#begin(bytes);
    let at = start;
    for (let index = 0; index < EVENT_FIELDS.length; index += 1) {
      at = this.#literal(at, EVENT_FIELDS[index] ?? CLOSE);
      if (at === -1) return false;
      this.starts[index] = at;
      at = this.#value(at, 1, index === 1);
      if (at === -1) return false;
      this.ends[index] = at;
    }
    return this.#literal(at, CLOSE) === end || this.#ends(at, end);
  }

  /** True for a line that is canonical JSON of any kind; else `bad` is set. */
  canonical(bytes: Buffer, start: number, end: number): boolean {
    this.#begin(bytes);
    const at = this.#value(start, 0, false);
    return at !== -1 && (at === end || this.#ends(at, end));
  }

  #begin(bytes: Buffer): void {
    if (bytes !== this.#bytes) this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#bytes = bytes;
    this.leaves.length = 0;
    this.bad = -1;
  }

  #fail(at: number): -1 {
    this.bad = at;
    return -1;
  }

  /** The line goes on, or is over, where it should not. */
  #ends(at: number, end: number): false {
    this.bad = Math.min(at, end);
    return false;
  }

  #literal(at: number, text: Uint8Array): number {
    for (let index = 0; index < text.length; index += 1) {
      if (this.#bytes[at + index] !== text[index]) return this.#fail(at + index);
    }
    return at + text.length;
  }

  /** The end of the value at `at`. `open` says whether sealed leaves may stand here. */
  #value(at: number, depth: number, open: boolean): number {
    switch (this.#bytes[at]) {
      case QUOTE:
        return this.#string(at);
      case 123:
        return depth > MAX_DEPTH ? this.#fail(at) : this.#object(at, depth, open);
      case 91:
        return depth > MAX_DEPTH ? this.#fail(at) : this.#array(at, depth, open);
      case 116:
        return this.#literal(at, TRUE);
      case 102:
        return this.#literal(at, FALSE);
      case 110:
        return this.#literal(at, NULL);
      default:
        return this.#number(at);
    }
  }

  #string(start: number): number {
    const bytes = this.#bytes;
    this.#escaped = false;
    for (let at = start + 1; ; at += 1) {
      at = this.#plainEnd(at);
      if (bytes[at] === QUOTE) return at + 1;
      if (bytes[at] !== BACKSLASH) return this.#fail(at);
      this.#escaped = true;
      if (SHORT_ESCAPES.has(bytes[at + 1] ?? 0)) at += 1;
      else if (this.#isLongEscape(at)) at += 5;
      else return this.#fail(at);
    }
  }

  /** The first byte from `at` on that ends or interrupts a string; eight are looked at together while there are eight. */
  #plainEnd(start: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const last = bytes.length - 8;
    let at = start;
    while (
      at <= last &&
      ((specials(view.getInt32(at, true)) | specials(view.getInt32(at + 4, true))) & HIGH_BITS) === 0
    )
      at += 8;
    if (at <= last && (specials(view.getInt32(at, true)) & HIGH_BITS) === 0) at += 4;
    while (SPECIAL[bytes[at] ?? 0] === 0) at += 1;
    return at;
  }

  /** `\u00` and two lower case digits, for a control character that has no short escape. */
  #isLongEscape(at: number): boolean {
    const text = String.fromCharCode(...this.#bytes.subarray(at, at + 6));
    return /^\\u00[01][0-9a-f]$/.test(text) && !SHORT_ESCAPED.has(Number.parseInt(text.slice(4), 16));
  }

  #array(start: number, depth: number, open: boolean): number {
    const bytes = this.#bytes;
    if (bytes[start + 1] === 93) return start + 2;
    for (let at = start + 1; ; at += 1) {
      at = this.#value(at, depth + 1, open);
      if (at === -1) return -1;
      if (bytes[at] === 93) return at + 1;
      if (bytes[at] !== COMMA) return this.#fail(at);
    }
  }

  #object(start: number, depth: number, open: boolean): number {
    const bytes = this.#bytes;
    if (bytes[start + 1] === 125) return start + 2;
    let before = -1;
    let beforeEscaped = false;
    for (let at = start + 1; ; at += 1) {
      if (bytes[at] !== QUOTE) return this.#fail(at);
      const keyEnd = this.#string(at);
      if (keyEnd === -1) return -1;
      const escaped = this.#escaped;
      if (open && bytes[at + 1] === 36 && this.#literal(at, SEALED) === keyEnd)
        return before === -1 ? this.#leaf(start, keyEnd, depth) : this.#fail(at);
      if (before !== -1 && !this.#rises(before, at, escaped || beforeEscaped)) return this.#fail(at);
      if (bytes[keyEnd] !== 58) return this.#fail(keyEnd);
      before = at;
      beforeEscaped = escaped;
      at = this.#value(keyEnd + 1, depth + 1, open);
      if (at === -1) return -1;
      if (bytes[at] === 125) return at + 1;
      if (bytes[at] !== COMMA) return this.#fail(at);
    }
  }

  /**
   * True where the key at `left` is below the one at `right`, by UTF-16 code unit. Bytes of UTF-8
   * compare the same way, but for what stands above the surrogates, and for escapes.
   */
  #rises(left: number, right: number, escaped: boolean): boolean {
    const bytes = this.#bytes;
    if (escaped) return this.#text(left) < this.#text(right);
    let index = 1;
    while (bytes[left + index] === bytes[right + index] && bytes[left + index] !== QUOTE) index += 1;
    const one = bytes[left + index] ?? 0;
    const two = bytes[right + index] ?? 0;
    if (two === QUOTE) return false;
    if (one === QUOTE) return true;
    return one >= 0xee || two >= 0xee ? this.#text(left) < this.#text(right) : one < two;
  }

  #text(start: number): string {
    return String(JSON.parse(this.#bytes.toString("utf8", start, this.#string(start))));
  }

  /** Exactly `{"$sealed":string,"salt":string,"value":any}`, the last two optional: nothing else may hide in a leaf. */
  #leaf(start: number, keyEnd: number, depth: number): number {
    const bytes = this.#bytes;
    if (bytes[keyEnd] !== 58) return this.#fail(keyEnd);
    const sealedEnd = this.#textEnd(keyEnd + 1);
    if (sealedEnd === -1) return -1;
    let at = sealedEnd;
    let saltStart = -1;
    let saltEnd = -1;
    if (bytes[at] === COMMA && bytes[at + 2] === 115) {
      saltStart = this.#literal(at, SALT) + 1;
      at = saltStart === 0 ? -1 : this.#textEnd(saltStart - 1);
      saltEnd = at - 1;
    }
    let valueStart = -1;
    if (at !== -1 && bytes[at] === COMMA) {
      valueStart = this.#literal(at, VALUE);
      at = valueStart === -1 ? -1 : this.#value(valueStart, depth + 1, false);
    }
    const end = at === -1 ? -1 : this.#literal(at, CLOSE);
    if (end !== -1)
      this.leaves.push({
        start,
        end,
        sealedEnd,
        saltStart,
        saltEnd,
        valueStart,
        valueEnd: valueStart === -1 ? -1 : at,
      });
    return end;
  }

  #textEnd(at: number): number {
    return this.#bytes[at] === QUOTE ? this.#string(at) : this.#fail(at);
  }

  /** A number as ECMAScript writes it. Those of few digits have one spelling; the rest are written again to see. */
  #number(start: number): number {
    const bytes = this.#bytes;
    const first = bytes[start] === MINUS ? start + 1 : start;
    let at = this.#digits(first);
    const whole = at - first;
    let digits = whole;
    let plain = whole > 0 && (bytes[first] !== ZERO || whole === 1);
    if (bytes[at] === POINT) {
      const fraction = at + 1;
      at = this.#digits(fraction);
      digits += at - fraction;
      // A fraction ends in a digit that counts, and what is below 1e-6 has an exponent.
      plain &&=
        at > fraction && bytes[at - 1] !== ZERO && (bytes[first] !== ZERO || bytes[fraction] !== ZERO);
    } else if (whole === 1 && first > start && bytes[first] === ZERO) return this.#fail(first);
    if (plain && digits <= SURE_DIGITS && NUMBER_BYTES[bytes[at] ?? 0] === 0) return at;
    while (NUMBER_BYTES[bytes[at] ?? 0] === 1) at += 1;
    const text = bytes.toString("latin1", start, Math.min(at, start + MAX_NUMBER_BYTES));
    return at > start && String(Number(text)) === text ? at : this.#fail(start);
  }

  #digits(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    for (let byte = bytes[at] ?? 0; byte >= ZERO && byte <= NINE; byte = bytes[at] ?? 0) at += 1;
    return at;
  }
}
