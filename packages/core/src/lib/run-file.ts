/** One run as a record file: JSON lines that are only ever appended to, but for a redaction. */

import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile, stampOf, syncFolder } from "./durable-file.ts";
import { StoreError } from "./errors.ts";
import { canonicalJson, isPlainObject } from "./json.ts";
import type { RecordLine, RedactionLine, SealLine } from "./record-line.ts";
import { redactEvent } from "./redact-event.ts";
import {
  type HeldRun,
  type RunBatch,
  checkRedaction,
  isEnded,
  runNotFound,
  statusAfter,
} from "./run-append.ts";
import { nextStatus } from "./run-status.ts";
import type { AnyRunEvent, RunEvent } from "./run-event.ts";
import { type RunSummary, summarizeRun } from "./run-query.ts";
import type { RunStatus } from "./run-record.ts";

/** What was read of a file so far. It grows with the file, so nothing is read twice. */
interface RunLines {
  /** Which file it was: a redaction replaces it. */
  readonly file: string;
  /** Up to the end of the last whole line. */
  bytes: number;
  /** Where each event begins. */
  readonly starts: number[];
  readonly redactions: RedactionLine[];
  first: RunEvent<"run.started"> | undefined;
  status: RunStatus | undefined;
  seal: SealLine | undefined;
}

