/** What one line of a record file says, and what its bytes really hash to. */

import { isUtf8 } from "node:buffer";
import { hash } from "node:crypto";
import type { Digest } from "./digest.ts";
import { isPlainObject } from "./json.ts";
import { isRedactionLine, isSealLine } from "./record-file.ts";
import type { RedactionLine, SealLine } from "./record-line.ts";
import type { LinePlace } from "./record-lines.ts";
import { type LeafSpan, RecordScan } from "./record-scan.ts";

/** An event of a log, as far as its chain is concerned. */
export interface EventReading {
  readonly kind: "event";
  readonly runId: string;
  readonly seq: number;
  readonly type: string;
  readonly prev: string;
  /** The hash it names, and the one its bytes have. */
  readonly stored: Digest;
  readonly computed: Digest;
  /** JSON pointers of the leaves whose value does not fit. */
  readonly wrongLeaves: readonly string[];
  readonly withoutValue: number;
  /** Its data, parsed. Works until the next line is read. */
  parse(): Readonly<Record<string, unknown>>;
}

/** One line: an event, another line, or bytes that are neither, wrong at the offset `at` of the line. */
export type LineReading =
  | EventReading
  | { readonly kind: "other"; readonly value: SealLine | RedactionLine }
  | { readonly kind: "malformed" | "unsupported"; readonly at: number; readonly message: string };

const PREFIX = Buffer.from('{"t":"event/1","v":');
const DIGEST_TAG = Buffer.from("sha256:");
const BRACE = 125;
const QUOTE = 34;
/** The fields of an event in the order in which they stand, and the byte each begins with, numbers aside. */
const FIELD = { data: 1, hash: 2, prev: 3, runId: 4, seq: 5, type: 6, version: 7 } as const;
const FIRST_BYTES = Uint8Array.of(QUOTE, 123, QUOTE, QUOTE, QUOTE, 0, QUOTE, 0);
/** The lengths of `,"hash":` and `{"$sealed":"`. */
const HASH_NAME = 8;
const SEALED_NAME = 12;
/** The values of lower case hexadecimal digits; 255 for every other byte. */
const HEX = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(byte));
  return digit === -1 ? 255 : digit;
});
const NONE: readonly string[] = [];
const NO_LEAVES = { withoutValue: 0, wrong: [] } as const;

/** Reads line after line. */
export class EventReader {
  readonly #scan = new RecordScan();
  #scratch: Buffer = Buffer.alloc(8192);
  #rawRunId = "";
  #runId = "";

