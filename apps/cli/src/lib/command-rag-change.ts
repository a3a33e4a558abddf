/** `openfunctions rag add`, `remove` and `reindex`. */

import { readFile, stat } from "node:fs/promises";
import { basename, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { InputError, OpenFunctionsError } from "@openfunctions/core";
import type { IngestInput, IngestResult, Rag } from "@openfunctions/rag";
import { chooseEmbedder } from "./choose-embedder.ts";
import { CommandFailure, EXIT, note, oneLine, paint, print, printJson } from "./output.ts";
import { createProgressBar } from "./progress-bar.ts";
import { withDocuments } from "./with-documents.ts";

/** Options of `add`. */
export interface AddOptions {
  readonly embedder?: string;
  readonly json?: boolean;
}

/** What is read of one file at most: what the loaders take, and one byte to tell them. */
const MAX_BYTES = 25 * 1024 * 1024;

/** Puts files into the index; what cannot be read is told, and the others go in. */
export async function addFiles(files: readonly string[], options: AddOptions): Promise<void> {
  const results = await withDocuments(options.embedder, (rag) => ingestFiles(rag, files, options));
  if (options.json === true) printJson(results);
  if (results.length < files.length)
    throw new CommandFailure(
      `${files.length - results.length} of ${files.length} files did not go in.`,
      EXIT.failed,
    );
}

async function ingestFiles(
  rag: Rag,
  files: readonly string[],
  { json }: AddOptions,
): Promise<readonly IngestResult[]> {
  const bar = createProgressBar();
  const results: IngestResult[] = [];
  const warned = new Set<string>();
  const refuse = (file: string, error: unknown): void => {
    bar.clear();
    // What a system or a parser says holds names and text of others, line ends too.
    const what = error instanceof Error ? error.message : String(error);
    const hint = OpenFunctionsError.is(error) && error.hint !== undefined ? `\n${error.hint}` : "";
    note(paint("red", `${oneLine(`${file}: ${what}`)}${hint}`));
  };
  try {
    const inputs = readFiles(files, refuse);
    const many = rag.ingestMany(inputs, {
      onProgress: ({ sourceId, embedded, toEmbed }) =>
        bar.show(embedded, toEmbed, `embedded, ${basename(sourceId)}`),
      onError: (error, { sourceId }) => refuse(sourceId, error),
    });
    for await (const result of many) {
      results.push(result);
      bar.clear();
      if (json !== true) print(describeResult(result));
      for (const warning of result.warnings) {
        if (!warned.has(warning)) note(paint("yellow", `${oneLine(result.sourceId)}: ${oneLine(warning)}`));
        warned.add(warning);
      }
      bar.show(results.length, files.length, "files");
    }
  } finally {
    bar.clear();
  }
  return results;
}

function describeResult({ status, sourceId, documentId, chunks, embedded }: IngestResult): string {
  return oneLine(`${status}  ${documentId}  ${sourceId}  ${chunks} chunks, ${embedded} embedded`);
}

async function* readFiles(
  files: readonly string[],
  refuse: (file: string, error: unknown) => void,
): AsyncGenerator<IngestInput> {
  for (const file of files) {
    const sourceId = resolve(file);
    try {
      const { found, size, mtime } = await lookAt(sourceId);
      if (found === "folder")
        throw new InputError(`It is a folder; name its files, such as ${join(file, "*.md")}.`);
      // What a pipe or a device gives may never end.
      if (found === "other") throw new InputError("It is no file, but a pipe or a device.");
      if (size > MAX_BYTES)
        throw new InputError(`It has ${size} bytes; at most ${MAX_BYTES} are read.`, { code: "too_large" });
      const content = await readFile(sourceId);
      const type = extname(sourceId).slice(1).toLowerCase();
      const metadata = { name: basename(sourceId), type, modified: mtime.toISOString() };
      yield { sourceId, content, title: basename(sourceId), uri: pathToFileURL(sourceId).href, metadata };
    } catch (error) {
      refuse(file, error);
    }
  }
}

interface Found {
  readonly found: "file" | "folder" | "other";
  readonly size: number;
  readonly mtime: Date;
}

async function lookAt(path: string): Promise<Found> {
  try {
    const entry = await stat(path);
    const { size, mtime } = entry;
    return { found: entry.isFile() ? "file" : entry.isDirectory() ? "folder" : "other", size, mtime };
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT")
      throw new InputError("There is no such file.", { cause });
    throw cause;
  }
}

/** Takes a document out. */
export async function removeDocument(name: string): Promise<void> {
  await withDocuments(undefined, async (rag) => {
    if (await rag.deleteDocument(name)) return print(`Removed ${oneLine(name)}.`);
    for (const sourceId of new Set([resolve(name), name]))
      if ((await rag.deleteSource(sourceId)) > 0) return print(`Removed ${oneLine(sourceId)}.`);
    throw new CommandFailure(
      `There is no document "${oneLine(name)}"; openfunctions rag list shows what there is.`,
      EXIT.usage,
    );
  });
}

/** Embeds all documents with another embedder. */
export async function reindexCommand({ embedder: name }: { readonly embedder: string }): Promise<void> {
  const embedder = await chooseEmbedder(name);
  if (embedder === undefined) throw new CommandFailure("Say which embedder: --embedder <name>.", EXIT.usage);
  await withDocuments(undefined, async (rag) => {
    const bar = createProgressBar();
    try {
      const embedded = await rag.reindex(embedder, {
        onProgress: (done) => bar.show(done, done, "chunks embedded"),
      });
      bar.clear();
      print(
        `${embedded} chunks embedded with ${oneLine(embedder.model)} (${embedder.dimensions} dimensions).`,
      );
    } finally {
      bar.clear();
    }
  });
}
