/** A compactor's turn before a model call: within a time limit, judged by what it saved. */

import type { Usage } from "./adapter.ts";
import { describeThrown } from "./describe-thrown.ts";
import { OpenFunctionsError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Message } from "./message.ts";
import type { Clock } from "./ports.ts";

/** What a compactor is told besides the messages. */
export interface CompactionRequest {
  readonly signal: AbortSignal;
  /** True where a provider said that the history does not fit; else it is asked before every model call. */
  readonly overflowed: boolean;
  /** Characters of the instructions and tools, which stand in every request besides the messages. */
  readonly fixedChars: number;
  /** What the last model call read and wrote, in tokens, and how many messages that were; absent before the first. */
  readonly last?: { readonly tokens: number; readonly messages: number };
  readonly owner: string;
  readonly runId: string;
}

/** A shorter history, and what became of the rest. */
export interface Compaction {
  readonly messages: readonly Message[];
  /** What was done, such as `results_shortened`, in order. */
  readonly rules?: readonly string[];
  /** Estimates; left out, they are made of the lengths of the messages. */
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  /** What a model used that summed up. */
  readonly usage?: Usage;
}

/** Shortens a history that no longer fits the model's window; never splits a call from its result. */
export interface Compactor {
  /** Undefined leaves the history as it is. What it throws is logged, and leaves it too. */
  compact(messages: readonly Message[], request: CompactionRequest): Promise<Compaction | undefined>;
}

/** A compaction with its sizes, in tokens. */
export type SizedCompaction = Compaction & { readonly tokensBefore: number; readonly tokensAfter: number };

/** What asking a compactor needs. */
export interface CompactorScope {
  readonly clock: Clock;
  readonly logger: Logger;
}

const TIME_LIMIT_MS = 60_000;
const CHARS_PER_TOKEN = 4;
const LEAST_SAVED = 0.1;

/** Asks a run's compactor. */
export class LoopCompaction {
  readonly #compactor: Compactor;
  readonly #scope: CompactorScope;
  #made = 0;

  constructor(compactor: Compactor, scope: CompactorScope) {
    this.#compactor = compactor;
    this.#scope = scope;
  }

  /** What the compactor made of the history; undefined where it left it. Never rejects but for the run's own signal. */
  async ask(messages: readonly Message[], request: CompactionRequest): Promise<SizedCompaction | undefined> {
    const late = new AbortController();
    const cancel = this.#scope.clock.after(TIME_LIMIT_MS, () => late.abort(new Error("the time limit")));
    const signal = AbortSignal.any([request.signal, late.signal]);
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    // A compactor that throws at once leaves nobody who waits for this; a later abort must not end the process.
    stopped.catch(() => {});
    try {
      signal.throwIfAborted();
      const asked = this.#compactor.compact(messages, { ...request, signal });
      const compaction = await Promise.race([asked, stopped]);
      return compaction === undefined ? undefined : sized(messages, compaction);
    } catch (cause) {
      request.signal.throwIfAborted();
      const { runId } = request;
      this.#scope.logger.warn("The compactor failed; the history stays.", {
        runId,
        cause: describeThrown(cause),
      });
      return undefined;
    } finally {
      cancel();
    }
  }

  /** Throws `context_overflow` where a run is shortened again and it saved next to nothing. */
  judge({ tokensBefore, tokensAfter }: SizedCompaction): void {
    this.#made += 1;
    if (this.#made < 2 || tokensAfter <= tokensBefore * (1 - LEAST_SAVED)) return;
    throw new OpenFunctionsError(
      `The history does not fit the model's window, and shortening it again saved too little (${tokensBefore} to ${tokensAfter} tokens).`,
      { code: "context_overflow", hint: "Start a new conversation, or use a model with a larger window." },
    );
  }
}

/** Throws for what is no compaction: it would stand in the record, and no run could go on from there. */
function sized(messages: readonly Message[], compaction: Compaction): SizedCompaction {
  if (!isHistory(compaction.messages)) throw new TypeError("What it gave is no list of messages.");
  const { tokensBefore = tokensOf(messages), tokensAfter = tokensOf(compaction.messages) } = compaction;
  const counts = [tokensBefore, tokensAfter, ...Object.values(compaction.usage ?? {})];
  const isCount = (count: unknown): boolean =>
    typeof count !== "number" || (Number.isFinite(count) && count >= 0);
  if (!counts.every(isCount)) throw new TypeError("What it counted is no number of tokens.");
  return { ...compaction, tokensBefore, tokensAfter };
}

function isHistory(messages: unknown): boolean {
  return Array.isArray(messages) && messages.length > 0 && messages.every(isMessage);
}

function isMessage(message: unknown): boolean {
  if (!isPlainObject(message)) return false;
  const { role, content } = message;
  if (role !== "user" && role !== "assistant" && role !== "tool") return false;
  return typeof content === "string" || (Array.isArray(content) && content.every(isPlainObject));
}

function tokensOf(messages: readonly Message[]): number {
  return Math.ceil(JSON.stringify(messages).length / CHARS_PER_TOKEN);
}
