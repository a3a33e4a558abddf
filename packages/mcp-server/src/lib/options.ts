/** What an application may decide about its MCP server, checked once before anything starts. */

import { ConfigError, silentLogger } from "@openfunctions/core";
import type { EffectLedger, Grant, Logger, Principal, RunStore, ToolFilter } from "@openfunctions/core";

/** Who a token belongs to. */
export interface TokenOwner {
  readonly id: string;
  readonly scopes?: readonly string[];
}

/** Checks bearer tokens. `verify` gives undefined (or throws) for one it does not know; expiry is its business. */
export interface TokenVerifier {
  verify(token: string): TokenOwner | undefined | Promise<TokenOwner | undefined>;
  /** What a token needs to be let in at all; without one of them the answer is 403. */
  readonly requiredScopes?: readonly string[];
}

/** What is known of whoever sent a request. */
export interface McpRequestInfo {
  readonly transport: "stdio" | "http";
  /** What the client calls itself: a claim, without control characters. */
  readonly client: string;
  /** True for stdio and for a direct loopback peer; a forwarded request is not local. */
  readonly local: boolean;
  /** The owner of the token that was checked. */
  readonly token?: TokenOwner;
  readonly remoteAddress?: string;
  readonly headers?: Headers;
}

/** The HTTP side. */
export interface McpHttpOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. Another host than loopback needs a `token`. */
  readonly host?: string;
  /** Default `/mcp`. */
  readonly path?: string;
  /** The bearer token to ask for, or who checks it. */
  readonly token?: string | TokenVerifier;
  /** Host names besides loopback and the bound host. */
  readonly allowedHosts?: readonly string[];
  /** Origins (`https://app.example`) besides those of the allowed hosts. */
  readonly allowedOrigins?: readonly string[];
  /** Default 1 MiB. */
  readonly maxBodyBytes?: number;
  /** From the first byte to the answer. Default 300 000. */
  readonly requestTimeoutMs?: number;
  /** Calls of one connection (stdio too) or token that run side by side; 256 more wait. Default 16. */
  readonly maxConcurrent?: number;
}

/** Options of `createMcpServer`. */
export interface McpServerOptions {
  /** Default `openfunctions`. */
  readonly name?: string;
  /** Default `1.0.0`. */
  readonly version?: string;
  /** Which tools are served: absent for all, `{ names: [] }` for none. */
  readonly expose?: ToolFilter;
  /** Sent to clients, for their model. */
  readonly instructions?: string;
  /** Tools per page of a listing. Default 200. */
  readonly pageSize?: number;
  /** Who a request acts for. Default: stdio and token owners are `remote`, anybody else `anonymous`. */
  readonly principal?: (request: McpRequestInfo) => Principal;
  /**
   * Whose threads, facts and documents a request may reach. Default: the token's owner, `local` for a local caller. Over
   * HTTP it is required where `principal` tells callers apart and no verifier of tokens does.
   */
  readonly owner?: (principal: Principal, request: McpRequestInfo) => string;
  /** What that principal was allowed. Default nothing. */
  readonly grants?: (principal: Principal) => readonly Grant[];
  readonly http?: McpHttpOptions;
  /** Where each call is recorded, as a run of kind `call`. */
  readonly runStore?: RunStore;
  /** The account of calls with effects. Default: the registry's. */
  readonly ledger?: EffectLedger;
  /** Default: silent. */
  readonly logger?: Logger;
}

/** Options with every default filled in. */
export type ResolvedOptions = McpServerOptions &
  Required<Pick<McpServerOptions, "name" | "version" | "pageSize" | "principal" | "logger">> & {
    readonly http: McpHttpOptions &
      Required<Omit<McpHttpOptions, "token" | "allowedHosts" | "allowedOrigins">>;
  };

const HTTP = {
  port: 0,
  host: "127.0.0.1",
  path: "/mcp",
  maxBodyBytes: 1024 * 1024,
  requestTimeoutMs: 300_000,
};

/** Fills in defaults. Throws `ConfigError` `invalid_config` naming the option at fault, or `owner_required`. */
export function resolveOptions(options: McpServerOptions): ResolvedOptions {
  const http = { ...HTTP, maxConcurrent: 16, ...options.http };
  const { name = "openfunctions", version = "1.0.0", pageSize = 200, logger = silentLogger } = options;
  const { maxBodyBytes, requestTimeoutMs, maxConcurrent } = http;
  for (const [key, value] of Object.entries({ pageSize, maxBodyBytes, requestTimeoutMs, maxConcurrent })) {
    if (!Number.isInteger(value) || value < 1)
      throw invalid(`"${key}" is ${value}; use a whole number above 0.`);
  }
  if (!http.path.startsWith("/")) throw invalid(`"http.path" is "${http.path}"; begin it with "/".`);
  // An unset variable would otherwise open the server to everybody.
  if (http.token === "") throw invalid('"http.token" is empty; leave it out or give a secret.');
  const tellsOwners = typeof http.token === "object" || options.owner !== undefined;
  if (options.http !== undefined && options.principal !== undefined && !tellsOwners)
    throw new ConfigError('"principal" tells callers apart, and nothing says what each of them owns.', {
      code: "owner_required",
      hint: "Give `owner`, or a verifier of tokens as `http.token`; else all callers would share one owner's data.",
    });
  return { principal: defaultPrincipal, ...options, name, version, pageSize, logger, http };
}

function defaultPrincipal({ transport, client, token, local }: McpRequestInfo): Principal {
  const via = local ? "local" : "network";
  if (token !== undefined) return { kind: "remote", id: token.id, via };
  return { kind: transport === "stdio" ? "remote" : "anonymous", id: client, via };
}

function invalid(message: string): ConfigError {
  return new ConfigError(`MCP server option ${message}`, { code: "invalid_config" });
}
