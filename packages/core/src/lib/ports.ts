/** Ports: everything non-deterministic a run touches, so that a run can be replayed and tested. */

import type { Json } from "./json.ts";
import { randomUUID } from "node:crypto";
import type { RunEvent } from "./run-event.ts";
import type { JsonSchema } from "./schema.ts";

/** The clock. Milliseconds since 1970-01-01 UTC. */
export interface Clock {
  now(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason at once on abort. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back once after `ms` milliseconds; the returned function cancels. */
  after(ms: number, callback: () => void): () => void;
}

/** Question for a person. */
export interface UserQuestion {
  readonly text: string;
  readonly schema?: JsonSchema;
}

/** What a run may reach outside itself. */
export interface Ports {
  readonly clock: Clock;
  /** UUIDv7 text, never going back within one source. */
  readonly ids: () => string;
  /** A number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  readonly fetch: typeof fetch;
  /** Asks a person. Without it, a question is an error result. */
  readonly askUser?: (question: UserQuestion, signal: AbortSignal) => Promise<Json>;
  /** Sees every event of every run after it was appended; its errors are isolated. */
  readonly observe?: (event: RunEvent) => void;
}

/** The real clock. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  sleep: (ms: number, signal?: AbortSignal) => sleep(ms, signal),
  after,
});

/** Real ports, any of them replaced by `overrides`. */
export function createPorts(overrides: Partial<Ports> = {}): Ports {
  const clock = overrides.clock ?? systemClock;
  return {
    clock,
    ids: overrides.ids ?? createIdSource(clock),
    random: overrides.random ?? Math.random,
    fetch: overrides.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    ...(overrides.askUser === undefined ? {} : { askUser: overrides.askUser }),
    ...(overrides.observe === undefined ? {} : { observe: overrides.observe }),
  };
}

/**
 * A source of UUIDv7 (RFC 9562 section 5.7): 48 bits of clock, a 12-bit counter so that ids of one millisecond
 * stay in order, 62 random bits.
 */
function createIdSource(clock: Clock): () => string {
  let lastMs = 0;
  let counter = 0;
  return () => {
    const now = clock.now();
    if (now > lastMs) {
      lastMs = now;
      counter = 0;
    } else {
      counter += 1;
      if (counter > 0xfff) {
        lastMs += 1;
        counter = 0;
      }
    }
    return formatUuid(lastMs, counter);
  };
}

/** The variant and the 62 random bits are those of a version 4 UUID, which Node draws in blocks. */
function formatUuid(ms: number, counter: number): string {
  const time = ms.toString(16).padStart(12, "0");
  const count = counter.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}${randomUUID().slice(18)}`;
}

/** The longest time a timer of Node takes; a longer one goes off at once. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** A timer of any length, also without end. */
function after(ms: number, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const arm = (left: number): void => {
    const next = left > MAX_TIMER_MS ? () => arm(left - MAX_TIMER_MS) : callback;
    timer = setTimeout(next, Math.min(left, MAX_TIMER_MS));
  };
  arm(ms);
  return () => clearTimeout(timer);
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const cancel = after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    function onAbort(): void {
      cancel();
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
