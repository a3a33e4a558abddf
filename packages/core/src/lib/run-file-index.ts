/** What the files of a folder of runs hold, so that a list reads only what changed. */

import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describeThrown } from "./describe-thrown.ts";
import { sha256 } from "./digest.ts";
import { replaceFile, stampOf } from "./durable-file.ts";
import { OpenFunctionsError, StoreError } from "./errors.ts";
import { isCode } from "./file-lock.ts";
import { isPlainObject } from "./json.ts";
import type { Logger } from "./logger.ts";
import { isEnded } from "./run-append.ts";
import { RunFile } from "./run-file.ts";
import type { RunSummary } from "./run-query.ts";

/** A run and the file it is in. */
export interface IndexedRun extends RunSummary {
  /** The file's name. */
  readonly file: string;
}

const SUFFIX = ".jsonl";
/** Ids that are file names on every system, whether or not it tells upper case from lower. */
const FILE_SAFE = /^[a-z0-9][a-z0-9-]{7,99}$/;

/** The name of the file of a run. */
export function runFileName(runId: string): string {
  return `${FILE_SAFE.test(runId) ? runId : `_${sha256(runId).slice("sha256:".length)}`}${SUFFIX}`;
}

type Entry = IndexedRun & { readonly stamp: string };

/**
 * The index of one folder. Runs that ended are kept in `index.json` beside them, with the state their files had; when
 * that is missing, damaged or behind, the files tell.
 */
export class RunFileIndex {
  readonly #folder: string;
  readonly #logger: Logger;
  #entries: Map<string, Entry> | undefined;

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  /** All runs whose files can be read; of the others the logger hears. `opened` gives a file that is in use already. */
  async runs(opened: (file: string) => RunFile | undefined): Promise<readonly IndexedRun[]> {
    const known = (this.#entries ??= await this.#load());
    const files = (await namesIn(this.#folder)).filter((name) => name.endsWith(SUFFIX));
    const entries = await Promise.all(files.map((file) => this.#entry(file, known.get(file), opened)));
    const found = entries.filter((entry) => entry !== undefined);
    this.#entries = new Map(found.map((entry) => [entry.file, entry]));
    if (!sameRuns(ended(known.values()), ended(found))) await this.#save(ended(found));
    return found;
  }

  async #entry(
    file: string,
    known: Entry | undefined,
    opened: (file: string) => RunFile | undefined,
  ): Promise<Entry | undefined> {
    const path = join(this.#folder, file);
    try {
      const stamp = (await stampOf(path))?.text;
      if (stamp === undefined) return undefined;
      if (known?.stamp === stamp) return known;
      const summary = await (opened(file) ?? new RunFile(path)).summary();
      if (summary === undefined) return undefined;
      if (runFileName(summary.runId) === file) return { ...summary, file, stamp };
      throw new StoreError(`"${path}" holds run "${summary.runId}", but is not named after it.`, {
        code: "store_corrupt",
      });
    } catch (cause) {
      const code = OpenFunctionsError.is(cause) ? cause.code : "store_failed";
      this.#logger.error(describeThrown(cause), { code, file });
      return undefined;
    }
  }

  async #load(): Promise<Map<string, Entry>> {
    try {
      const index: unknown = JSON.parse(await readFile(this.#path, "utf8"));
      const runs = isPlainObject(index) && index["version"] === VERSION ? index["runs"] : [];
      return new Map((Array.isArray(runs) ? runs.filter(isEntry) : []).map((entry) => [entry.file, entry]));
    } catch {
      // None yet, or a damaged one: it is made anew from the files.
      return new Map();
    }
  }

  async #save(runs: readonly Entry[]): Promise<void> {
    try {
      await replaceFile(this.#path, `${JSON.stringify({ version: VERSION, runs })}\n`);
    } catch (cause) {
      // Lists are right without it, only slower.
      this.#logger.warn("The index of runs could not be written.", { cause: describeThrown(cause) });
    }
  }

  get #path(): string {
    return join(this.#folder, "index.json");
  }
}

const VERSION = 1;

function ended(entries: Iterable<Entry>): readonly Entry[] {
  return [...entries].filter((entry) => isEnded(entry.status));
}

function sameRuns(before: readonly Entry[], after: readonly Entry[]): boolean {
  const stamps = new Set(before.map((entry) => entry.stamp));
  return before.length === after.length && after.every((entry) => stamps.has(entry.stamp));
}

function isEntry(value: unknown): value is Entry {
  const texts = ["file", "stamp", "runId", "startedAt", "status", "kind", "actor", "correlationId"];
  return isPlainObject(value) && texts.every((field) => typeof value[field] === "string");
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (isCode(cause, "ENOENT")) return [];
    throw cause;
  }
}
