/** Embeds many texts: in batches, some at once, asked again where a failure may pass. */

import { type Clock, OpenFunctionsError, ProviderError } from "@openfunctions/core";
import { embedChecked, type Embedder, EmbedderError } from "@openfunctions/core/search";

/** How texts are embedded. */
export interface EmbedOptions {
  readonly clock: Clock;
  readonly random?: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Called after each batch with the number of texts that are done. */
  readonly onDone?: (done: number) => void;
}

const BATCH = 64;
const AT_ONCE = 4;
const RETRIES = 2;
const BASE_DELAY_MS = 500;
const MAX_DELAY_MS = 20_000;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Vectors for texts, in order. Throws `EmbedderError` whose `index` is the text's, or the signal's reason; the first
 * failure ends what is under way.
 */
export async function embedTexts(
  embedder: Embedder,
  texts: readonly string[],
  { signal, onDone, ...waiting }: EmbedOptions,
): Promise<readonly (readonly number[])[]> {
  const failed = new AbortController();
  const both = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  const vectors: (readonly number[])[] = [];
  let [next, done] = [0, 0];
  const work = async (): Promise<void> => {
    while (next < texts.length) {
      const start = next;
      next += BATCH;
      const batch = texts.slice(start, start + BATCH).map(embeddable);
      const found = await retried(() => embedBatch(embedder, batch, { start, signal: both }), {
        ...waiting,
        signal: both,
      });
      for (const [index, vector] of found.entries()) vectors[start + index] = vector;
      done += found.length;
      onDone?.(done);
    }
  };
  const workers = Array.from({ length: AT_ONCE }, () =>
    work().catch((cause: unknown) => {
      failed.abort(cause);
      throw cause;
    }),
  );
  await Promise.allSettled(workers);
  signal?.throwIfAborted();
  failed.signal.throwIfAborted();
  return vectors;
}

/** No provider takes a blank text; what is cut from a long run of spaces is one. */
function embeddable(text: string): string {
  return text.trim() === "" ? "(blank)" : text;
}

async function embedBatch(
  embedder: Embedder,
  texts: readonly string[],
  { start, signal }: { readonly start: number; readonly signal: AbortSignal },
): Promise<readonly (readonly number[])[]> {
  const { model } = embedder;
  try {
    return await untilAborted(embedChecked(embedder, texts, { kind: "document", signal }), signal);
  } catch (cause) {
    signal.throwIfAborted();
    const failure = cause instanceof EmbedderError ? cause : undefined;
    const retryable = OpenFunctionsError.is(cause) && cause.retryable;
    const message = cause instanceof Error ? cause.message : `"${model}" failed.`;
    throw new EmbedderError(message, { model, index: start + (failure?.index ?? 0), retryable, cause });
  }
}

/** An embedder that does not hear of an abort is left behind. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Asks again, with growing waits or the one a server asked for, while a failure may pass. */
export async function retried<T>(
  ask: (attempt: number) => Promise<T>,
  { clock, random = Math.random, signal }: Pick<EmbedOptions, "clock" | "random" | "signal">,
): Promise<T> {
  for (let retry = 0; ; retry += 1) {
    try {
      return await ask(retry + 1);
    } catch (cause) {
      signal?.throwIfAborted();
      const provider = providerErrorOf(cause);
      const wait = provider?.retryAfterMs ?? random() * Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** retry);
      const mayPass = OpenFunctionsError.is(cause) && cause.retryable && wait <= MAX_RETRY_AFTER_MS;
      // What was asked again below is not asked again here.
      const isSpent = retry >= RETRIES || (provider !== undefined && provider.attempts > retry + 1);
      if (!mayPass || isSpent) throw cause;
      await clock.sleep(Math.round(wait), signal);
    }
  }
}

function providerErrorOf(error: unknown): ProviderError | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ProviderError) return cause;
  return undefined;
}
