/** How calls write into a run's log, and what becomes of handlers that outlive their calls. */

import type { CallJournal } from "./call-context.ts";
import type { StoreError } from "./errors.ts";
import type { Clock } from "./ports.ts";
import type { ChainType, EventData } from "./run-event.ts";
import type { RunLog } from "./run-log.ts";
import type { Sealer } from "./sealed.ts";

/** Handlers of one run that were still busy when their calls had ended. */
export class LateHandlers {
  readonly #log: RunLog;
  readonly #busy = new Set<Promise<void>>();

  constructor(log: RunLog) {
    this.#log = log;
  }

  /** Records the handler's end, if the run's log is open by then. */
  keep(callId: string, settled: Promise<void>): void {
    const noted = settled.then(() => {
      this.#busy.delete(noted);
      if (!this.#log.ended) this.#log.emit("tool.settled", { callId });
    });
    this.#busy.add(noted);
  }

  /** Waits until all have come to their end, at most `ms` milliseconds. */
  async wait(ms: number, clock: Clock): Promise<void> {
    if (this.#busy.size === 0) return;
    const done = new AbortController();
    const grace = clock.sleep(ms, done.signal).catch(() => {});
    await Promise.race([Promise.all(this.#busy), grace]);
    done.abort();
  }
}

/** The part of a run's log that one call writes. */
export class LogJournal implements CallJournal {
  readonly round: number;
  readonly index: number;
  readonly #log: RunLog;
  readonly #late: LateHandlers;

  constructor(log: RunLog, late: LateHandlers, place: { readonly round: number; readonly index: number }) {
    this.#log = log;
    this.#late = late;
    this.round = place.round;
    this.index = place.index;
  }

  get seal(): Sealer {
    return this.#log.seal;
  }

  get failure(): StoreError | undefined {
    return this.#log.failure;
  }

  emit<T extends ChainType>(type: T, data: EventData[T]): void {
    this.#log.emit(type, data);
  }

  flush(): Promise<void> {
    return this.#log.flush({ durable: true });
  }

  late(callId: string, settled: Promise<void>): void {
    this.#late.keep(callId, settled);
  }
}
