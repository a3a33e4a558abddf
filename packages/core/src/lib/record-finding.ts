/** What verification finds: everything that is wrong with a record file, each with its place. */

import type { Digest } from "./digest.ts";
import type { RecordPlace } from "./record-sequence.ts";
import type { Capture } from "./sealed.ts";

/**
 * What can be wrong (spec runs.md section 5). `unsupported` is an event of a newer version; `open` an unsealed log
 * without a terminal event, which proves nothing.
 */
export type FindingKind =
  | "altered"
  | "gap"
  | "extra"
  | "order"
  | "malformed"
  | "unsupported"
  | "torn_tail"
  | "truncated"
  | "open"
  | "bad_signature"
  | "unknown_key";

/** One thing that is wrong. `offset` is the byte in the file: of the line, of a malformed line where it goes wrong. */
export interface Finding extends RecordPlace {
  readonly kind: FindingKind;
  /** What is wrong, for people. */
  readonly message: string;
  /** The number of the event (or redaction) concerned. */
  readonly seq?: number;
  readonly type?: string;
  /** The leaf whose value does not fit, as a JSON pointer from the event. */
  readonly leaf?: string;
  readonly expected?: string;
  readonly found?: string;
  /** The numbers on both sides of a gap or of what is too much. */
  readonly after?: number;
  readonly before?: number;
}

/**
 * How a record stands. `verified`: whole, and signed by a known key. `unsigned`: whole, and it says that it is not
 * sealed. `open`: intact as far as it goes, not sealed, without an end. `failed`: something is wrong.
 */
export type VerifyStatus = "verified" | "unsigned" | "open" | "failed";

/** What verification says of a record. */
export interface VerifyResult {
  readonly status: VerifyStatus;
  readonly runId?: string;
  /** Events read. */
  readonly events: number;
  /** The hash of the last event. */
  readonly head?: Digest;
  /** The key that `run.started` names, or false; absent where it could not be read. */
  readonly sealed?: Digest | false;
  /** The key whose seal fits. */
  readonly signedBy?: Digest;
  readonly capture?: Capture;
  /** Redactions. */
  readonly redacted: number;
  /** Sealed leaves whose value is not in the file: by capture, or redacted. */
  readonly withoutValue: number;
  /** How many things are wrong; `findings` holds the first 10,000 of them, by line. */
  readonly failures: number;
  readonly findings: readonly Finding[];
}
