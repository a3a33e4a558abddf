/** One direct tool call as a run of its own, for doors that call tools without a model (MCP, HTTP, command line). */

import type { CallContext } from "./call-context.ts";
import { isReadOnly } from "./contract.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import { type CallGate, createGate } from "./gate.ts";
import { silentLogger } from "./logger.ts";
import type { Logger } from "./logger.ts";
import { createPorts } from "./ports.ts";
import { LOCAL_PROGRAM } from "./principal.ts";
import { redactSecrets } from "./redactor.ts";
import type { CallResult } from "./result.ts";
import { type RunContext } from "./run-context.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import type { RunStart } from "./run-event.ts";
import { describeEnvironment } from "./run-start.ts";
import { LateHandlers, LogJournal } from "./run-journal.ts";
import { RunLog } from "./run-log.ts";
import type { RunRecord } from "./run-record.ts";
import type { RunStore } from "./run-store.ts";
import type { Capture } from "./sealed.ts";
import type { ToolView } from "./tool-view.ts";

/** Options of `runCall`: those of a call, and where and how it is recorded. */
export interface RunCallOptions extends Omit<CallContext, "run" | "scope"> {
  readonly store: RunStore;
  /** The account of calls with effects. Default: the registry's. */
  readonly ledger?: EffectLedger;
  /** Default `digest`. */
  readonly capture?: Capture;
  /** Default `{ name: "call" }`. */
  readonly actor?: RunStart["actor"];
  /** The trace of whoever asked, as the parent of this run's. */
  readonly traceContext?: RunStart["traceContext"];
  /** Shared by the calls of one connection, so that its limits hold over all of them. Default: a gate of its own. */
  readonly gate?: CallGate;
  readonly logger?: Logger;
}

/** One call to make. */
export interface CallRequestInput {
  readonly name: string;
  readonly args: unknown;
}

const GRACE_MS = 2_000;

/** Runs one call through `execute` and records it as a run of kind `call`. Never throws for the tool's mistakes. */
export async function runCall(
  tools: ToolView,
  { name, args }: CallRequestInput,
  options: RunCallOptions,
): Promise<{ readonly result: CallResult; readonly record: RunRecord }> {
  const { context, log } = openCall(tools, name, options);
  const late = new LateHandlers(log);
  const { seal } = log;
  const result = await tools.execute(name, args, {
    ...options,
    run: context,
    scope: {
      gate: options.gate ?? createGate(1),
      isDirect: true,
      ...(options.ledger === undefined ? {} : { ledger: options.ledger }),
      journal: new LogJournal(log, late, { round: 0, index: 0 }),
    },
  });
  if (result.code === "cancelled") {
    await late.wait(GRACE_MS, context.ports.clock);
    log.emit("run.cancelled", { stopReason: "caller_abort", reason: seal("the call was cancelled") });
  } else {
    const text = result.success ? JSON.stringify(result.data) : result.error;
    log.emit("run.completed", { stopReason: "tool_result", output: seal(text) });
  }
  await log.flush();
  return { result, record: log.record() };
}

function openCall(
  tools: ToolView,
  name: string,
  options: RunCallOptions,
): { readonly context: RunContext; readonly log: RunLog } {
  const ports = options.ports ?? createPorts();
  const runId = ports.ids();
  const { principal = LOCAL_PROGRAM, owner = "local", grants = [], capture = "digest" } = options;
  const tool = tools.get(name);
  const log = new RunLog({
    runId,
    ports,
    capture,
    redact: redactSecrets,
    logger: options.logger ?? silentLogger,
    store: options.store,
    onStoreFailure: tool === undefined || isReadOnly(tool.contract) ? "warn" : "fail_closed",
  });
  log.emit("run.started", {
    kind: "call",
    lineage: { rootRunId: runId, correlationId: runId, attempt: 1, depth: 0 },
    actor: options.actor ?? { name: "call" },
    principal,
    owner,
    capabilities: {
      digest: tools.digest(),
      tools:
        tool === undefined
          ? []
          : [
              {
                name,
                digest: tool.digest,
                contractVersion: tool.contract.version,
                effects: tool.contract.effects.kind,
              },
            ],
    },
    authority: {
      grants: grants.map(({ ref, scopes }) => ({ ref, scopes })),
      waivers: tool?.contract.authority.waiver === undefined ? [] : [tool.contract.authority.waiver],
    },
    limits: DEFAULT_LIMITS,
    environment: describeEnvironment(),
    ...(options.traceContext === undefined ? {} : { traceContext: options.traceContext }),
    capture,
    sealed: false,
  });
  const context: RunContext = {
    runId,
    rootRunId: runId,
    correlationId: runId,
    depth: 0,
    ancestors: [],
    principal,
    owner,
    grants,
    limits: DEFAULT_LIMITS,
    signal: options.signal ?? new AbortController().signal,
    ports,
  };
  return { context, log };
}
