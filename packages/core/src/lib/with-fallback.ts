/** Several adapters as one: the next answers where one cannot. */

import type { AIAdapter, ModelCapabilities, ModelEvent, ModelRequest } from "./adapter.ts";
import { defineAdapter } from "./define-adapter.ts";
import { ConfigError, OpenFunctionsError, ProviderError, type ProviderErrorKind } from "./errors.ts";
import type { Message } from "./message.ts";
import { type Clock, systemClock } from "./ports.ts";

/** When and how fast a chain moves on. */
export interface FallbackOptions {
  /** Default: rate limits, quota, overload, timeouts, network failures and statuses of 500 and above. */
  readonly when?: (error: unknown) => boolean;
  /** Milliseconds one adapter may take for its whole reply. Default: as long as its own limits allow. */
  readonly perAttemptMs?: number;
  /** Default: the real clock. */
  readonly clock?: Clock;
}

const PASSING: readonly ProviderErrorKind[] = ["rate_limit", "quota", "overloaded", "timeout", "network"];

/**
 * An adapter that asks the first of the chain, and the next one where `when` says so of the failure (after the
 * adapter's own retries). Each move is a `fallback` event, after a `reset` where content had come, so that a reply never
 * mixes models. While a tool loop holds opaque parts of one adapter, that one is asked first, since they belong to it.
 * It has the capabilities that all of the chain have. The last failure is thrown as it is; an abort moves nothing.
 * Throws `ConfigError` for an empty chain or a time that is not positive. Spec adapters.md section 11.
 */
export function withFallback(chain: readonly AIAdapter[], options: FallbackOptions = {}): AIAdapter {
  const [first] = chain;
  const { perAttemptMs } = options;
  if (first === undefined)
    throw new ConfigError("A fallback chain needs at least one adapter.", { code: "invalid_config" });
  if (perAttemptMs !== undefined && !(perAttemptMs > 0))
    throw new ConfigError("`perAttemptMs` must be more than 0 milliseconds.", { code: "invalid_config" });
  return defineAdapter({
    provider: first.provider,
    model: first.model,
    capabilities: sharedCapabilities(chain),
    stream: (request) => ask(orderFor(chain, request.messages), request, options),
  });
}

async function* ask(
  chain: readonly AIAdapter[],
  request: ModelRequest,
  options: FallbackOptions,
): AsyncGenerator<ModelEvent> {
  const when = options.when ?? mayPass;
  for (const [place, adapter] of chain.entries()) {
    const next = chain[place + 1];
    // Who began is who answers only once something came of it.
    let start: ModelEvent | undefined = place === 0 ? undefined : { type: "start", model: adapter.model };
    let delivered = false;
    try {
      for await (const event of attempt(adapter, request, options)) {
        if (event.type === "start") {
          start = { ...event, model: event.model ?? adapter.model };
          continue;
        }
        if (start !== undefined && (isContent(event) || event.type === "finish")) {
          yield start;
          start = undefined;
        }
        delivered ||= isContent(event);
        yield event;
      }
      return;
    } catch (cause) {
      request.signal?.throwIfAborted();
      if (next === undefined || !when(cause)) throw cause;
      const reason = cause instanceof Error ? cause.message : "it failed";
      if (delivered) yield { type: "reset", reason };
      yield { type: "fallback", from: nameOf(adapter), to: nameOf(next), reason };
    }
  }
}

/** One adapter's stream, ended as a timeout after `perAttemptMs`. */
async function* attempt(
  adapter: AIAdapter,
  request: ModelRequest,
  { perAttemptMs, clock = systemClock }: FallbackOptions,
): AsyncGenerator<ModelEvent> {
  if (perAttemptMs === undefined) return yield* adapter.stream(request);
  const limit = new AbortController();
  const late = new ProviderError(`${nameOf(adapter)} did not finish within ${perAttemptMs} ms.`, {
    provider: adapter.provider,
    kind: "timeout",
  });
  const cancel = clock.after(perAttemptMs, () => limit.abort(late));
  const { signal } = request;
  try {
    const both = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
    yield* adapter.stream({ ...request, signal: both });
  } finally {
    cancel();
  }
}

/** The adapter whose opaque parts stand in the open tool loop goes first; the others keep their order. */
function orderFor(chain: readonly AIAdapter[], messages: readonly Message[]): readonly AIAdapter[] {
  const loop = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const opaque = loop
    .flatMap(({ content }) => (typeof content === "string" ? [] : content))
    .findLast((part) => part.type === "provider");
  const owner = chain.find(({ provider, model }) => provider === opaque?.provider && model === opaque.model);
  return owner === undefined ? chain : [owner, ...chain.filter((adapter) => adapter !== owner)];
}

function sharedCapabilities(chain: readonly AIAdapter[]): ModelCapabilities {
  const all = (key: keyof ModelCapabilities): boolean => chain.every(({ capabilities }) => capabilities[key]);
  return {
    parallelCalls: all("parallelCalls"),
    forcedChoice: all("forcedChoice"),
    jsonSchema: all("jsonSchema"),
    jsonSchemaWithTools: all("jsonSchemaWithTools"),
    images: all("images"),
    priced: all("priced"),
  };
}

function mayPass(error: unknown): boolean {
  if (!OpenFunctionsError.is(error) || !("kind" in error)) return false;
  const { kind, status } = error as ProviderError; // Proof: only provider errors have a kind
  return PASSING.includes(kind) || (status ?? 0) >= 500;
}

function isContent({ type }: ModelEvent): boolean {
  return (
    type === "text_delta" || type === "reasoning_delta" || type.startsWith("tool_call") || type === "part"
  );
}

function nameOf({ provider, model }: AIAdapter): string {
  return `${provider}/${model}`;
}