/** Reads and writes one run's file. Calls wait for each other; writers hold the lock of the file. */
export class RunFile {
  readonly #path: string;
  #known: RunLines | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** What to find the run by; undefined where there is none. Throws `store_corrupt` for a line that is not valid. */
  summary(): Promise<RunSummary | undefined> {
    return this.#inTurn(async () => {
      const { first, status } = (await this.#refresh()) ?? {};
      return first === undefined || status === undefined ? undefined : summarizeRun(first, status);
    });
  }

  /** The events from a number on. */
  events(fromSeq: number): Promise<readonly AnyRunEvent[]> {
    return this.#inTurn(async () => {
      const known = await this.#refresh();
      const start = known?.starts[Math.max(0, fromSeq)];
      if (known === undefined || start === undefined) return [];
      const text = await this.#readText(start, known.bytes);
      const lines = text.split("\n").slice(0, known.starts.length - Math.max(0, fromSeq));
      return lines.map((line) => JSON.parse(line) as AnyRunEvent); // Proof: refresh has parsed these bytes as events
    });
  }

  /** The seal and the redactions. */
  annex(): Promise<Pick<RunLines, "seal" | "redactions">> {
    return this.#inTurn(async () => {
      const known = await this.#refresh();
      return { seal: known?.seal, redactions: [...(known?.redactions ?? [])] };
    });
  }

  /** Appends a batch that fits, after cutting off what a crash left behind. */
  append(batch: RunBatch): Promise<void> {
    return this.#inTurn(async () => {
      const known = await this.#refresh();
      statusAfter(batch, heldIn(known));
      const lines = batch.seal === undefined ? batch.events : [...batch.events, batch.seal];
      const { durable = true } = batch;
      await this.#write(Buffer.from(lines.map(toLine).join("")), { at: known?.bytes ?? 0, durable });
      if (known === undefined) await syncFolder(dirname(this.#path));
      await this.#refresh();
    });
  }

  /** Takes the value of one leaf away, and says so in a line behind the events. */
  redact(runId: string, redaction: RedactionLine): Promise<void> {
    return this.#inTurn(async () => {
      const known = await this.#refresh();
      if (known === undefined) throw runNotFound(runId);
      checkRedaction(redaction, { status: known.status ?? "running", redactions: known.redactions.length });
      const lines = (await this.#readText(0, known.bytes)).split("\n").slice(0, -1);
      const line =
        Number.isInteger(redaction.seq) && redaction.seq < known.starts.length
          ? lines[redaction.seq]
          : undefined;
      const event = line === undefined ? undefined : (JSON.parse(line) as AnyRunEvent); // Proof: refresh has parsed it
      lines[redaction.seq] = canonicalJson(redactEvent(event, redaction));
      await replaceFile(this.#path, [...lines, canonicalJson(redaction), ""].join("\n"));
    });
  }

  /** True where there is a file, whatever is in it. */
  exists(): Promise<boolean> {
    return this.#inTurn(async () => (await stampOf(this.#path)) !== undefined);
  }

  /** False where there was none. */
  remove(): Promise<boolean> {
    return this.#inTurn(async () => {
      const found = (await stampOf(this.#path)) !== undefined;
      if (found) await rm(this.#path, { force: true });
      this.#known = undefined;
      return found;
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work).catch((cause: unknown) => {
      throw isSystemError(cause) ? failed(this.#path, cause) : cause;
    });
    this.#queue = done.catch(() => {});
    return done;
  }

  /** Reads what was appended since, by whomever. */
  async #refresh(): Promise<RunLines | undefined> {
    const found = await stampOf(this.#path);
    if (found === undefined) return (this.#known = undefined);
    const known =
      this.#known?.file === found.file && this.#known.bytes <= found.size ? this.#known : startOf(found.file);
    this.#known = known;
    if (found.size > known.bytes) {
      // What follows the last newline was torn off by a crash, or is being written this moment.
      const bytes = await this.#readBytes(known.bytes, found.size);
      this.#take(known, bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1));
    }
    return known.starts.length === 0 ? undefined : known;
  }

  #take(known: RunLines, bytes: Buffer): void {
    for (let from = 0; from < bytes.length;) {
      const end = bytes.indexOf(NEWLINE, from);
      const line = parseLine(bytes.toString("utf8", from, end));
      if (line === undefined || !takeLine(known, line)) {
        this.#known = undefined;
        throw corrupt(this.#path, known);
      }
      known.bytes += end + 1 - from;
      from = end + 1;
    }
  }

  /** All of it or nothing, as long as the process lives. */
  async #write(
    bytes: Buffer,
    { at, durable }: { readonly at: number; readonly durable: boolean },
  ): Promise<void> {
    const handle = await open(this.#path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    try {
      await handle.truncate(at);
      await writeAll(handle, bytes, at);
      if (durable) await handle.sync();
    } catch (cause) {
      await handle.truncate(at);
      throw cause;
    } finally {
      await handle.close();
    }
  }

  async #readText(from: number, to: number): Promise<string> {
    return (await this.#readBytes(from, to)).toString("utf8");
  }

  async #readBytes(from: number, to: number): Promise<Buffer> {
    const handle = await open(this.#path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(to - from), 0, to - from, from);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  }
}

const NEWLINE = 0x0a;

function startOf(file: string): RunLines {
  return { file, bytes: 0, starts: [], redactions: [], first: undefined, status: undefined, seal: undefined };
}

function heldIn(known: RunLines | undefined): HeldRun | undefined {
  if (known?.status === undefined) return undefined;
  return {
    events: known.starts.length,
    status: known.status,
    sealed: known.seal !== undefined || known.redactions.length > 0,
  };
}

function toLine(line: RecordLine): string {
  return `${canonicalJson(line)}\n`;
}

function parseLine(text: string): RecordLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isPlainObject(line) && typeof line["type"] === "string"
      ? (line as unknown as RecordLine) // Proof: what else it must be is checked where it is taken
      : undefined;
  } catch {
    // Not JSON: the caller reports the line by its number.
    return undefined;
  }
}

/** False for a line that cannot stand here. */
function takeLine(known: RunLines, line: RecordLine): boolean {
  const ended = known.status !== undefined && isEnded(known.status);
  if (line.type === "redaction") {
    return ended && line.n === known.redactions.length && known.redactions.push(line) > 0;
  }
  if (line.type === "seal") {
    if (!ended || known.seal !== undefined || known.redactions.length > 0) return false;
    known.seal = line;
    return true;
  }
  if (ended) return false;
  if (line.seq !== known.starts.length || !isPlainObject(line.data)) return false;
  if (known.first === undefined) {
    if (line.type !== "run.started") return false;
    known.first = line;
  }
  if (line.runId !== known.first.runId) return false;
  known.starts.push(known.bytes);
  known.status = nextStatus(known.status, line);
  return true;
}

function corrupt(path: string, known: RunLines): StoreError {
  const line = known.starts.length + known.redactions.length + (known.seal === undefined ? 1 : 2);
  return new StoreError(
    `Line ${line} of "${path}" does not continue the record of a run. It was left as it is.`,
    {
      code: "store_corrupt",
      hint: "Mend or move the file away; other runs are not affected.",
      details: { path, line },
    },
  );
}

function failed(path: string, cause: unknown): StoreError {
  return new StoreError(`The run in "${path}" could not be read or written.`, {
    code: "store_failed",
    cause,
  });
}

function isSystemError(cause: unknown): boolean {
  return cause instanceof Error && "syscall" in cause;
}

async function writeAll(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await handle.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
  }
}
