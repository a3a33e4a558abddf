/** The token that opens approvals over HTTP without the page. */

import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Reads `keys/http-token` of the data folder, making it on first use, for its owner only. */
export async function openHttpToken(home: string): Promise<string> {
  const folder = join(home, "keys");
  const file = join(folder, "http-token");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Of two processes that begin at once one makes it, and both read it.
  await writeFile(file, `${randomBytes(32).toString("hex")}\n`, { flag: "wx", mode: 0o600 }).catch(() => {});
  return (await readFile(file, "utf8")).trim();
}
