/** Fakes for tests: a clock that only moves when told, fixed ids and randomness, a failing store, a recording logger. */

import { StoreError } from "../errors.ts";
import type { Json } from "../json.ts";
import type { Logger } from "../logger.ts";
import type { Clock } from "../ports.ts";
import type { AnyRunEvent } from "../run-event.ts";
import type { RunEvent } from "../run-event.ts";
import type { Store } from "../store.ts";

/** A clock that stands still until `advance`. */
export interface FakeClock extends Clock {
  /** Moves time on by `ms` milliseconds and runs what is due, in order. */
  advance(ms: number): void;
}

/** A clock that begins at `startMs` (default 2026-01-01T00:00:00Z). */
export function fakeClock(startMs: number = Date.UTC(2026, 0, 1)): FakeClock {
  let now = startMs;
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  const after = (ms: number, callback: () => void): (() => void) => {
    const timer = { at: now + ms, callback };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  return {
    now: () => now,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason);
        const cancel = after(ms, resolve);
        signal?.addEventListener("abort", () => {
          cancel();
          reject(signal.reason);
        });
      }),
    advance: (ms) => {
      const until = now + ms;
      for (;;) {
        const due = [...timers].filter((timer) => timer.at <= until).sort((left, right) => left.at - right.at)[0];
        if (due === undefined) break;
        now = Math.max(now, due.at);
        timers.delete(due);
        due.callback();
      }
      now = until;
    },
  };
}

/** An id source that counts: `prefix_1`, `prefix_2`, … */
export function fixedIds(prefix: string = "id"): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}_${count}`;
  };
}

/** Randomness that gives the values in turn, over and over. */
export function fixedRandom(values: readonly number[] = [0.5]): () => number {
  let next = 0;
  return () => {
    const value = values[next % values.length] ?? 0.5;
    next += 1;
    return value;
  };
}

/** A store that fails where told. */
export function faultyStore<T extends Json>(store: Store<T>, failsOn: (operation: string, key: string) => boolean): Store<T> {
  const guard = (operation: string, key: string): void => {
    if (!failsOn(operation, key)) return;
    throw new StoreError(`The faulty store failed "${operation}" of "${key}" as told.`, { code: "store_failed" });
  };
  return {
    durability: store.durability,
    get: async (key) => (guard("get", key), store.get(key)),
    set: async (key, value) => (guard("set", key), store.set(key, value)),
    delete: async (key) => (guard("delete", key), store.delete(key)),
    has: async (key) => (guard("has", key), store.has(key)),
    list: async (query) => (guard("list", query?.prefix ?? ""), store.list(query)),
    entries: () => (guard("entries", ""), store.entries()),
    size: async () => (guard("size", ""), store.size()),
    clear: async () => (guard("clear", ""), store.clear()),
    update: async (key, change) => (guard("update", key), store.update(key, change)),
    close: () => store.close(),
  };
}

/** One line of a recording logger. */
export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A logger that keeps its lines. */
export function recordingLogger(): Logger & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const add = (level: LogLine["level"]) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
    lines.push(fields === undefined ? { level, message } : { level, message, fields });
  };
  return { lines, debug: add("debug"), info: add("info"), warn: add("warn"), error: add("error") };
}

/** An observer that keeps the events it saw; give its `observe` as a port. */
export function memorySink(): { readonly events: readonly AnyRunEvent[]; readonly observe: (event: RunEvent) => void } {
  const events: AnyRunEvent[] = [];
  return { events, observe: (event) => events.push(event as AnyRunEvent) }; // Proof: every RunEvent is one of the union's members
}
