/** Who a run acts for, and what it was allowed. */

/** Who asks. `remote` is a peer that proved who it is, `anonymous` one that did not. */
export interface Principal {
  readonly kind: "human" | "program" | "agent" | "remote" | "anonymous";
  readonly id: string;
  /** `local` for code, stdio and a direct loopback peer; anything forwarded or from elsewhere is `network`. */
  readonly via: "local" | "network";
}

/** Scopes held by one run; never widened by a child. `expiresAt` is ISO-8601. */
export interface Grant {
  readonly ref: string;
  readonly scopes: readonly string[];
  readonly grantedBy: Principal;
  readonly expiresAt?: string;
}

/** The principal of a direct `registry.execute()` from code. */
export const LOCAL_PROGRAM: Principal = Object.freeze({ kind: "program", id: "local", via: "local" });
