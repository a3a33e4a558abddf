/** Sets runs right whose process died (spec runs.md section 8). */

import type { EffectEntry, EffectLedger } from "./effect-ledger.ts";
import { toResult } from "./effect-ledger.ts";
import { askTool } from "./call-effect.ts";
import { isAlive } from "./file-lock.ts";
import type { Json } from "./json.ts";
import { type Logger, quietLogger } from "./logger.ts";
import { type Ports, createPorts } from "./ports.ts";
import { redactSecrets } from "./redactor.ts";
import type { RecordSigner } from "./record-line.ts";
import type { CallResult } from "./result.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { foldRun } from "./run-fold.ts";
import { RunLog } from "./run-log.ts";
import { hostDigest } from "./run-start.ts";
import type { RunRecord } from "./run-record.ts";
import type { RunStore } from "./run-store.ts";
import type { ToolView } from "./tool-view.ts";

/** What recovery works with. Without ledger and tools no outcome can be found out. */
export interface RecoverOptions {
  readonly ledger?: EffectLedger;
  readonly tools?: ToolView;
  /** Signs what ends here, where the run was to be signed. */
  readonly signer?: RecordSigner;
  readonly ports?: Partial<Ports>;
  readonly logger?: Logger;
}

/** What was found. `unknown` are effects that only a person can settle. */
export interface Recovery {
  readonly failed: readonly string[];
  readonly suspended: readonly string[];
  readonly unknown: readonly EffectEntry[];
}

const PAGE = 100;
/** How long past its time budget a run of another machine is still taken to live. */
const GRACE_MS = 60_000;
const RECONCILE_MS = 30_000;

/**
 * Run it when a program starts. A run that nobody writes any more is left suspended where it waited for a person, and
 * ends as failed otherwise; what its unfinished calls came to is asked of their tools once. A finished run is left
 * alone, so a second recovery changes nothing.
 */
export async function recoverRuns(store: RunStore, options: RecoverOptions = {}): Promise<Recovery> {
  const recovery = new RunRecovery(store, options);
  await recovery.settleEffects();
  for (const record of await runningRuns(store)) await recovery.recover(record);
  return recovery.report();
}

async function runningRuns(store: RunStore): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const page = await store.list({ status: "running", limit: PAGE, ...(cursor === "" ? {} : { cursor }) });
    runs.push(...page.runs);
    cursor = page.cursor;
  }
  return runs;
}

class RunRecovery {
  readonly #store: RunStore;
  readonly #options: RecoverOptions;
  readonly #ports: Ports;
  readonly #logger: Logger;
  readonly #settled = new Map<string, CallResult>();
  readonly #failed: string[] = [];
  readonly #suspended: string[] = [];
  readonly #unknown: EffectEntry[] = [];

  constructor(store: RunStore, options: RecoverOptions) {
    this.#store = store;
    this.#options = options;
    this.#ports = createPorts(options.ports);
    this.#logger = quietLogger(options.logger);
  }

  report(): Recovery {
    return { failed: this.#failed, suspended: this.#suspended, unknown: this.#unknown };
  }

  /** Asks the tools of left-over intents what became of them. */
  async settleEffects(): Promise<void> {
    const { ledger, tools } = this.#options;
    if (ledger === undefined) return;
    for await (const entry of ledger.list()) {
      const { intent, state, result } = entry;
      if (state === "done" && result !== undefined) this.#settled.set(callKey(intent), result);
      if (state !== "unknown") continue;
      const tool = tools?.get(intent.toolName);
      const control = { signal: AbortSignal.timeout(RECONCILE_MS) };
      const parts = { control, ports: this.#ports, logger: this.#logger };
      const decision =
        tool === undefined
          ? ({ outcome: "still_unknown" } as const)
          : await askTool({ tool, ...parts }, intent);
      await ledger.reconcile(intent, decision);
      if (decision.outcome === "still_unknown") this.#unknown.push(entry);
      else this.#settled.set(callKey(intent), toResult(intent.callId, decision));
    }
  }

  async recover({ runId }: RunRecord): Promise<void> {
    const { signer } = this.#options;
    const events: AnyRunEvent[] = [];
    for await (const event of this.#store.read(runId)) events.push(event);
    const record = foldRun(events);
    if (record.status !== "running" || isLive(events, record, this.#ports.clock.now())) return;
    const log = new RunLog({
      runId,
      ports: this.#ports,
      capture: record.capture,
      redact: redactSecrets,
      logger: this.#logger,
      store: this.#store,
      onStoreFailure: "fail_closed",
      from: events,
      ...(record.sealed === false || signer === undefined ? {} : { signer }),
    });
    this.#settleCalls(log, record);
    const status = this.#end(log, record);
    await log.flush();
    // Another process recovers the same run, and was first.
    if (log.failure?.code === "store_conflict") return;
    if (log.failure !== undefined) throw log.failure;
    (status === "suspended" ? this.#suspended : this.#failed).push(runId);
  }

  /** Writes down what was found out about calls whose outcome the record does not know. */
  #settleCalls(log: RunLog, record: RunRecord): void {
    for (const { callId } of record.toolCalls.filter(({ outcome }) => outcome === "unknown")) {
      const result = this.#settled.get(callKey({ runId: record.runId, callId }));
      if (result === undefined) continue;
      const { callId: _callId, ...plain } = result;
      log.emit("tool.reconciled", {
        callId,
        outcome: result.outcome,
        result: log.seal<Json>(plain as Json), // Proof: a result out of the ledger is JSON
      });
    }
  }

  /** A call with a ticket that never began can still be resumed, whatever became of the ticket. */
  #end(log: RunLog, record: RunRecord): "suspended" | "failed" {
    const pending = record.toolCalls.flatMap(({ callId, authority, startedAt, endedAt }) =>
      authority?.ticketId !== undefined && startedAt === undefined && endedAt === undefined
        ? [{ callId, ticketId: authority.ticketId }]
        : [],
    );
    const halfDone = record.toolCalls.some(
      (call) => call.startedAt !== undefined && call.endedAt === undefined,
    );
    if (pending.length > 0 && !halfDone) {
      log.emit("run.suspended", { stopReason: "approval_required", pending });
      return "suspended";
    }
    const message = log.seal("The process that ran this ended before the run did.");
    log.emit("run.failed", {
      stopReason: "internal_error",
      error: { code: "run_failed", message, retryable: true },
    });
    return "failed";
  }
}

function callKey({ runId, callId }: { readonly runId?: string; readonly callId: string }): string {
  return `${runId ?? ""}/${callId}`;
}

/** True while the process that writes the run may still do so. */
function isLive(events: readonly AnyRunEvent[], record: RunRecord, nowMs: number): boolean {
  const resumed = events.findLast((event) => event.type === "run.resumed");
  const writer = resumed?.data.process ?? record.environment.process;
  const sinceMs = Date.parse(resumed?.at ?? record.startedAt);
  if (writer?.host !== hostDigest()) return nowMs < sinceMs + record.limits.wallMs + GRACE_MS;
  // A container that starts again gives the same number: what is older than this process is not its own.
  const isOlder = writer.pid === process.pid && sinceMs < performance.timeOrigin;
  return isAlive(writer.pid) && !isOlder;
}
