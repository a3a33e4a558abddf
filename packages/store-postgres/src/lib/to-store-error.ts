/** Failures of Postgres in our terms. */

import { InputError, OpenFunctionsError, StoreError } from "@openfunctions/core";

// SQLSTATE codes and their classes: https://www.postgresql.org/docs/current/errcodes-appendix.html
const CONFLICTS: ReadonlySet<string> = new Set(["40001", "40P01", "23505"]);
const LOCKED: ReadonlySet<string> = new Set(["55P03", "57014"]);
const REFUSED_VALUES: ReadonlySet<string> = new Set(["22", "54"]);
const CONNECTIONS: ReadonlySet<string> = new Set(["08", "28", "3D", "53", "57"]);

/** An error of ours as it is; anything else as the `InputError` or `StoreError` that it means. */
export function toStoreError(cause: unknown): unknown {
  if (OpenFunctionsError.is(cause)) return cause;
  const code = codeOf(cause);
  const group = code.slice(0, 2);
  if (REFUSED_VALUES.has(group))
    return new InputError(`Postgres cannot hold a value that was given (SQLSTATE ${code}).`, { cause });
  if (CONFLICTS.has(code))
    return new StoreError(`Another write was in the way (SQLSTATE ${code}).`, {
      code: "store_conflict",
      retryable: code !== "23505",
      cause,
    });
  if (LOCKED.has(code))
    return new StoreError(`The database was busy for too long (SQLSTATE ${code}).`, {
      code: "store_locked",
      retryable: true,
      cause,
    });
  // What a failed connection says holds no data and no password.
  const isConnection = !/^[0-9A-Z]{5}$/.test(code) || CONNECTIONS.has(group);
  const what = isConnection ? `: ${messageOf(cause)}` : ` (SQLSTATE ${code}).`;
  return new StoreError(`Postgres failed${what}`, {
    code: "store_failed",
    retryable: isConnection && group !== "28" && group !== "3D",
    cause,
  });
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
}

/** A connection that was tried at several addresses has one error for each. */
function messageOf(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error && first.message !== "" ? first.message : "the connection ended";
}
