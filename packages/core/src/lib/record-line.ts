/** The lines of a record file: the events of one run, then its seal, then its redactions. */

import type { Digest } from "./digest.ts";
import type { AnyRunEvent } from "./run-event.ts";

/**
 * A signature over the head of a finished log (spec runs.md section 5). Stands directly after the terminal event.
 * `signature` is base64 over the UTF-8 bytes of the canonical JSON of the seal without its `signature`.
 */
export interface SealLine {
  readonly type: "seal";
  readonly runId: string;
  /** How many events the log has. */
  readonly events: number;
  /** The hash of the last event. */
  readonly head: Digest;
  readonly alg: "ed25519";
  readonly keyId: Digest;
  readonly signedAt: string;
  readonly signature: string;
}

/**
 * A leaf whose value and salt were removed. Redactions are a chain of their own: the first `prev` is the digest
 * `digest("seal/1", seal)`, or the hash of the last event where nothing is sealed.
 */
export interface RedactionLine {
  readonly type: "redaction";
  /** From 0. */
  readonly n: number;
  /** The event that holds the leaf. */
  readonly seq: number;
  /** JSON pointer from the event to the leaf, such as `/data/args`. */
  readonly leaf: string;
  readonly by: string;
  readonly at: string;
  readonly reason: string;
  readonly prev: Digest;
  /** `digest("redaction/1", line without hash, keyId and signature)`. */
  readonly hash: Digest;
  /** Both present exactly when the record is sealed; signs the text of `hash`. */
  readonly keyId?: Digest;
  readonly signature?: string;
}

/** One line of a record file. */
export type RecordLine = AnyRunEvent | SealLine | RedactionLine;

/** What stands behind the events of a run. */
export interface RunAnnex {
  readonly seal?: SealLine;
  readonly redactions: readonly RedactionLine[];
}

/** Signs for one key. */
export interface RecordSigner {
  readonly keyId: Digest;
  /** The Ed25519 signature of the text's UTF-8 bytes, in base64. */
  sign(text: string): string;
}
