/** Runs in a folder, one record file each, that people and other programs can read. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { OpenFunctionsError, StoreError } from "./errors.ts";
import { withFileLock } from "./file-lock.ts";
import { type Logger, silentLogger } from "./logger.ts";
import type { RedactionLine, RunAnnex } from "./record-line.ts";
import { checkRunId, runNotFound } from "./run-append.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { RunFile } from "./run-file.ts";
import { RunFileIndex, runFileName } from "./run-file-index.ts";
import { foldRun } from "./run-fold.ts";
import { type RunPage, type RunQuery, pageOfRuns, planRunQuery } from "./run-query.ts";
import type { RunRecord } from "./run-record.ts";
import type { AppendOptions, RunStore } from "./run-store.ts";
import { RunBells, watchRun } from "./run-watch.ts";
import { storeClosed } from "./store.ts";

/** Options of `createFileRunStore`. */
export interface FileRunStoreOptions {
  /** The files are `<dir>/runs/*.jsonl`. A library has no default folder. */
  readonly dir: string;
  /** Hears of files that a list had to leave out. */
  readonly logger?: Logger;
}

/**
 * A run store in `<dir>/runs`, one record file per run; nothing is created before the first append, and several
 * processes of one machine may share it. What is durable:
 *
 * - An append that resolved has survived the end of the process.
 * - It has survived a power cut, with all before it, where it was to be `durable` (the loop asks for that at the intent
 *   of a write, an approval, a suspension and the end). The others are with the next of these.
 * - A crash can leave a part of the last append: whole events are kept, a torn line is ignored and cut off by the next
 *   append.
 *
 * A line that is damaged makes calls for its run `store_corrupt` with the line's number; lists leave that run out.
 */
export function createFileRunStore(options: FileRunStoreOptions): RunStore {
  return new FileRunStore(join(options.dir, "runs"), options.logger ?? silentLogger);
}

/** How often to look for appends of other processes. */
const POLL_MS = 250;
/** Files whose state is kept between calls. */
const MAX_OPENED = 256;

class FileRunStore implements RunStore {
  readonly #folder: string;
  readonly #index: RunFileIndex;
  readonly #opened = new Map<string, RunFile>();
  readonly #bells = new RunBells();
  readonly #writing = new Set<Promise<unknown>>();
  #closed = false;

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#index = new RunFileIndex(folder, logger);
  }

  async append(
    runId: string,
    events: readonly AnyRunEvent[],
    { expectedSeq, seal, durable = true }: AppendOptions,
  ): Promise<void> {
    const file = this.#file(runId);
    const batch = { runId, events, expectedSeq, durable, ...(seal === undefined ? {} : { seal }) };
    await makeFolder(this.#folder);
    await this.#locked(runId, () => file.append(batch));
  }

  async *read(runId: string, fromSeq: number = 0): AsyncGenerator<AnyRunEvent> {
    yield* await this.#file(runId).events(fromSeq);
  }

  async annex(runId: string): Promise<RunAnnex> {
    const { seal, redactions } = await this.#file(runId).annex();
    return seal === undefined ? { redactions } : { seal, redactions };
  }

  async redact(runId: string, redaction: RedactionLine): Promise<void> {
    const file = this.#file(runId);
    if (!(await file.exists())) throw runNotFound(runId);
    await this.#locked(runId, () => file.redact(runId, redaction));
  }

  async get(runId: string): Promise<RunRecord | undefined> {
    const events = await this.#file(runId).events(0);
    return events.length === 0 ? undefined : foldRun(events);
  }

  async list(query?: RunQuery): Promise<RunPage> {
    this.#refuseClosed();
    const plan = planRunQuery(query);
    const { runs, ...rest } = pageOfRuns(await this.#index.runs((name) => this.#opened.get(name)), plan);
    const records = await Promise.all(runs.map(({ runId }) => this.#recordOf(runId)));
    return { runs: records.filter((record) => record !== undefined), ...rest };
  }

  watch(runId: string, fromSeq: number, signal?: AbortSignal): AsyncIterable<AnyRunEvent> {
    const source = {
      bells: this.#bells,
      pollMs: POLL_MS,
      read: (id: string, from: number) => this.read(id, from),
      status: async (id: string) => (await this.#file(id).summary())?.status,
    };
    return watchRun(source, { runId, fromSeq, signal });
  }

  async remove(runId: string): Promise<boolean> {
    const file = this.#file(runId);
    // No read creates anything, a lock file included.
    if (!(await file.exists())) return false;
    return this.#locked(runId, () => file.remove());
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#bells.ring();
    await Promise.allSettled(this.#writing);
  }

  /** The record of a listed run; undefined where it was removed or damaged since. */
  async #recordOf(runId: string): Promise<RunRecord | undefined> {
    try {
      return await this.get(runId);
    } catch (cause) {
      if (OpenFunctionsError.is(cause) && cause.code === "store_corrupt") return undefined;
      throw cause;
    }
  }

  async #locked<T>(runId: string, work: () => Promise<T>): Promise<T> {
    const writing = withFileLock(`${this.#pathOf(runFileName(runId))}.lock`, work);
    this.#writing.add(writing);
    try {
      return await writing;
    } finally {
      this.#writing.delete(writing);
      this.#bells.ring(runId);
    }
  }

  #file(runId: string): RunFile {
    checkRunId(runId);
    this.#refuseClosed();
    const name = runFileName(runId);
    const file = this.#opened.get(name) ?? new RunFile(this.#pathOf(name));
    // The one that was used last comes last.
    this.#opened.delete(name);
    this.#opened.set(name, file);
    const [oldest] = this.#opened.keys();
    if (this.#opened.size > MAX_OPENED && oldest !== undefined) this.#opened.delete(oldest);
    return file;
  }

  #pathOf(name: string): string {
    return join(this.#folder, name);
  }

  #refuseClosed(): void {
    if (this.#closed) throw storeClosed();
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new StoreError(`The folder "${folder}" could not be made.`, { code: "store_failed", cause });
  }
}
