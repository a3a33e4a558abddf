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
const BRACE = 125;
const QUOTE = 34;
/** The lengths of `,"hash":`, `,"v":` and `{"$sealed":"`. */
const HASH_NAME = 8;
const VERSION_NAME = 5;
const SEALED_NAME = 12;
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

  read({ bytes, start, end }: LinePlace): LineReading {
    if (!isUtf8(bytes.subarray(start, end)))
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
    const [
      atStart = 0,
      dataStart = 0,
      hashStart = 0,
      prevStart = 0,
      runStart = 0,
      seqStart = 0,
      typeStart = 0,
    ] = this.#scan.starts;
    const [, dataEnd = 0, hashEnd = 0, prevEnd = 0, runEnd = 0, seqEnd = 0, typeEnd = 0] = this.#scan.ends;
    const version = Number(bytes.toString("latin1", typeEnd + VERSION_NAME, end - 1));
    const seq = Number(bytes.toString("latin1", seqStart, seqEnd));
    const strange = [atStart, hashStart, prevStart, runStart, typeStart].find((at) => bytes[at] !== QUOTE);
    if (
      strange !== undefined ||
      bytes[dataStart] !== 123 ||
      !Number.isSafeInteger(seq) ||
      Number.isNaN(version)
    )
      return {
        kind: "malformed",
        at: (strange ?? dataStart) - start,
        message: "A field has the wrong type.",
      };
    if (version !== 1) return unsupported(version);
    const computed = this.#hashEvent(bytes, { start, end, hashStart, hashEnd });
    const { withoutValue, wrong } = this.#checkLeaves(bytes);
    const parse = (): Readonly<Record<string, unknown>> =>
      Object(JSON.parse(bytes.toString("utf8", dataStart, dataEnd)));
    return {
      kind: "event",
      runId: this.#readRunId(bytes.toString("latin1", runStart, runEnd)),
      seq,
      type: bytes.toString("latin1", typeStart + 1, typeEnd - 1),
      prev: bytes.toString("latin1", prevStart + 1, prevEnd - 1),
      stored: bytes.toString("latin1", hashStart + 1, hashEnd - 1) as Digest, // Proof: only compared; a text that is no digest equals none
      computed,
      wrongLeaves: wrong.length === 0 ? NONE : pathsOf(parse(), wrong),
      withoutValue,
      parse,
    };
  }

  /** The run's id is the same on every line, so its text is made once. */
  #readRunId(raw: string): string {
    if (raw !== this.#rawRunId) {
      this.#rawRunId = raw;
      this.#runId = String(JSON.parse(Buffer.from(raw, "latin1").toString("utf8")));
    }
    return this.#runId;
  }

  /** The hash of the line without its hash, every leaf reduced to its digest (see `hashEvent`). */
  #hashEvent(
    bytes: Buffer,
    place: {
      readonly start: number;
      readonly end: number;
      readonly hashStart: number;
      readonly hashEnd: number;
    },
  ): Digest {
    const { start, end, hashStart, hashEnd } = place;
    const scratch = this.#room(end - start);
    let length = PREFIX.length;
    let from = start;
    for (const leaf of this.#scan.leaves) {
      length += bytes.copy(scratch, length, from, leaf.sealedEnd);
      from = leaf.end - 1;
    }
    length += bytes.copy(scratch, length, from, hashStart - HASH_NAME);
    length += bytes.copy(scratch, length, hashEnd, end);
    scratch[length] = BRACE;
    return `sha256:${hash("sha256", scratch.subarray(0, length + 1), "hex")}`;
  }

  #checkLeaves(bytes: Buffer): { readonly withoutValue: number; readonly wrong: readonly number[] } {
    const { leaves } = this.#scan;
    if (leaves.length === 0) return NO_LEAVES;
    const wrong: number[] = [];
    let withoutValue = 0;
    for (const [index, leaf] of leaves.entries()) {
      if (leaf.valueStart === -1) withoutValue += 1;
      if (!this.#fits(bytes, leaf)) wrong.push(index);
    }
    return { withoutValue, wrong };
  }

  /** A value has its salt, and both together have the digest. A salt alone proves nothing yet. */
  #fits(bytes: Buffer, leaf: LeafSpan): boolean {
    const { saltStart, saltEnd, valueStart, valueEnd, start, sealedEnd } = leaf;
    const scratch = this.#room(valueEnd - valueStart + saltEnd - saltStart);
    let length = PREFIX.length;
    for (let at = saltStart; at < saltEnd; at += 2) {
      const high = hexDigit(bytes[at]);
      const low = hexDigit(bytes[at + 1]);
      if (high === -1 || low === -1 || at + 1 >= saltEnd) return false;
      scratch[length] = high * 16 + low;
      length += 1;
    }
    if (valueStart === -1) return true;
    if (saltStart === -1) return false;
    length += bytes.copy(scratch, length, valueStart, valueEnd);
    const found = hash("sha256", scratch.subarray(PREFIX.length, length), "hex");
    return bytes.toString("latin1", start + SEALED_NAME, sealedEnd - 1) === `sha256:${found}`;
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

/** The value of a lower case hexadecimal digit, else -1. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 48 && byte <= 57) return byte - 48;
  return byte >= 97 && byte <= 102 ? byte - 87 : -1;
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
