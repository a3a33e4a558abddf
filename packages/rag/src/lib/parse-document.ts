/** Has a document parsed in a thread of its own, which a limit or an abort ends. */

import { Worker } from "node:worker_threads";
import { ConfigError, InputError } from "@openfunctions/core";

/** What bounds the parsing of one document. */
export interface ParseLimits {
  /** Milliseconds after which the parser is ended. Default 60,000. */
  readonly timeoutMs?: number;
  /** Bytes of what is packed in the document, unpacked. Default 200 MiB. */
  readonly maxUnpackedBytes?: number;
  /** Memory of the parser in MiB. Default 1,024. */
  readonly maxMemoryMb?: number;
}

/** What the thread is told. */
export interface WorkerTask {
  readonly format: "pdf" | "docx";
  readonly bytes: Uint8Array;
  readonly maxUnpackedBytes: number;
}

/** What the thread answers: the pages of a PDF, or a DOCX as one part of HTML. */
export type WorkerAnswer =
  | { readonly parts: readonly string[] }
  | { readonly failed: "too_large" | "package_missing" }
  | { readonly failed: "unreadable"; readonly message: string };

const PACKAGES = { pdf: "unpdf", docx: "mammoth" } as const;
/** As the sources run, and as they are packed: the build gives the thread a file of its own (scripts/flatten.mjs). */
const WORKER = import.meta.url.endsWith(".ts") ? "./document-worker.ts" : "./lib/document-worker.js";
const MIB = 1024 * 1024;
const WATCH_MS = 50;
/** What a program is started with so that modules are found; whatever else it is started with, a thread may refuse. */
const LOADING =
  /^(?:--(?:import|require|loader|experimental-loader|conditions|preserve-symlinks)|-r|-C)(?:=|$)/;

/**
 * Parses a document. Throws `InputError` `too_large` where a limit ended it and `unsupported_media` where it cannot be
 * read, `ConfigError` `package_missing`, and the signal's reason on abort. The thread sees no environment and no output.
 */
export async function parseDocument(
  task: Pick<WorkerTask, "format" | "bytes">,
  { timeoutMs = 60_000, maxUnpackedBytes = 200 * MIB, maxMemoryMb = 1_024 }: ParseLimits,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  signal?.throwIfAborted();
  const { format } = task;
  // A copy of its own is handed over, not shared.
  const bytes = new Uint8Array(task.bytes);
  const workerData: WorkerTask = { format, bytes, maxUnpackedBytes };
  const worker = new Worker(new URL(WORKER, import.meta.url), {
    workerData,
    transferList: [bytes.buffer],
    env: {},
    execArgv: loadingFlags(process.execArgv),
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
  });
  let stop: (cause: unknown) => void = () => {};
  const onAbort = (): void => stop(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => stop(tooLarge(format, `took longer than ${timeoutMs} ms`)), timeoutMs);
  const memory = `took more than ${maxMemoryMb} MiB`;
  // The limit of the thread counts objects, not the bytes that a parser unpacks.
  const watch = setInterval(async () => {
    const { external_memory: bytes } = await worker.getHeapStatistics().catch(() => ({ external_memory: 0 }));
    if (bytes > maxMemoryMb * MIB) stop(tooLarge(format, memory));
  }, WATCH_MS);
  try {
    const answer = await new Promise<WorkerAnswer>((resolve, reject) => {
      stop = reject;
      worker.once("message", resolve);
      worker.once("error", (cause: NodeJS.ErrnoException) => {
        const isMemory = cause.code === "ERR_WORKER_OUT_OF_MEMORY";
        reject(isMemory ? tooLarge(format, memory) : unreadable(format, cause));
      });
      worker.once("exit", () => reject(unreadable(format, new Error("The parser ended without an answer."))));
    });
    return partsOf(answer, { format, maxUnpackedBytes });
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    signal?.removeEventListener("abort", onAbort);
    await worker.terminate();
  }
}

function loadingFlags(flags: readonly string[]): string[] {
  return flags.filter((flag, index) => {
    const before = flags[index - 1] ?? "";
    const isValue = LOADING.test(before) && !before.includes("=") && before !== "--preserve-symlinks";
    return isValue || LOADING.test(flag);
  });
}

function partsOf(
  answer: WorkerAnswer,
  { format, maxUnpackedBytes }: Pick<WorkerTask, "format" | "maxUnpackedBytes">,
): readonly string[] {
  if ("parts" in answer) return answer.parts;
  if (answer.failed === "too_large") throw tooLarge(format, `unpacks to more than ${maxUnpackedBytes} bytes`);
  if (answer.failed === "unreadable") throw unreadable(format, new Error(answer.message));
  const name = PACKAGES[format];
  throw new ConfigError(
    `Reading ${format.toUpperCase()} needs the package "${name}", which is not installed.`,
    {
      code: "package_missing",
      hint: `Install it: npm install ${name}`,
    },
  );
}

function tooLarge(format: string, what: string): InputError {
  return new InputError(`The ${format.toUpperCase()} document ${what}.`, { code: "too_large" });
}

function unreadable(format: string, cause: Error): InputError {
  return new InputError(
    `The document cannot be read as ${format.toUpperCase()}: ${cause.message.slice(0, 200)}`,
    {
      code: "unsupported_media",
      cause,
    },
  );
}
