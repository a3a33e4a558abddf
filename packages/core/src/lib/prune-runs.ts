/** Retention: removes whole runs that are old or too many, and none that somebody still has to look at. */

import { ConfigError } from "./errors.ts";
import type { RunRecord } from "./run-record.ts";
import type { RunStore } from "./run-store.ts";

/** What to keep. At least one of the two bounds is needed; a run over either goes. */
export interface PruneOptions {
  /** How long a run is kept after its end, in milliseconds. */
  readonly maxAgeMs?: number;
  /** How many runs are kept, the newest ones; open runs count. */
  readonly maxRuns?: number;
  /** The time it is, in milliseconds since 1970. */
  readonly now: number;
}

/** Why a run stays although it is over a bound. */
export type KeepReason = "running" | "suspended" | "pending_ticket" | "unknown_effects";

/** What was done. */
export interface PruneReport {
  readonly removed: readonly string[];
  /** Over a bound, and kept all the same. */
  readonly kept: readonly { readonly runId: string; readonly reason: KeepReason }[];
}

/**
 * Removes the runs over a bound, whole or not at all. Runs that are open, wait for an answer or have an effect of
 * unknown outcome stay and are reported. Throws `ConfigError` without a bound or for one that is no bound.
 */
export async function pruneRuns(store: RunStore, options: PruneOptions): Promise<PruneReport> {
  checkBounds(options);
  const removed: string[] = [];
  const kept: { runId: string; reason: KeepReason }[] = [];
  for (const run of await runsOver(store, options)) {
    const reason = reasonToKeep(run);
    if (reason !== undefined) kept.push({ runId: run.runId, reason });
    else if (await store.remove(run.runId)) removed.push(run.runId);
  }
  return { removed, kept };
}

type Candidate = Pick<RunRecord, "runId" | "status" | "pending" | "toolCalls" | "effects">;

/** Found before anything is removed, so that pages do not shift. */
async function runsOver(
  store: RunStore,
  { maxAgeMs = Infinity, maxRuns = Infinity, now }: PruneOptions,
): Promise<readonly Candidate[]> {
  const over: Candidate[] = [];
  let seen = 0;
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    for (const run of page.runs) {
      seen += 1;
      const age = now - Date.parse(run.endedAt ?? run.startedAt);
      if (seen > maxRuns || age > maxAgeMs) over.push(run);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return over;
}

function reasonToKeep({ status, pending = [], toolCalls, effects }: Candidate): KeepReason | undefined {
  if (status === "running" || status === "suspended") return status;
  const waits = toolCalls.some((call) => call.authority?.decision === "pending");
  if (waits || pending.length > 0) return "pending_ticket";
  return effects.certainty === "unknown" ? "unknown_effects" : undefined;
}

function checkBounds({ maxAgeMs, maxRuns, now }: PruneOptions): void {
  const bad = [maxAgeMs, maxRuns].some(
    (bound) => bound !== undefined && !(Number.isFinite(bound) && bound >= 0),
  );
  if (!bad && Number.isFinite(now) && (maxAgeMs ?? maxRuns) !== undefined) return;
  throw new ConfigError(
    "Retention needs the time as `now`, and `maxAgeMs`, `maxRuns` or both as numbers from 0 on.",
    {
      code: "invalid_config",
    },
  );
}
