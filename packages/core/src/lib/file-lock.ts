/** A lock file that serialises processes of one machine (an exclusive create with pid, host and heartbeat). */

import { randomUUID } from "node:crypto";
import { readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { StoreError } from "./errors.ts";

/** Options of a lock. Times are milliseconds. */
export interface FileLockOptions {
  /** How long to wait for another holder. Default 20 000. */
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
  const mine = await acquire(path, options);
  const beat = setInterval(() => void touch(path), (options.staleMs ?? 15_000) / 3);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    // A lock that was taken over meanwhile belongs to somebody else.
    if ((await readHolder(path))?.token === mine) await rm(path, { force: true });
  }
}

async function acquire(
  path: string,
  { waitMs = 20_000, staleMs = 15_000 }: FileLockOptions,
): Promise<string> {
  const until = performance.now() + waitMs;
  for (;;) {
    const mine = await tryCreate(path);
    if (mine !== undefined) return mine;
    if ((await isStale(path, staleMs)) && (await breakStale(path, staleMs))) continue;
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

/**
 * Removes a stale lock. Only one process may: it holds `<path>.break` and looks once more, since another may have
 * taken the lock over in between. False when another process is at it.
 */
async function breakStale(path: string, staleMs: number): Promise<boolean> {
  const breaker = `${path}.break`;
  if ((await tryCreate(breaker)) === undefined) {
    // Whoever held this one ended in the middle of a few milliseconds of work.
    if (await isOlder(breaker, staleMs)) await rm(breaker, { force: true });
    return false;
  }
  try {
    if (await isStale(path, staleMs)) await rm(path, { force: true });
    return true;
  } finally {
    await rm(breaker, { force: true });
  }
}

/** Makes the lock file; its token says whose it is. Undefined when there is one already. */
async function tryCreate(path: string): Promise<string | undefined> {
  const token = randomUUID();
  try {
    const text = JSON.stringify({ pid: process.pid, host: hostname(), token });
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return token;
  } catch (cause) {
    if (isCode(cause, "EEXIST")) return undefined;
    throw new StoreError(`The lock "${path}" could not be made.`, { code: "store_failed", cause });
  }
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly token?: string;
}

async function readHolder(path: string): Promise<Holder | undefined> {
  try {
    const holder: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof holder !== "object" || holder === null || !("pid" in holder) || !("host" in holder))
      return undefined;
    return typeof holder.pid === "number" && typeof holder.host === "string"
      ? {
          pid: holder.pid,
          host: holder.host,
          ...("token" in holder && typeof holder.token === "string" ? { token: holder.token } : {}),
        }
      : undefined;
  } catch {
    // Gone, or being written this moment: nothing is known of the holder.
    return undefined;
  }
}

async function isStale(path: string, staleMs: number): Promise<boolean> {
  const holder = await readHolder(path);
  if (holder !== undefined && holder.host === hostname() && !isAlive(holder.pid)) return true;
  // The number of a process is given out again, so a living one that gives no sign is not the holder.
  return isOlder(path, staleMs);
}

async function isOlder(path: string, staleMs: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > staleMs;
  } catch (cause) {
    if (isCode(cause, "ENOENT")) return false;
    throw cause;
  }
}

/** True while a process of this host has this number. */
export function isAlive(pid: number): boolean {
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
