/** The one writer of a run's events: numbers, times, seals and chains them, then stores and delivers them. */

import { describeThrown } from "./describe-thrown.ts";
import type { Digest } from "./digest.ts";
import { OpenFunctionsError, StoreError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Ports } from "./ports.ts";
import {
  type AnyRunEvent,
  type ChainType,
  type EventData,
  type LiveEvent,
  type RunEvent,
  chainStart,
  hashEvent,
} from "./run-event.ts";
import { RunFold } from "./run-fold.ts";
import type { RunRecord } from "./run-record.ts";
import type { RecordedRun } from "./recorded-run.ts";
import { sealRun } from "./run-seal.ts";
import type { RecordSigner, SealLine } from "./record-line.ts";
import type { AppendOptions, RunStore } from "./run-store.ts";
import { type Capture, type Redact, type Sealer, createSealer } from "./sealed.ts";

/** What a log needs. */
export interface RunLogOptions {
  readonly runId: string;
  readonly ports: Ports;
  readonly capture: Capture;
  readonly redact: Redact;
  readonly logger: Logger;
  readonly store?: RunStore;
  /** Signs the head once the run has ended. */
  readonly signer?: RecordSigner;
  /** The record this log is made again beside. */
  readonly replay?: RecordedRun;
  /** What another writer wrote of this run before; the log goes on where it ends. */
  readonly from?: readonly AnyRunEvent[];
  /** What a failing store does to the run: ends it, or is only reported. */
  readonly onStoreFailure: "fail_closed" | "warn";
  /** Receives every event in order, chain events after they were appended. */
  readonly deliver?: (event: AnyRunEvent | LiveEvent) => void;
}

/** Writes one run. */
export class RunLog {
  readonly runId: string;
  readonly seal: Sealer;
  readonly #options: RunLogOptions;
  readonly #fold = new RunFold();
  #outbox: (AnyRunEvent | LiveEvent)[] = [];
  #pendingChain = 0;
  #seq = 0;
  #stored = 0;
  #liveCount = 0;
  #lastMs = 0;
  #lastAt = "";
  #head: Digest;
  #seal: SealLine | undefined;
  /** True where the next batch must outlive the machine. */
  #durable = false;
  #flushing: Promise<void> | undefined;
  #scheduled = false;
  #failure: StoreError | undefined;
  /** What a failing store did not take; tried again with the next batch. */
  #unstored: AnyRunEvent[] = [];

  constructor(options: RunLogOptions) {
    this.#options = options;
    this.runId = options.runId;
    this.#head = chainStart(options.runId);
    this.#continue(options.from ?? []);
    this.seal = createSealer(options.capture, {
      redact: options.redact,
      onFailure: (cause) =>
        options.logger.error("A value could not be sealed; the record has a leaf without it.", {
          cause: describeThrown(cause),
          runId: options.runId,
        }),
    });
  }

  /** True while the store lacks something of this log. */
  get isBehind(): boolean {
    return this.#unstored.length > 0;
  }

  /** The seal of a finished, signed log. */
  get sealLine(): SealLine | undefined {
    return this.#seal;
  }

  /** Set once the store failed and the run is to end for it. */
  get failure(): StoreError | undefined {
    return this.#failure;
  }

  /** True once the run has its terminal event. */
  get ended(): boolean {
    return this.#fold.ended;
  }

