/** A broken rule of the record, told by its number (spec runs.md section 4, invariants). */

import { RecordError } from "./errors.ts";

/** The error of a broken invariant; `details.invariant` is its number. */
export function brokenRule(invariant: number, message: string): RecordError {
  return new RecordError(`${message} (run record invariant ${invariant})`, { details: { invariant } });
}

/** Throws `RecordError` naming the invariant unless it holds. */
export function requireRule(holds: boolean, invariant: number, message: string): void {
  if (!holds) throw brokenRule(invariant, message);
}
