/** Embedders over HTTP: one request at a time, in the provider's limits, asked again where a failure may pass. */

import { ConfigError, createPorts, OpenFunctionsError, type Ports, ProviderError } from "@openfunctions/core";
import { embedChecked, type Embedder, EmbedderError } from "@openfunctions/core/search";
import { failureReading, isRecord, providerErrorFromHttp } from "@openfunctions/core/wire";
import { retried } from "./embed-texts.ts";

/** What every embedder over HTTP takes. */
export interface HttpEmbedderOptions {
  /** Sent in a header and nowhere else. */
  readonly apiKey: string;
  /** Where the API is, without the path of the call; for a server of your own, or a proxy. */
  readonly baseUrl?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For one try, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  readonly ports?: Partial<Pick<Ports, "clock" | "random" | "fetch">>;
}

/** What differs between providers. */
export interface EmbedderWire {
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number;
  readonly maxInputTokens: number;
  /** Of one request. */
  readonly maxTexts: number;
  readonly maxTokens: number;
  readonly url: string;
  /** With the key. */
  readonly headers: Readonly<Record<string, string>>;
  body(texts: readonly string[], kind: "document" | "query"): unknown;
  /** The vectors of an answer, in the order of the texts; undefined where it has none. */
  read(answer: Readonly<Record<string, unknown>>): readonly unknown[] | undefined;
}

/**
 * An embedder that speaks a wire. A text whose tokens may be over the limit is an `EmbedderError` naming it before
 * anything is sent: some servers cut what is too long in silence. Errors hold no key.
 */
export function createHttpEmbedder(wire: EmbedderWire, options: HttpEmbedderOptions): Embedder {
  const { model, dimensions, maxInputTokens } = wire;
  checkPlace(wire, options);
  const embedder: Embedder = {
    model,
    dimensions,
    maxInputTokens,
    semantic: true,
    embed: async (texts, { kind, signal }) => {
      const vectors: (readonly number[])[] = [];
      for (const batch of batchesOf(texts, wire)) {
        const start = vectors.length;
        const asked = { kind, start, ...(signal === undefined ? {} : { signal }) };
        vectors.push(...(await askFor(batch, asked, { wire, options })));
      }
      return vectors;
    },
  };
  // The checks of core name the text at fault here too, whoever calls.
  return { ...embedder, embed: (texts, how) => embedChecked(embedder, texts, how) };
}

/** A request that cannot be made would be told of with its address and its headers. */
function checkPlace({ provider, url, headers }: EmbedderWire, options: HttpEmbedderOptions): void {
  const place = URL.parse(url);
  const isPlain = place?.username === "" && place.password === "" && /^https?:$/.test(place.protocol);
  if (!isPlain || /[?#]/.test(options.baseUrl ?? ""))
    throw new ConfigError(`The address of "${provider}" is no http URL without credentials and query.`, {
      code: "invalid_config",
    });
  try {
    new Headers({ ...options.headers, ...headers });
  } catch {
    // What it says holds the key.
    throw new ConfigError(`The key or a header for "${provider}" holds characters that no header can.`, {
      code: "invalid_config",
    });
  }
}

/**
 * Tokens of a text, on the safe side: prose has more characters to a token, and so has most code.
 */
function tokensAtMost(text: string): number {
  let halves = 0;
  for (let index = 0; index < text.length; index += 1) halves += text.charCodeAt(index) < 128 ? 1 : 3;
  return Math.ceil(halves / 2);
}

function batchesOf(texts: readonly string[], wire: EmbedderWire): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let [batch, left]: [string[], number] = [[], 0];
  for (const [index, text] of texts.entries()) {
    const tokens = tokensAtMost(text);
    if (tokens > wire.maxInputTokens)
      throw new EmbedderError(
        `Text ${index} has about ${tokens} tokens, and "${wire.model}" takes ${wire.maxInputTokens}; cut it into smaller chunks.`,
        { model: wire.model, index },
      );
    if (batch.length === 0 || batch.length >= wire.maxTexts || tokens > left) {
      batch = [];
      batches.push(batch);
      left = wire.maxTokens;
    }
    batch.push(text);
    left -= tokens;
  }
  return batches;
}

interface Asked {
  readonly kind: "document" | "query";
  readonly start: number;
  readonly signal?: AbortSignal;
}

async function askFor(
  texts: readonly string[],
  { kind, start, signal }: Asked,
  target: { readonly wire: EmbedderWire; readonly options: HttpEmbedderOptions },
): Promise<readonly (readonly number[])[]> {
  const { wire, options } = target;
  const { model, provider } = wire;
  const { clock, random } = createPorts(options.ports);
  try {
    const body = JSON.stringify(wire.body(texts, kind));
    const answer = await retried((attempt) => post(body, { ...target, attempt, signal }), {
      clock,
      random,
      signal,
    });
    const vectors = isRecord(answer) ? wire.read(answer) : undefined;
    if (vectors === undefined)
      throw new ProviderError(`${provider} gave no embeddings.`, { provider, kind: "protocol" });
    return vectors.map((vector) => (Array.isArray(vector) ? vector.map(toNumber) : []));
  } catch (cause) {
    signal?.throwIfAborted();
    const retryable = OpenFunctionsError.is(cause) && cause.retryable;
    const message = cause instanceof Error ? cause.message : `${provider} failed.`;
    throw new EmbedderError(message, { model, index: start, retryable, cause });
  }
}

function toNumber(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}

interface Attempt {
  readonly wire: EmbedderWire;
  readonly options: HttpEmbedderOptions;
  readonly attempt: number;
  readonly signal: AbortSignal | undefined;
}

/** One try. Throws `ProviderError` with the number of tries so far. */
async function post(body: string, { wire, options, attempt, signal }: Attempt): Promise<unknown> {
  const { provider, url, headers } = wire;
  const { fetch } = createPorts(options.ports);
  const late = AbortSignal.timeout(options.timeoutMs ?? 60_000);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...options.headers, ...headers, "content-type": "application/json" },
      body,
      // A key is not carried to another place.
      redirect: "error",
      signal: signal === undefined ? late : AbortSignal.any([signal, late]),
    });
    if (response.ok) return await response.json();
    const failure = { status: response.status, headers: response.headers, body: await response.text() };
    throw providerErrorFromHttp(
      failure,
      failureReading(provider, { apiKey: options.apiKey, headers: options.headers }),
    );
  } catch (cause) {
    signal?.throwIfAborted();
    throw withAttempt(cause, { provider, attempt, isLate: late.aborted });
  }
}

function withAttempt(
  cause: unknown,
  {
    provider,
    attempt,
    isLate,
  }: { readonly provider: string; readonly attempt: number; readonly isLate: boolean },
): ProviderError {
  if (cause instanceof ProviderError) {
    const { message, kind, status, retryable, retryAfterMs, bodyExcerpt } = cause;
    const rest = {
      ...(status === undefined ? {} : { status }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(bodyExcerpt === undefined ? {} : { bodyExcerpt }),
    };
    return new ProviderError(message, { provider, kind, retryable, attempts: attempt, cause, ...rest });
  }
  const kind = isLate ? "timeout" : cause instanceof SyntaxError ? "protocol" : "network";
  const what = isLate
    ? "did not answer in time"
    : kind === "protocol"
      ? "gave no JSON"
      : "could not be reached";
  return new ProviderError(`${provider} ${what}.`, { provider, kind, attempts: attempt, cause });
}