  /** Appends an event to the chain. It is stored and delivered soon, together with others of the same tick. */
  emit<T extends ChainType>(type: T, data: EventData[T]): void {
    // An adapter or handler that outlives the run has nothing to add: no event follows the terminal one.
    if (this.#fold.ended) return;
    const { signer, replay } = this.#options;
    const facts = replay?.facts(type, data) ?? { at: this.#now(), data };
    const open = {
      v: 1 as const,
      runId: this.runId,
      seq: this.#seq,
      at: facts.at,
      type,
      data: facts.data,
      prev: this.#head,
    };
    const event = { ...open, hash: hashEvent(open) } as AnyRunEvent; // Proof: type and data are tied by T
    this.#seq += 1;
    this.#liveCount = 0;
    this.#head = event.hash;
    this.#fold.apply(event);
    if (signer !== undefined && this.#fold.ended) {
      const log = { runId: this.runId, events: this.#seq, head: this.#head, signedAt: event.at };
      this.#seal = sealRun(log, signer);
    }
    this.#outbox.push(event);
    this.#pendingChain += 1;
    this.#schedule();
    replay?.seen(event);
    const { next } = replay ?? {};
    // A handler that outlived its call in the record has no handler here.
    if (next?.type === "tool.settled") this.emit("tool.settled", next.data);
  }

  /** Reports something that is not part of the record, after all events before it. */
  live(type: LiveEvent["type"], data: Json): void {
    const { deliver } = this.#options;
    if (deliver === undefined) return;
    const event = { runId: this.runId, after: this.#seq - 1, n: this.#liveCount, type, data };
    this.#liveCount += 1;
    if (this.#pendingChain > 0 || this.#flushing !== undefined) this.#outbox.push(event);
    else deliver(event);
  }

  /** The record as it stands. */
  record(): RunRecord {
    return this.#fold.record();
  }

  /**
   * Resolves once everything emitted so far is stored and delivered; on the disk where it is to be `durable`. Never
   * rejects: see `failure`.
   */
  async flush({ durable = false }: { readonly durable?: boolean } = {}): Promise<void> {
    this.#durable ||= durable;
    while (this.#flushing !== undefined || this.#outbox.length > 0) {
      await (this.#flushing ?? this.#start());
    }
  }

  #continue(events: readonly AnyRunEvent[]): void {
    for (const event of events) this.#fold.apply(event);
    const last = events.at(-1);
    if (last === undefined) return;
    this.#seq = last.seq + 1;
    this.#stored = this.#seq;
    this.#head = last.hash;
    this.#lastAt = last.at;
    this.#lastMs = Date.parse(last.at);
  }

  // A backward clock repeats the last value, so `at` never goes back.
  #now(): string {
    const now = this.#options.ports.clock.now();
    if (now > this.#lastMs || this.#lastAt === "") {
      this.#lastMs = Math.max(now, this.#lastMs);
      this.#lastAt = new Date(this.#lastMs).toISOString();
    }
    return this.#lastAt;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After what can happen without waiting has happened: a phase is one append, and no reader waits for long.
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#flushing === undefined && this.#outbox.length > 0) void this.#start();
    });
  }

  #start(): Promise<void> {
    const batch = this.#outbox;
    this.#outbox = [];
    this.#pendingChain = 0;
    const { store } = this.#options;
    if (store === undefined || this.#failure !== undefined) {
      this.#deliver(batch);
      return Promise.resolve();
    }
    this.#flushing = this.#write(store, batch).finally(() => {
      this.#flushing = undefined;
      if (this.#outbox.length > 0) this.#schedule();
    });
    return this.#flushing;
  }

  async #write(store: RunStore, batch: readonly (AnyRunEvent | LiveEvent)[]): Promise<void> {
    const events = [...this.#unstored, ...batch.filter((event) => "seq" in event)];
    try {
      if (events.length > 0) await store.append(this.runId, events, this.#appendOptions(events));
      this.#stored += events.length;
      this.#unstored = [];
    } catch (cause) {
      this.#unstored = events;
      this.#fail(cause);
    }
    this.#deliver(batch);
  }

  /** The seal goes in with the event it signs. */
  #appendOptions(events: readonly AnyRunEvent[]): AppendOptions {
    const seal = this.#seal?.head === events.at(-1)?.hash ? this.#seal : undefined;
    const durable = this.#durable || events.some(({ type }) => isBoundary(type));
    this.#durable = false;
    return { expectedSeq: this.#stored, durable, ...(seal === undefined ? {} : { seal }) };
  }

  #fail(cause: unknown): void {
    const error =
      OpenFunctionsError.is(cause) && cause instanceof StoreError
        ? cause
        : new StoreError(`Run "${this.runId}" could not be stored.`, { code: "store_failed", cause });
    this.#options.logger.error(error.message, { code: error.code, runId: this.runId });
    if (this.#options.onStoreFailure === "fail_closed") this.#failure = error;
  }

  #deliver(batch: readonly (AnyRunEvent | LiveEvent)[]): void {
    const { deliver, ports } = this.#options;
    for (const event of batch) {
      deliver?.(event);
      if ("seq" in event && ports.observe !== undefined) this.#observe(event, ports.observe);
    }
  }

  #observe(event: AnyRunEvent, observe: (event: RunEvent) => void): void {
    try {
      observe(event);
    } catch (cause) {
      this.#options.logger.warn("An observer of run events threw.", {
        cause: describeThrown(cause),
        runId: this.runId,
      });
    }
  }
}

/** True for an event that somebody acts on, so that it must not be lost. */
function isBoundary(type: ChainType): boolean {
  return (type.startsWith("run.") && type !== "run.started") || type.startsWith("approval.");
}
