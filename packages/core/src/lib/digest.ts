/** Digests: one tagged SHA-256 over canonical JSON, so that equal things have equal names. */

import { hash } from "node:crypto";
import { canonicalJson } from "./json.ts";

/** `sha256:` and 64 hexadecimal digits. */
export type Digest = `sha256:${string}`;

/**
 * `"sha256:" + hex(sha256(canonical({t: tag, v: value})))` (spec runs.md section 5). The tag keeps digests of
 * different kinds of things apart. Throws `InputError` (`not_json`) for values that are not JSON.
 */
export function digest(tag: string, value: unknown): Digest {
  return sha256(`{"t":${JSON.stringify(tag)},"v":${canonicalJson(value)}}`);
}

/** The SHA-256 of a text (as UTF-8) or of bytes, in our digest form. */
export function sha256(content: string | Uint8Array): Digest {
  return `sha256:${hash("sha256", content, "hex")}`;
}
