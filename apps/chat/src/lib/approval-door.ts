/** Who may answer approvals over HTTP: whoever has the page's cookie, or the token of the data folder. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

const COOKIE = "openfunctions_page";

/** Loopback alone proves nothing: a tool that runs here can call here too. */
export class ApprovalDoor {
  readonly #secret = randomBytes(32).toString("hex");
  readonly #token: string | undefined;

  constructor(token: string | undefined) {
    this.#token = token;
  }

  /** The header that makes a browser remember the page: not readable by scripts, and not sent from other sites. */
  get cookie(): string {
    return `${COOKIE}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /** True for a request that carries the cookie or the bearer token. */
  admits(request: Request): boolean {
    const bearer = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (bearer !== undefined) return this.#token !== undefined && isSame(bearer, this.#token);
    const cookies = (request.headers.get("cookie") ?? "").split(/;\s*/);
    const own = cookies.find((cookie) => cookie.startsWith(`${COOKIE}=`));
    return own !== undefined && isSame(own.slice(COOKIE.length + 1), this.#secret);
  }
}

function isSame(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
