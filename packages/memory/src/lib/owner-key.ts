/** The owner as a part of a key: no owner reaches the keys of another. */

import { InputError } from "@openfunctions/core";

/** Store keys have 512 characters; thread, number and names need the rest. */
const MAX_OWNER_CHARS = 128;

/**
 * An owner as it stands in keys. Throws `InputError` for none: without an owner there is no answer (spec state.md
 * section 2).
 */
export function ownerKey(owner: string): string {
  if (typeof owner === "string" && owner !== "" && owner.isWellFormed()) {
    const key = encodeURIComponent(owner);
    if (key.length <= MAX_OWNER_CHARS) return key;
  }
  throw new InputError("An owner is a text of 1 to 128 characters (less where they are not ASCII).", {
    code: "bad_id",
    hint: "Pass the owner of the run, such as context.owner.",
  });
}
