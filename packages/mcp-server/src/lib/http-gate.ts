/** Who may speak to the HTTP endpoint: everything that is decided before a request's body is read. */

import { type Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";

import { isJsonContentType } from "@modelcontextprotocol/server";
import { checkHostAndOrigin } from "@openfunctions/core/http";

import { toErrorMessage } from "./channel.ts";
import type { ResolvedOptions, TokenOwner, TokenVerifier } from "./options.ts";

const METHODS = ["POST", "GET", "DELETE"];
const SECRET_PARAM = /token|secret|api[-_]?key|authorization/i;
const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 10_000;

/** The way in. */
export class HttpGate {
  readonly #options: ResolvedOptions;
  readonly #verifier: TokenVerifier | undefined;
  readonly #hosts: readonly string[];
  /** Wrong tokens per address and window. Forwarding headers are nobody's address. */
  readonly #failures = new Map<string, { count: number; readonly endsAtMs: number }>();

  constructor(options: ResolvedOptions) {
    const { token, host, allowedHosts = [] } = options.http;
    this.#options = options;
    this.#verifier = typeof token === "string" ? oneToken(token) : token;
    this.#hosts = [...allowedHosts, host.includes(":") ? `[${host}]` : host];
  }

  /** The answer that refuses a request, or what it has shown. Host and Origin come first. */
  async admit(request: Request, remoteAddress = ""): Promise<Response | { readonly token?: TokenOwner }> {
    const { allowedOrigins = [], path } = this.#options.http;
    const verdict = checkHostAndOrigin(request, { allowedHosts: this.#hosts, allowedOrigins });
    if (!verdict.ok) {
      this.#options.logger.warn("An HTTP request was refused.", { reason: verdict.reason });
      return refusal(verdict.status, "Forbidden: this server does not serve that host or origin.");
    }
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== path) return refusal(404, `There is nothing here; the endpoint is ${path}.`);
    if ([...searchParams.keys()].some((key) => SECRET_PARAM.test(key))) {
      return refusal(400, "Send the token in the Authorization header, not in the URL.");
    }
    if (!METHODS.includes(request.method))
      return refusal(405, "Method not allowed.", { allow: METHODS.join(", ") });
    const token = await this.#checkToken(request, remoteAddress.toLowerCase().replace(/^::ffff:/, ""));
    return token instanceof Response ? token : (checkTypes(request) ?? token);
  }

  async #checkToken(
    { headers }: Request,
    address: string,
  ): Promise<Response | { readonly token?: TokenOwner }> {
    if (this.#verifier === undefined) return {};
    const failures = this.#failures.get(address);
    const waitMs = (failures?.count ?? 0) < MAX_FAILURES ? 0 : (failures?.endsAtMs ?? 0) - Date.now();
    if (waitMs > 0)
      return refusal(429, "Too many wrong tokens.", { "retry-after": `${Math.ceil(waitMs / 1000)}` });
    const given = /^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
    if (given === undefined) return challenge(401, "A bearer token is required.");
    const token = await this.#verify(this.#verifier, given);
    if (token === undefined) {
      this.#noteFailure(address);
      return challenge(401, "The token is not valid.", ' error="invalid_token"');
    }
    const { requiredScopes = [] } = this.#verifier;
    if (requiredScopes.every((scope) => token.scopes?.includes(scope) === true)) return { token };
    return challenge(
      403,
      "The token lacks a scope.",
      ` error="insufficient_scope", scope="${requiredScopes.join(" ")}"`,
    );
  }

  async #verify(verifier: TokenVerifier, token: string): Promise<TokenOwner | undefined> {
    try {
      return await verifier.verify(token);
    } catch (cause) {
      this.#options.logger.warn("The token verifier threw; the token was refused.", { cause: String(cause) });
      return undefined;
    }
  }

  /** An address that is not known (no socket at hand) is not counted; the oldest is forgotten where there are too many. */
  #noteFailure(address: string): void {
    const known = this.#failures.get(address);
    if (known !== undefined && known.endsAtMs > Date.now()) known.count += 1;
    else if (address !== "") this.#failures.set(address, { count: 1, endsAtMs: Date.now() + WINDOW_MS });
    const [oldest = ""] = this.#failures.keys();
    if (this.#failures.size > MAX_ADDRESSES) this.#failures.delete(oldest);
  }
}

/** An answer that refuses, as a JSON-RPC error of no request. */
export function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json(toErrorMessage(message.startsWith("Parse") ? -32700 : -32000, message), {
    status,
    headers,
  });
}

function challenge(status: number, message: string, detail = ""): Response {
  return refusal(status, message, { "www-authenticate": `Bearer${detail}` });
}

function checkTypes({ method, headers }: Request): Response | undefined {
  if (method !== "POST") return undefined;
  if (!isJsonContentType(headers.get("content-type"))) return refusal(415, "Send application/json.");
  const accept = headers.get("accept") ?? "";
  const wanted = ["application/json", "text/event-stream"].filter((type) => !accept.includes(type));
  if (wanted.length === 0 || accept.includes("*/*")) return undefined;
  return refusal(406, "Accept both application/json and text/event-stream.");
}

/** Compares digests, which have one length, in constant time. */
function oneToken(secret: string): TokenVerifier {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  const expected = hash(secret);
  return { verify: (token) => (timingSafeEqual(hash(token), expected) ? { id: "token" } : undefined) };
}
