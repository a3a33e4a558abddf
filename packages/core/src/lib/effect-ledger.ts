/** The write-ahead account of calls with effects (spec runs.md section 6). */

import { hostname } from "node:os";
import type { Digest } from "./digest.ts";
import { isAlive } from "./file-lock.ts";
import type { Json, JsonObject } from "./json.ts";
import { type Clock, systemClock } from "./ports.ts";
import type { CallResult } from "./result.ts";
import type { Store, StoreChange } from "./store.ts";

/** What a call is about to do, written before it does it. */
export interface EffectIntent {
  /** Names this attempt: an outcome or a finding counts only for the attempt it is about. */
  readonly id: string;
  readonly key: Digest;
  readonly toolName: string;
  readonly toolDigest: Digest;
  readonly contractVersion: string;
  readonly callId: string;
  readonly runId?: string;
  /** The arguments, secrets masked. */
  readonly args: JsonObject;
  /** What the handler hands to the remote system. */
  readonly idempotencyKey?: string;
  /** True where the contract allows the same effect to be asked for again. */
  readonly repeatable: boolean;
  /** ISO-8601; an intent without outcome is unknown after its deadline. */
  readonly startedAt: string;
  readonly deadline: string;
}

/** One line of the ledger. */
export interface EffectEntry {
  readonly intent: EffectIntent;
  readonly state: "in_flight" | "done" | "unknown";
  readonly writer: { readonly pid: number; readonly host: string; readonly bornMs: number };
  /** An earlier call with this key may have had the effect already. */
  readonly repeats?: true;
  readonly result?: CallResult;
}

/** How a call stands that wants to begin. `result` is that of the first call with this key. */
export type EffectStart =
  | { readonly state: "fresh" }
  | { readonly state: "done"; readonly result: CallResult; readonly intent: EffectIntent }
  | { readonly state: "in_flight"; readonly until: string }
  | { readonly state: "unknown"; readonly intent: EffectIntent };

/** What was found out about a call of unknown outcome. */
export type ReconcileDecision =
  | { readonly outcome: "succeeded"; readonly result: Json }
  | { readonly outcome: "failed"; readonly error: string }
  | { readonly outcome: "still_unknown" };

/** Which attempt at which effect. */
export type EffectAttempt = Pick<EffectIntent, "key" | "id">;

/** Keeps intents and outcomes; every method is one atomic step. */
export interface EffectLedger {
  /** Writes the intent, unless its key is taken: then it says by what. */
  begin(intent: EffectIntent): Promise<EffectStart>;
  /** Writes the outcome. `not_started` takes the intent back, and leaves unknown what an earlier call left so. */
  finish(attempt: EffectAttempt, result: CallResult): Promise<void>;
  /** Settles an entry that is unknown; nothing for `still_unknown`, and for one that is done or at work by now. */
  reconcile(attempt: EffectAttempt, decision: ReconcileDecision): Promise<void>;
  /** All entries, or those in one state; an intent that nobody works on any more is listed as unknown. */
  list(filter?: { readonly state?: EffectEntry["state"] }): AsyncIterable<EffectEntry>;
}

/** Options of a ledger. */
export interface EffectLedgerOptions {
  readonly clock?: Clock;
}

const PREFIX = "effect/";

/** A ledger in any store; as durable as that store, and shared by all processes that share it. */
export function createEffectLedger(
  store: Store<Json>,
  { clock = systemClock }: EffectLedgerOptions = {},
): EffectLedger {
  const read = (value: Json | undefined): EffectEntry | undefined => {
    const entry = value as EffectEntry | undefined; // Proof: keys below the prefix are written here alone
    return entry !== undefined && isAbandoned(entry, clock.now()) ? { ...entry, state: "unknown" } : entry;
  };
  const change = async ({ key, id }: EffectAttempt, next: (entry: EffectEntry) => StoreChange<Json>) => {
    await store.update(PREFIX + key, (value) => {
      const entry = read(value);
      return entry !== undefined && entry.intent.id === id ? next(entry) : { keep: true };
    });
  };
  return {
    begin: async (intent) => {
      let start: EffectStart = { state: "fresh" };
      await store.update(PREFIX + intent.key, (value) => {
        const entry = read(value);
        start = startOf(entry, intent);
        if (start.state !== "fresh") return { keep: true };
        const repeats = entry?.state === "unknown" ? { repeats: true as const } : {};
        return { set: toJson({ ...inFlight(intent), ...repeats }) };
      });
      return start;
    },
    finish: (attempt, result) =>
      change(attempt, (entry) => {
        if (result.outcome === "not_started")
          return entry.repeats === true ? { set: toJson({ ...entry, state: "unknown" }) } : { delete: true };
        const state = result.outcome === "unknown" ? "unknown" : "done";
        return { set: toJson({ ...entry, state, result }) };
      }),
    reconcile: (attempt, decision) =>
      change(attempt, (entry) => {
        if (entry.state !== "unknown" || decision.outcome === "still_unknown") return { keep: true };
        return { set: toJson({ ...entry, state: "done", result: toResult(entry.intent.callId, decision) }) };
      }),
    list: async function* ({ state } = {}) {
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const page = await store.list({ prefix: PREFIX, ...(cursor === "" ? {} : { cursor }) });
        for (const [, value] of page.entries) {
          const entry = read(value);
          if (entry !== undefined && (state === undefined || entry.state === state)) yield entry;
        }
        cursor = page.cursor;
      }
    },
  };
}

/** The result a decision stands for. A failed attempt may be made again: its effect did not happen. */
export function toResult(
  callId: string,
  decision: Exclude<ReconcileDecision, { outcome: "still_unknown" }>,
): CallResult {
  return decision.outcome === "succeeded"
    ? { success: true, data: decision.result, callId, outcome: "succeeded", retryable: false }
    : {
        success: false,
        error: decision.error,
        callId,
        outcome: "failed",
        code: "tool_failed",
        retryable: true,
      };
}

function startOf(entry: EffectEntry | undefined, intent: EffectIntent): EffectStart {
  if (entry === undefined) return { state: "fresh" };
  const { result } = entry;
  if (entry.state === "done" && result !== undefined) {
    // A failure that may pass had no effect: the same key may try again.
    const mayRetry = result.outcome === "failed" && result.retryable;
    return mayRetry ? { state: "fresh" } : { state: "done", result, intent: entry.intent };
  }
  if (entry.state === "in_flight") return { state: "in_flight", until: entry.intent.deadline };
  return intent.repeatable ? { state: "fresh" } : { state: "unknown", intent: entry.intent };
}

function inFlight(intent: EffectIntent): EffectEntry {
  return { intent, state: "in_flight", writer: { pid: process.pid, host: hostname(), bornMs: bornMs() } };
}

function isAbandoned({ state, intent, writer }: EffectEntry, nowMs: number): boolean {
  if (state !== "in_flight") return false;
  if (nowMs > Date.parse(intent.deadline)) return true;
  if (writer.host !== hostname()) return false;
  // A container that starts again gives the same number to another process.
  const isOther = writer.pid === process.pid && Math.abs(writer.bornMs - bornMs()) > SAME_BIRTH_MS;
  return isOther || !isAlive(writer.pid);
}

const SAME_BIRTH_MS = 5_000;

/** When this process began, in milliseconds since 1970. */
function bornMs(): number {
  return Math.round(Date.now() - process.uptime() * 1_000);
}

function toJson(entry: EffectEntry): Json {
  return JSON.parse(JSON.stringify(entry)); // Leaves out what is undefined.
}
