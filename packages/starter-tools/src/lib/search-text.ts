/** Text search over one folder that the owner chose; nothing outside of it can be reached. */

import { createReadStream } from "node:fs";
import { lstat, opendir, realpath } from "node:fs/promises";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { type Tool, defineTool, err, ok } from "@openfunctions/core";

/** One line that holds the text. */
type Match = { readonly file: string; readonly line: number; readonly text: string };

const MAX_FILES = 5_000;
const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_LINE_CHARS = 300;
const SKIPPED_FOLDERS = new Set(["node_modules", "dist", "build"]);

/** Makes the `search_text` tool over `folder`. Links are not followed, so that they lead nowhere else. */
export function createTextSearch(folder: string): Tool {
  return defineTool({
    name: "search_text",
    description: "Searches the files of the chosen folder for a text and gives the lines that hold it.",
    inputSchema: {
      type: "object",
      properties: {
        query: {
          type: "string",
          minLength: 2,
          maxLength: 200,
          description: "The text to look for; upper and lower case are the same.",
        },
        extension: {
          type: "string",
          pattern: "^[A-Za-z0-9]{1,10}$",
          description: 'Only files that end so, such as "md".',
        },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: 200,
          default: 30,
          description: "How many lines at most.",
        },
      },
      required: ["query"],
    },
    contract: {
      version: "1",
      authority: { level: "session" },
      effects: { kind: "read", openWorld: false, domains: ["files"] },
      idempotency: { mode: "natural" },
      limits: { timeoutMs: 30_000 },
    },
    tags: ["files"],
    examples: [
      { description: 'search my files for "invoice"', input: { query: "invoice" } },
      { description: "search the folder for holiday plan", input: { query: "holiday plan" } },
    ],
    tests: [
      {
        description: "answers for any text",
        input: { query: "a text that hardly stands anywhere" },
        expect: { success: true },
      },
      {
        description: "wants two letters at least",
        input: { query: "a" },
        expect: { success: false, error: "query" },
      },
    ],
    handler: async ({ query, extension, limit }, { signal }) => {
      const root = await realpath(folder).catch(() => undefined);
      if (root === undefined)
        return err(`The folder "${folder}" does not exist.`, { code: "folder_not_found" });
      const search = new Search(query.toLowerCase(), limit, signal);
      for await (const path of filesOf(root, extension, signal)) {
        search.files += 1;
        if (search.files > MAX_FILES || search.full) break;
        await search.read(path, relative(root, path));
      }
      const { matches, files } = search;
      const lines = matches.map(({ file, line, text }) => `- ${file}:${line}: ${text}`);
      return ok(
        { matches, files },
        matches.length === 0 ? `No line of ${files} files holds "${query}".` : `Found:\n${lines.join("\n")}`,
      );
    },
  });
}

class Search {
  readonly matches: Match[] = [];
  files = 0;
  readonly #query: string;
  readonly #limit: number;
  readonly #signal: AbortSignal;

  constructor(query: string, limit: number, signal: AbortSignal) {
    this.#query = query;
    this.#limit = limit;
    this.#signal = signal;
  }

  get full(): boolean {
    return this.matches.length >= this.#limit;
  }

  async read(path: string, file: string): Promise<void> {
    const stream = createReadStream(path, { encoding: "utf8", signal: this.#signal });
    const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
    let line = 0;
    try {
      for await (const text of lines) {
        line += 1;
        if (text.includes("\0")) return;
        if (text.toLowerCase().includes(this.#query))
          this.matches.push({ file, line, text: text.trim().slice(0, MAX_LINE_CHARS) });
        if (this.full) return;
      }
    } catch (cause) {
      // A file that vanished or may not be read is skipped; an abort ends the search.
      if (this.#signal.aborted) throw cause;
    } finally {
      lines.close();
      stream.destroy();
    }
  }
}

async function* filesOf(
  folder: string,
  extension: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const entries = await opendir(folder).catch(() => undefined);
  // A folder that may not be read is skipped, like a file.
  if (entries === undefined) return;
  for await (const entry of entries) {
    signal.throwIfAborted();
    // What begins with a dot is settings and secrets, such as .env, which no model needs to read.
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name)) yield* filesOf(path, extension, signal);
    // A second name of one file may stand for a file elsewhere, so such files are left out like links.
    if (
      !entry.isFile() ||
      (extension !== undefined && !entry.name.toLowerCase().endsWith(`.${extension.toLowerCase()}`))
    )
      continue;
    const { size, nlink } = await lstat(path).catch(() => ({ size: Number.POSITIVE_INFINITY, nlink: 1 }));
    if (size <= MAX_FILE_BYTES && nlink === 1) yield path;
  }
}
