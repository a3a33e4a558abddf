/** What a throw says. Anything can be thrown, so reading it may throw again. */

const NOTHING_READABLE = "it threw something that cannot be read";

/** The message of an error, the text of anything else. Never throws; always well-formed text. */
export function describeThrown(thrown: unknown): string {
  try {
    const text: unknown = thrown instanceof Error ? thrown.message : thrown;
    return String(text).toWellFormed();
  } catch {
    return NOTHING_READABLE;
  }
}

/** Stack and causes of an error for the record; undefined for what is no error. Never throws. */
export function describeStack(thrown: unknown): string | undefined {
  try {
    if (!(thrown instanceof Error)) return undefined;
    const own = `${thrown.stack ?? thrown.message}`;
    if (thrown.cause === undefined) return own.toWellFormed();
    const cause = describeStack(thrown.cause) ?? describeThrown(thrown.cause);
    return `${own}\ncaused by: ${cause}`.toWellFormed();
  } catch {
    // A cause that refers to itself ends here too, with the whole stack spent.
    return NOTHING_READABLE;
  }
}

/** True for an error; false for anything else, even for what throws when asked. */
export function isThrownError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}
