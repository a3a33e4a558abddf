/** Seals: an Ed25519 signature over the head of a log, so that nobody without the key can change or cut it. */

import { type KeyLike, type KeyObject, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { type Digest, sha256 } from "./digest.ts";
import { InputError } from "./errors.ts";
import { canonicalJson } from "./json.ts";
import type { RecordSigner, SealLine } from "./record-line.ts";

/** What a seal is made of. */
export interface SealInput {
  readonly runId: string;
  /** How many events the log has. */
  readonly events: number;
  /** The hash of the last of them. */
  readonly head: Digest;
  /** ISO-8601. */
  readonly signedAt: string;
}

/** The seal of a finished log. It stands directly after the terminal event. */
export function sealRun(log: SealInput, signer: RecordSigner): SealLine {
  const { runId, events, head, signedAt } = log;
  const open = {
    type: "seal",
    runId,
    events,
    head,
    alg: "ed25519",
    keyId: signer.keyId,
    signedAt,
  } as const;
  return { ...open, signature: signer.sign(canonicalJson(open)) };
}

/** Signs with an Ed25519 private key: PEM text or a key object. Throws `InputError` for any other key. */
export function createSigner(privateKey: KeyLike): RecordSigner {
  const key = ed25519(() => (isKeyObject(privateKey) ? privateKey : createPrivateKey(privateKey)), "private");
  return {
    keyId: keyIdOf(createPublicKey(key)),
    sign: (text) => sign(null, Buffer.from(text, "utf8"), key).toString("base64"),
  };
}

/** The name of a key: the SHA-256 of its public half as SPKI DER. */
export function keyIdOf(publicKey: KeyLike): Digest {
  const key = ed25519(() => (isKeyObject(publicKey) ? publicKey : createPublicKey(publicKey)), "public");
  return sha256(key.export({ type: "spki", format: "der" }));
}

/** True where the key made this signature of the text. Only the one base64 text of a signature counts. */
export function verifySignature(text: string, signature: string, publicKey: KeyLike): boolean {
  const bytes = Buffer.from(signature, "base64");
  return bytes.toString("base64") === signature && verify(null, Buffer.from(text, "utf8"), publicKey, bytes);
}

/** True where the key made this seal as it stands, unknown fields included. Says nothing of the events. */
export function verifySeal(seal: SealLine, publicKey: KeyLike): boolean {
  const { signature, ...open } = seal;
  return seal.alg === "ed25519" && verifySignature(canonicalJson(open), signature, publicKey);
}

function isKeyObject(key: KeyLike): key is KeyObject {
  return typeof key === "object" && "asymmetricKeyType" in key;
}

function ed25519(read: () => KeyObject, half: "private" | "public"): KeyObject {
  let key: KeyObject | undefined;
  let cause: unknown;
  try {
    key = read();
  } catch (thrown) {
    cause = thrown;
  }
  if (key?.type === half && key.asymmetricKeyType === "ed25519") return key;
  throw new InputError(`This is no Ed25519 ${half} key.`, {
    cause,
    hint: `Pass PEM text or a key object, such as one from generateKeyPairSync("ed25519").`,
  });
}
