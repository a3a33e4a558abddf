/** The keys that seal the records of the apps: made on first use, replaced by rotation, old public halves kept. */

import { createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID } from "node:crypto";
import { chmod, link, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, type Digest } from "@openfunctions/core";
import { type RecordSigner, createSigner, keyIdOf } from "@openfunctions/core/records";

/** A public key under the data home. */
export interface KnownKey {
  readonly keyId: Digest;
  /** The public half, as PEM. */
  readonly pem: string;
  readonly file: string;
  /** True for the key that seals new records. */
  readonly current: boolean;
}

const PRIVATE = "signing.pem";
const PUBLIC_SUFFIX = ".pub.pem";

/**
 * The signer of this data home; its key is made when there is none. Two processes that start at once get the same one.
 * Throws `ConfigError` where the folder cannot be written or the key cannot be read.
 */
export async function openSigner(home: string): Promise<RecordSigner> {
  const folder = await openFolder(home);
  const pem = (await readPrivate(folder)) ?? (await makeFirst(folder));
  await keepPublic(folder, pem);
  return createSigner(pem);
}

/** Makes a new key for the records to come. The old private key is gone; its public half stays. Gives the new id. */
export async function rotateKey(home: string): Promise<Digest> {
  const folder = await openFolder(home);
  const old = await readPrivate(folder);
  if (old !== undefined) await keepPublic(folder, old);
  const pem = newKey();
  const draft = await writeDraft(folder, pem);
  const keyId = await keepPublic(folder, pem);
  await rename(draft, join(folder, PRIVATE));
  return keyId;
}

/** Every public key of this data home, the current one first. Makes nothing. */
export async function listKeys(home: string): Promise<readonly KnownKey[]> {
  const folder = join(home, "keys");
  const pem = await readPrivate(folder);
  const current = pem === undefined ? undefined : keyIdOf(createPublicKey(pem));
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith(PUBLIC_SUFFIX)).map((name) => join(folder, name));
  const keys = await Promise.all(files.map((file) => readPublic(file, current)));
  return keys.toSorted(
    (one, two) => Number(two.current) - Number(one.current) || (one.file < two.file ? -1 : 1),
  );
}

async function readPublic(file: string, current: Digest | undefined): Promise<KnownKey> {
  const pem = await readFile(file, "utf8");
  try {
    const keyId = keyIdOf(pem);
    return { keyId, pem, file, current: keyId === current };
  } catch (cause) {
    throw unusable(file, cause);
  }
}

async function openFolder(home: string): Promise<string> {
  const folder = join(home, "keys");
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
  } catch (cause) {
    throw new ConfigError(`The folder of signing keys "${folder}" cannot be made.`, {
      code: "invalid_config",
      cause,
      hint: "Set OPENFUNCTIONS_HOME to a folder that you can write.",
    });
  }
  return folder;
}

/** The current private key, or undefined where there is none yet. */
async function readPrivate(folder: string): Promise<string | undefined> {
  const file = join(folder, PRIVATE);
  try {
    const pem = await readFile(file, "utf8");
    createSigner(pem);
    return pem;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw unusable(file, cause);
  }
}

function unusable(file: string, cause: unknown): ConfigError {
  return new ConfigError(`The signing key "${file}" cannot be used.`, {
    code: "invalid_config",
    cause,
    hint: "Restore it, or move it away; the next run makes a new one.",
  });
}

/** A link is made whole or not at all, and only where there is no file: whoever comes second takes the first's key. */
async function makeFirst(folder: string): Promise<string> {
  const pem = newKey();
  const draft = await writeDraft(folder, pem);
  try {
    await link(draft, join(folder, PRIVATE));
    return pem;
  } catch (cause) {
    const other = await readPrivate(folder);
    if (other === undefined) throw unusable(join(folder, PRIVATE), cause);
    return other;
  } finally {
    await rm(draft, { force: true });
  }
}

function newKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

async function writeDraft(folder: string, text: string): Promise<string> {
  const draft = join(folder, `.${randomUUID()}.draft`);
  await writeFile(draft, text, { flag: "wx", mode: 0o600 });
  return draft;
}

/** Writes the public half of a private key beside it, unless it is there. */
async function keepPublic(folder: string, privatePem: string): Promise<Digest> {
  const key = createPublicKey(createPrivateKey(privatePem));
  const keyId = keyIdOf(key);
  const file = join(folder, `${keyId.replace("sha256:", "")}${PUBLIC_SUFFIX}`);
  const pem = key.export({ type: "spki", format: "pem" }).toString();
  const there = await readFile(file, "utf8").catch(() => undefined);
  if (there !== pem) await rename(await writeDraft(folder, pem), file);
  return keyId;
}