  constructor() {
    PREFIX.copy(this.#scratch);
  }

  read({ bytes, start, end, utf8 }: LinePlace): LineReading {
    if (!utf8 && !isUtf8(bytes.subarray(start, end)))
      return { kind: "malformed", at: 0, message: "The line is not UTF-8." };
    return this.#scan.event(bytes, start, end)
      ? this.#readEvent(bytes, start, end)
      : this.#readOther(bytes, start, end);
  }

  #readOther(bytes: Buffer, start: number, end: number): LineReading {
    const at = this.#scan.bad - start;
    if (!this.#scan.canonical(bytes, start, end))
      return { kind: "malformed", at: this.#scan.bad - start, message: "The line is not canonical JSON." };
    const value: unknown = JSON.parse(bytes.toString("utf8", start, end));
    if (isPlainObject(value) && (isSealLine(value) || isRedactionLine(value)))
      return { kind: "other", value };
    if (isPlainObject(value) && typeof value["v"] === "number" && value["v"] !== 1)
      return unsupported(value["v"]);
    return { kind: "malformed", at, message: "The line is no event of version 1, no seal and no redaction." };
  }

  #readEvent(bytes: Buffer, start: number, end: number): LineReading {
    const from = this.#scan.starts;
    const to = this.#scan.ends;
    const seq = numberAt(bytes, from[FIELD.seq] ?? 0, to[FIELD.seq] ?? 0);
    const version = numberAt(bytes, from[FIELD.version] ?? 0, to[FIELD.version] ?? 0);
    let wrong = Number.isSafeInteger(seq) && !Number.isNaN(version) ? -1 : FIELD.seq;
    for (let index = 0; index < FIRST_BYTES.length; index += 1) {
      if (FIRST_BYTES[index] !== 0 && bytes[from[index] ?? 0] !== FIRST_BYTES[index]) wrong = index;
    }
    if (wrong !== -1)
      return { kind: "malformed", at: (from[wrong] ?? 0) - start, message: "A field has the wrong type." };
    if (version !== 1) return unsupported(version);
    bytes.copy(this.#room(end - start), PREFIX.length, start, end);
    const leaves = this.#checkLeaves(bytes, start);
    const hex = this.#hashEvent(bytes, start, end);
    // Hash, prev, run id and type stand one after the other: one text, of which each is a slice, costs least.
    const origin = from[FIELD.hash] ?? 0;
    const tail = bytes.toString("latin1", origin, end);
    const text = (field: number): string =>
      tail.slice((from[field] ?? 0) + 1 - origin, (to[field] ?? 0) - 1 - origin);
    const stored = text(FIELD.hash) as Digest; // Proof: only compared; a text that is no digest equals none
    const parse = (): Readonly<Record<string, unknown>> =>
      Object(JSON.parse(bytes.toString("utf8", from[FIELD.data], to[FIELD.data])));
    return {
      kind: "event",
      runId: this.#readRunId(text(FIELD.runId)),
      seq,
      type: text(FIELD.type),
      prev: text(FIELD.prev),
      stored,
      computed: isDigestAt(bytes, { start: origin + 1, end: (to[FIELD.hash] ?? 0) - 1 }, hex)
        ? stored
        : `sha256:${hex}`,
      wrongLeaves: leaves.wrong.length === 0 ? NONE : pathsOf(parse(), leaves.wrong),
      withoutValue: leaves.withoutValue,
      parse,
    };
  }

  /** The run's id is the same on every line, so its text is made once. */
  #readRunId(raw: string): string {
    if (raw !== this.#rawRunId) {
      this.#rawRunId = raw;
      this.#runId = String(JSON.parse(`"${Buffer.from(raw, "latin1").toString("utf8")}"`));
    }
    return this.#runId;
  }

  /**
   * The hash of the line without its hash, every leaf reduced to its digest (see `hashEvent`). The line stands in the
   * scratch already; what follows the first leaf is moved up.
   */
  #hashEvent(bytes: Buffer, start: number, end: number): string {
    const scratch = this.#scratch;
    const { leaves } = this.#scan;
    const hashStart = (this.#scan.starts[FIELD.hash] ?? 0) - HASH_NAME;
    const hashEnd = this.#scan.ends[FIELD.hash] ?? 0;
    let length = PREFIX.length + (leaves[0]?.sealedEnd ?? hashStart) - start;
    for (let index = 0; index < leaves.length; index += 1) {
      const next = leaves[index + 1]?.sealedEnd ?? hashStart;
      // Few bytes as a rule, where a call costs more than they do.
      for (let at = (leaves[index]?.end ?? 0) - 1; at < next; at += 1) {
        scratch[length] = bytes[at] ?? 0;
        length += 1;
      }
    }
    length += bytes.copy(scratch, length, hashEnd, end);
    scratch[length] = BRACE;
    return hash("sha256", scratch.subarray(0, length + 1), "hex");
  }

  #checkLeaves(
    bytes: Buffer,
    start: number,
  ): { readonly withoutValue: number; readonly wrong: readonly number[] } {
    const { leaves } = this.#scan;
    if (leaves.length === 0) return NO_LEAVES;
    const wrong: number[] = [];
    let withoutValue = 0;
    for (let index = 0; index < leaves.length; index += 1) {
      const leaf = leaves[index];
      if (leaf?.valueStart === -1) withoutValue += 1;
      if (leaf !== undefined && !this.#fits(bytes, start, leaf)) wrong.push(index);
    }
    return { withoutValue, wrong };
  }

  /** A value has its salt, and both together have the digest. A salt alone proves nothing yet. */
  #fits(bytes: Buffer, start: number, leaf: LeafSpan): boolean {
    const { saltStart, saltEnd, valueStart, valueEnd } = leaf;
    const saltBytes = (saltEnd - saltStart) / 2;
    if (!Number.isInteger(saltBytes)) return false;
    // In the scratch, the salt takes the place of the bytes before the value: twice as many stand there as text.
    const scratch = this.#scratch;
    const from = PREFIX.length + valueStart - start - saltBytes;
    for (let index = 0; index < saltBytes; index += 1) {
      const high = HEX[bytes[saltStart + 2 * index] ?? 0] ?? 255;
      const low = HEX[bytes[saltStart + 2 * index + 1] ?? 0] ?? 255;
      if (high === 255 || low === 255) return false;
      if (valueStart !== -1) scratch[from + index] = high * 16 + low;
    }
    if (valueStart === -1) return true;
    if (saltStart === -1) return false;
    const found = hash("sha256", scratch.subarray(from, PREFIX.length + valueEnd - start), "hex");
    return isDigestAt(bytes, { start: leaf.start + SEALED_NAME, end: leaf.sealedEnd - 1 }, found);
  }

  #room(bytes: number): Buffer {
    const wanted = bytes + PREFIX.length + 1;
    if (this.#scratch.length < wanted) {
      this.#scratch = Buffer.alloc(wanted * 2);
      PREFIX.copy(this.#scratch);
    }
    return this.#scratch;
  }
}

function unsupported(version: number): LineReading {
  const message = `The event has version ${version}; this program verifies version 1.`;
  return { kind: "unsupported", at: 0, message };
}

/** True where the bytes are the digest with these hexadecimal digits. Makes no text, which would cost as much as a hash. */
function isDigestAt(
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  hex: string,
): boolean {
  const digits = start + DIGEST_TAG.length;
  if (end !== digits + hex.length) return false;
  for (let index = 0; index < DIGEST_TAG.length; index += 1)
    if (bytes[start + index] !== DIGEST_TAG[index]) return false;
  for (let index = 0; index < hex.length; index += 1)
    if (bytes[digits + index] !== hex.charCodeAt(index)) return false;
  return true;
}

/** A number that stands in the bytes; NaN where something else does. */
function numberAt(bytes: Buffer, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 48 || byte > 57) return Number(bytes.toString("latin1", start, end));
    value = value * 10 + byte - 48;
  }
  return value;
}

/** The JSON pointers of the leaves with these numbers, counted in the order in which they stand. */
function pathsOf(data: unknown, wanted: readonly number[]): readonly string[] {
  const all: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    if ("$sealed" in value) all.push(path);
    else if (Array.isArray(value))
      for (const [index, item] of value.entries()) walk(item, `${path}/${index}`);
    // JSON.parse moves keys that are numbers to the front; the file has them by code unit.
    else
      for (const key of Object.keys(value).sort())
        walk(Reflect.get(value, key), `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  };
  walk(data, "/data");
  return wanted.map((index) => all[index] ?? "");
}
