/** Who is calling a local server: which host was asked for, from which page, from which machine. */

import { isLoopbackAddress } from "./ip-address.ts";

/** What a server lets in besides loopback names. */
export interface HostOriginOptions {
  /** Host names, with or without port, that the server was bound to or is known by. Default none. */
  readonly allowedHosts?: readonly string[];
  /** Full origins (`https://app.example`) besides those of the allowed hosts. Default none. */
  readonly allowedOrigins?: readonly string[];
}

/** Whether a request may go on; `reason` is for the log, not for the caller. */
export type HostOriginVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly status: 403; readonly reason: string };

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Checks Host and Origin before anything of a request's body is read (security cases S1 and S17). `Host` must
 * be a loopback name or an allowed one; `Origin`, where there is one, must be an origin of such a host or an
 * allowed one. `Origin: null`, `localhost.evil.example` and `127.0.0.1.nip.io` are refused: names are compared
 * whole. A missing Host is refused, a missing Origin is not (programs send none).
 */
export function checkHostAndOrigin(
  { headers }: { readonly headers: Headers },
  { allowedHosts = [], allowedOrigins = [] }: HostOriginOptions = {},
): HostOriginVerdict {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  const host = headers.get("host");
  if (host === null || !isAllowedHost(host, allowed))
    return refused("The Host header names another host than this server's.");
  const origin = headers.get("origin");
  if (origin === null) return { ok: true };
  if (allowedOrigins.some((known) => known.toLowerCase() === origin.toLowerCase())) return { ok: true };
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  const isWeb = url !== undefined && (url.protocol === "http:" || url.protocol === "https:");
  if (isWeb && url.origin === origin.toLowerCase() && isAllowedHost(url.host, allowed)) return { ok: true };
  return refused("The Origin header names a page that is not this server's.");
}

/** Headers that a proxy adds; with one of them the peer of the socket is not who asks. */
const FORWARDING = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "via",
  "cf-connecting-ip",
  "true-client-ip",
];

/** True where the peer itself is on loopback and did not pass on somebody else's request (security case S8). */
export function isLoopbackPeer(remoteAddress: string | undefined, headers: Headers): boolean {
  if (remoteAddress === undefined || !isLoopbackAddress(remoteAddress)) return false;
  return !FORWARDING.some((name) => headers.has(name));
}

function isAllowedHost(host: string, allowed: ReadonlySet<string>): boolean {
  const name = host.toLowerCase();
  const match = /^(\[[0-9a-f:.]+\]|[^:[\]/\\@?#\s]+)(?::(\d{1,5}))?$/.exec(name);
  const bare = match?.[1];
  return bare !== undefined && (LOOPBACK_NAMES.has(bare) || allowed.has(bare) || allowed.has(name));
}

function refused(reason: string): HostOriginVerdict {
  return { ok: false, status: 403, reason };
}
