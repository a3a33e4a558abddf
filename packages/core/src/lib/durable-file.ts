/** Files that are replaced as a whole, and survive a power cut once that is done. */

import { lstat, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { isCode } from "./file-lock.ts";

/** Puts a text in the place of a file, readable by its owner only. A reader sees the old text or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const handle = await open(temporary, "w", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (cause) {
    await rm(temporary, { force: true });
    throw cause;
  }
}

/** A name is durable only once its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Which file stands at a path, and in which state; undefined for none. Links are not followed. */
export async function stampOf(path: string): Promise<FileStamp | undefined> {
  try {
    const { ino, birthtimeNs, mtimeNs, size } = await lstat(path, { bigint: true });
    const file = `${ino} ${birthtimeNs}`;
    return { file, size: Number(size), text: `${file} ${mtimeNs} ${size}` };
  } catch (cause) {
    if (isCode(cause, "ENOENT")) return undefined;
    throw cause;
  }
}

/** The state of a file. */
export interface FileStamp {
  /** Another one for another file of the same name. */
  readonly file: string;
  /** In bytes. */
  readonly size: number;
  /** Another one whenever the file changed. */
  readonly text: string;
}
