/** Who may answer approvals over HTTP: whoever has the page's cookie, or the token of the data folder. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/**
 * Loopback alone proves nothing: a tool that runs here can call here too. The cookie is for pages a person navigates to;
 * a program that poses as a browser gets it as well (SECURITY.md).
 */
export class ApprovalDoor {
  readonly #secret = randomBytes(32).toString("hex");
  // Cookies do not know ports: two servers of one machine must not overwrite each other's.
  readonly #name = `openfunctions_page_${randomBytes(4).toString("hex")}`;
  readonly #token: string | undefined;

  constructor(token: string | undefined) {
    this.#token = token;
  }

  /**
   * The header that makes a browser remember the page: not readable by scripts, not sent from other sites, and given
   * only to what a browser opens as a page (Fetch Metadata, `Sec-Fetch-Mode`), not to what fetches it.
   */
  cookieFor(request: Request): string | undefined {
    if (request.headers.get("sec-fetch-mode") !== "navigate") return undefined;
    return `${this.#name}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /** True for a request that carries the cookie or the bearer token. */
  admits(request: Request): boolean {
    const bearer = /^Bearer (\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (bearer !== undefined) return this.#token !== undefined && isSame(bearer, this.#token);
    const cookies = (request.headers.get("cookie") ?? "").split(/;\s*/);
    const own = cookies.find((cookie) => cookie.startsWith(`${this.#name}=`));
    return own !== undefined && isSame(own.slice(this.#name.length + 1), this.#secret);
  }
}

function isSame(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
