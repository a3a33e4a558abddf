/** Random hexadecimal, drawn in blocks: a small buffer of its own for each would cost more than its bytes. */

import { randomBytes } from "node:crypto";

/** A source of fresh lower-case hexadecimal of `bytes` random bytes each; `block` of them are drawn at once. */
export function createRandomHex(bytes: number, block: number): () => string {
  const size = bytes * 2;
  let drawn = "";
  let at = 0;
  return () => {
    if (at === drawn.length) {
      drawn = randomBytes(bytes * block).toString("hex");
      at = 0;
    }
    at += size;
    return drawn.slice(at - size, at);
  };
}
