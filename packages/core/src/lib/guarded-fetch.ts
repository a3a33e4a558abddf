/** Fetches a URL that somebody else chose, without reaching the machine or network it runs in. */

import { lookup as systemLookup } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { OpenFunctionsError } from "./errors.ts";
import { isPublicAddress } from "./ip-address.ts";

/** Resolves a host name to its addresses. Injected in tests. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

/** How a guarded fetch is bounded. */
export interface GuardedFetchOptions {
  /** Host names (or `host:port`) the owner configured: these may be private. Default none. */
  readonly allowHosts?: readonly string[];
  /** Default 10 MiB of body. */
  readonly maxBytes?: number;
  /** For everything, redirects and body included. Default 30 000. */
  readonly timeoutMs?: number;
  /** Default: the system's. */
  readonly resolver?: Resolver;
}

/** What is sent with the GET. */
export interface GuardedRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** What came back. `url` is the last one of a chain of redirects. */
export interface GuardedResponse {
  readonly url: string;
  readonly status: number;
  /** Lower-case names; several values joined by ",". */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** The body as UTF-8. */
  text(): string;
}

/** Fetches a URL under guard, by GET. */
export type GuardedFetch = (url: string | URL, request?: GuardedRequest) => Promise<GuardedResponse>;

const MAX_REDIRECTS = 5;
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * Makes a fetch for URLs from models, documents and remote systems (security case S19). Only http and https,
 * no credentials in the URL. The host is resolved once, every address it has must be public, and the connection
 * goes to that very address, so that a second answer of the resolver changes nothing; each redirect is checked
 * anew and drops the caller's headers when it leaves the origin. Throws `OpenFunctionsError`: `blocked_address`
 * for what may not be reached, `fetch_failed` for network failures, too many redirects, size and time. An abort
 * rejects with the signal's reason. HTTP error statuses are not errors here.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { maxBytes = MAX_BYTES, timeoutMs = 30_000, resolver = resolveBySystem } = options;
  const allowHosts = (options.allowHosts ?? []).map((host) => host.toLowerCase());
  const settings: Settings = { allowHosts, maxBytes, timeoutMs, resolver };
  return async (url, request = {}) => {
    const timeout = AbortSignal.timeout(settings.timeoutMs);
    const signal = request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]);
    try {
      return await follow(parseUrl(url), { ...request, signal }, settings);
    } catch (cause) {
      request.signal?.throwIfAborted();
      if (timeout.aborted) throw failed(`did not finish within ${settings.timeoutMs} ms`, url, cause);
      throw OpenFunctionsError.is(cause) ? cause : failed("could not be fetched", url, cause);
    }
  };
}

type Settings = Required<GuardedFetchOptions>;
type Sending = GuardedRequest & { readonly signal: AbortSignal };

async function follow(start: URL, sending: Sending, settings: Settings): Promise<GuardedResponse> {
  let url = start;
  let request = sending;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const address = await checkedAddress(url, request, settings);
    const response = await send(url, request, address);
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0) || location === undefined)
      return await read(response, url, settings.maxBytes);
    response.destroy();
    const next = parseUrl(URL.canParse(location, url.href) ? new URL(location, url) : location);
    if (next.origin !== url.origin) request = { signal: request.signal }; // another origin gets no headers
    url = next;
  }
  throw failed(`was redirected more than ${MAX_REDIRECTS} times`, start);
}

function parseUrl(input: string | URL): URL {
  let url: URL;
  try {
    url = new URL(input);
  } catch (cause) {
    throw blocked("is not an absolute URL", { cause });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw blocked(`uses "${url.protocol}", and only http and https are fetched`);
  if (url.username !== "" || url.password !== "") throw blocked("carries credentials");
  return url;
}

async function checkedAddress(url: URL, request: Sending, settings: Settings): Promise<string | undefined> {
  // A trailing dot is the same host to a resolver and another to a list of names.
  const hostname = url.hostname.replace(/\.$/, "").toLowerCase();
  if (settings.allowHosts.includes(hostname) || settings.allowHosts.includes(`${hostname}:${url.port}`))
    return undefined;
  if (hostname === "" || isLocalName(hostname))
    throw blocked(`names "${hostname}", which is not a public host`);
  const literal = hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(literal) !== 0 ? [literal] : await settings.resolver(hostname);
  request.signal.throwIfAborted();
  const inside = addresses.find((address) => !isPublicAddress(address));
  if (inside !== undefined) throw blocked(`leads to "${hostname}", which is not a public address`);
  const [address] = addresses;
  if (address === undefined) throw failed("names a host without an address", url);
  return address;
}

/** Names that never mean a public host, and the metadata services of clouds that answer by name. */
function isLocalName(hostname: string): boolean {
  return (
    /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/.test(hostname) ||
    (!hostname.includes(".") && !hostname.startsWith("["))
  );
}

function send(url: URL, request: Sending, address: string | undefined): Promise<IncomingMessage> {
  const start = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const outgoing = start(url, {
      headers: { "accept-encoding": "identity", ...request.headers },
      signal: request.signal,
      agent: false,
      // The one address that was checked. A literal in the URL never gets here, it was checked as it is.
      ...(address === undefined ? {} : { lookup: pinned(address) }),
    });
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
    outgoing.end();
  });
}

type LookupAnswer = (
  error: null,
  address: string | { readonly address: string; readonly family: number }[],
  family?: number,
) => void;

function pinned(
  address: string,
): (hostname: string, options: { readonly all?: boolean | undefined }, answer: LookupAnswer) => void {
  const family = address.includes(":") ? 6 : 4;
  return (_hostname, options, answer) => {
    if (options.all === true) answer(null, [{ address, family }]);
    else answer(null, address, family);
  };
}

async function read(response: IncomingMessage, url: URL, maxBytes: number): Promise<GuardedResponse> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes = Buffer.from(chunk);
    size += bytes.byteLength;
    if (size > maxBytes) {
      response.destroy();
      throw failed(`is larger than ${maxBytes} bytes`, url);
    }
    chunks.push(bytes);
  }
  if (!response.complete) throw failed("ended early", url);
  const body = Buffer.concat(chunks);
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  return {
    url: url.href,
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers),
    body,
    text: () => body.toString("utf8"),
  };
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await systemLookup(hostname, { all: true });
  return found.map((entry) => entry.address);
}

function blocked(why: string, options: { readonly cause?: unknown } = {}): OpenFunctionsError {
  return new OpenFunctionsError(`This URL ${why}.`, {
    code: "blocked_address",
    hint: "Only public http and https addresses are fetched; the owner can allow a host by name.",
    ...options,
  });
}

function failed(what: string, url: string | URL, cause?: unknown): OpenFunctionsError {
  const origin = URL.canParse(String(url)) ? new URL(url).origin : "";
  return new OpenFunctionsError(`The page at "${origin}" ${what}.`, {
    code: "fetch_failed",
    retryable: true,
    cause,
  });
}
