/** Who may speak to the HTTP endpoint: everything that is decided before a request's body is read. */

import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";

import { isJsonContentType } from "@modelcontextprotocol/server";
import { checkHostAndOrigin } from "@openfunctions/core/http";

import { FailureLimiter } from "./failure-limiter.ts";
import type { ResolvedOptions, TokenOwner, TokenVerifier } from "./options.ts";
import { toErrorMessage } from "./wire.ts";

const METHODS = ["POST", "GET", "DELETE"];
const SECRET_PARAM = /token|secret|api_?key|authorization/i;

/** What an admitted request has shown. */
export interface Admission {
  readonly token?: TokenOwner;
}

/** The way in. `admit` gives the answer that refuses a request, or the owner of its token. */
export class HttpGate {
  readonly #options: ResolvedOptions;
  readonly #verifier: TokenVerifier | undefined;
  readonly #failures = new FailureLimiter();
  readonly #hosts: readonly string[];

  constructor(options: ResolvedOptions) {
    const { token, host, allowedHosts = [] } = options.http;
    this.#options = options;
    this.#verifier = typeof token === "string" ? oneToken(token) : token;
    this.#hosts = [...allowedHosts, host.includes(":") ? `[${host}]` : host];
  }

  /** Checks Host and Origin first, and nothing of the body. */
  async admit(request: Request, remoteAddress: string | undefined): Promise<Response | Admission> {
    const { allowedOrigins = [], path } = this.#options.http;
    const verdict = checkHostAndOrigin(request, { allowedHosts: this.#hosts, allowedOrigins });
    if (!verdict.ok) {
      this.#options.logger.warn("An HTTP request was refused.", { reason: verdict.reason });
      return refusal(verdict.status, "Forbidden: this server does not serve that host or origin.");
    }
    const url = new URL(request.url);
    if (url.pathname !== path) return refusal(404, `There is nothing here; the endpoint is ${path}.`);
    if ([...url.searchParams.keys()].some((key) => SECRET_PARAM.test(key))) {
      return refusal(400, "Send the token in the Authorization header, not in the URL.");
    }
    if (!METHODS.includes(request.method))
      return refusal(405, "Method not allowed.", { allow: METHODS.join(", ") });
    return checkTypes(request) ?? this.#checkToken(request, remoteAddress);
  }

  async #checkToken(request: Request, remoteAddress: string | undefined): Promise<Response | Admission> {
    if (this.#verifier === undefined) return {};
    const waitSeconds = this.#failures.blockedFor(remoteAddress);
    if (waitSeconds > 0)
      return refusal(429, "Too many wrong tokens.", { "retry-after": String(waitSeconds) });
    const token = /^Bearer +(\S+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    if (token === undefined) return challenge(401, "A bearer token is required.");
    const owner = await this.#verify(this.#verifier, token);
    if (owner === undefined) {
      this.#failures.note(remoteAddress);
      return challenge(401, "The token is not valid.", 'error="invalid_token"');
    }
    const { requiredScopes = [] } = this.#verifier;
    const isAllowed = requiredScopes.every((scope) => owner.scopes?.includes(scope) === true);
    if (!isAllowed)
      return challenge(
        403,
        "The token lacks a scope.",
        `error="insufficient_scope", scope="${requiredScopes.join(" ")}"`,
      );
    return { token: owner };
  }

  async #verify(verifier: TokenVerifier, token: string): Promise<TokenOwner | undefined> {
    try {
      return await verifier.verify(token);
    } catch (cause) {
      this.#options.logger.warn("The token verifier threw; the token was refused.", { cause: String(cause) });
      return undefined;
    }
  }
}

/** An answer that refuses, as a JSON-RPC error of no request. */
export function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  const code = status === 400 ? -32600 : -32000;
  return Response.json(toErrorMessage(code, message), { status, headers });
}

function challenge(status: number, message: string, detail?: string): Response {
  return refusal(status, message, {
    "www-authenticate": detail === undefined ? "Bearer" : `Bearer ${detail}`,
  });
}

function checkTypes({ method, headers }: Request): Response | undefined {
  if (method !== "POST") return undefined;
  if (!isJsonContentType(headers.get("content-type"))) return refusal(415, "Send application/json.");
  const accept = headers.get("accept") ?? "";
  const accepts = (type: string): boolean => accept.includes(type) || accept.includes("*/*");
  if (accepts("application/json") && accepts("text/event-stream")) return undefined;
  return refusal(406, "Accept both application/json and text/event-stream.");
}

/** Compares digests, which have one length, in constant time. */
function oneToken(secret: string): TokenVerifier {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  const expected = hash(secret);
  return { verify: (token) => (timingSafeEqual(hash(token), expected) ? { id: "token" } : undefined) };
}
