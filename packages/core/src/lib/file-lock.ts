/** A lock file that serialises processes of one machine (an exclusive create with pid, host and heartbeat). */

import { type FileHandle, open, readFile, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { StoreError } from "./errors.ts";

/** Options of a lock. Times are milliseconds. */
export interface FileLockOptions {
  /** How long to wait for another holder. Default 10 000. */
  readonly waitMs?: number;
  /** A lock whose holder gave no sign for this long is stale. Default 15 000. */
  readonly staleMs?: number;
}

const RETRY_MS = 20;

/**
 * Runs `work` while holding the lock at `path`, and always lets go. A lock whose process on this host is dead, or whose
 * heartbeat is stale, is taken over. Throws `StoreError` `store_locked` naming the holder when the wait is over.
 */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  options: FileLockOptions = {},
): Promise<T> {
  const handle = await acquire(path, options);
  const beat = setInterval(() => void touch(path), (options.staleMs ?? 15_000) / 3);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await handle.close();
    await rm(path, { force: true });
  }
}

async function acquire(
  path: string,
  { waitMs = 10_000, staleMs = 15_000 }: FileLockOptions,
): Promise<FileHandle> {
  const until = performance.now() + waitMs;
  for (;;) {
    const handle = await tryCreate(path);
    if (handle !== undefined) return handle;
    if (await isStale(path, staleMs)) {
      await rm(path, { force: true });
      continue;
    }
    if (performance.now() > until) {
      throw new StoreError(`The lock "${path}" is held by ${await describeHolder(path)}.`, {
        code: "store_locked",
        retryable: true,
        hint: "Wait for that process, or end it.",
      });
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS * (0.5 + Math.random())));
  }
}

async function tryCreate(path: string): Promise<FileHandle | undefined> {
  try {
    const handle = await open(path, "wx", 0o600);
    await handle.writeFile(JSON.stringify({ pid: process.pid, host: hostname() }));
    return handle;
  } catch (cause) {
    if (isCode(cause, "EEXIST")) return undefined;
    throw cause;
  }
}

interface Holder {
  readonly pid: number;
  readonly host: string;
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const holder: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof holder !== "object" || holder === null || !("pid" in holder) || !("host" in holder))
      return undefined;
    return typeof holder.pid === "number" && typeof holder.host === "string"
      ? { pid: holder.pid, host: holder.host }
      : undefined;
  } catch {
    // Gone, or being written this moment: nothing is known of the holder.
    return undefined;
  }
}

async function isStale(path: string, staleMs: number): Promise<boolean> {
  const holder = await readHolder(path);
  if (holder !== undefined && holder.host === hostname()) return !isAlive(holder.pid);
  try {
    return Date.now() - (await stat(path)).mtimeMs > staleMs;
  } catch (cause) {
    if (isCode(cause, "ENOENT")) return false;
    throw cause;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return isCode(cause, "EPERM");
  }
}

async function describeHolder(path: string): Promise<string> {
  const holder = await readHolder(path);
  return holder === undefined ? "an unknown process" : `process ${holder.pid} on ${holder.host}`;
}

async function touch(path: string): Promise<void> {
  const now = new Date();
  // The lock may just have been released; then there is nothing to keep alive.
  await utimes(path, now, now).catch(() => {});
}

/** True for a system error with this code. */
export function isCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && "code" in cause && cause.code === code;
}
