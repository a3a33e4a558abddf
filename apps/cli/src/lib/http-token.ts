/** The token that opens approvals over HTTP without the page. */

import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Reads `keys/http-token` of the data folder, making it on first use, for its owner only. */
export async function openHttpToken(home: string): Promise<string> {
  const folder = join(home, "keys");
  const file = join(folder, "http-token");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return (await readToken(file)) ?? (await makeToken(folder, file));
}

async function readToken(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw cause;
  }
}

/** Of two processes that begin at once, one links its file, whole, and both read it. */
async function makeToken(folder: string, file: string): Promise<string> {
  const draft = join(folder, `.${randomUUID()}.draft`);
  try {
    await writeFile(draft, `${randomBytes(32).toString("hex")}\n`, { flag: "wx", mode: 0o600 });
    await link(draft, file).catch((cause: unknown) => {
      if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause;
    });
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(file, "utf8")).trim();
}
