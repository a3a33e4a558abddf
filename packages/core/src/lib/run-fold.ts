/** Computes the record of a run from its events, one at a time. */

import { NO_USAGE, type Usage, addUsage } from "./adapter.ts";
import type { EffectKind } from "./contract.ts";
import { RecordError } from "./errors.ts";
import type { AnyRunEvent, EventData, PendingCall, RunEvent, RunStart } from "./run-event.ts";
import { brokenRule } from "./record-rule.ts";
import type { ModelCallRecord, RunEffects, RunRecord, RunStatus, ToolCallRecord } from "./run-record.ts";
import { nextStatus } from "./run-status.ts";

/** Pure: the record that a list of events gives. A prefix gives the record as it stood. */
export function foldRun(events: Iterable<AnyRunEvent>): RunRecord {
  const fold = new RunFold();
  for (const event of events) fold.apply(event);
  return fold.record();
}

type Terminal = Extract<
  AnyRunEvent,
  { type: "run.completed" | "run.limit_reached" | "run.failed" | "run.cancelled" }
>;
type ModelRequest = EventData["model.requested"];

/** The fold with its state, for writers and stores that keep it as events arrive. */
export class RunFold {
  #first: RunEvent<"run.started"> | undefined;
  #last: AnyRunEvent | undefined;
  #terminal: Terminal | undefined;
  #status: RunStatus = "running";
  #suspended: RunEvent<"run.suspended"> | undefined;
  #usage: Usage = NO_USAGE;
  #instructions: RunRecord["instructions"];
  #asked: ModelRequest | undefined;
  #retries = 0;
  readonly #modelCalls: ModelCallRecord[] = [];
  readonly #toolCalls = new Map<string, ToolCallRecord>();
  readonly #children = new Map<
    string,
    { readonly runId: string; readonly actor: string; readonly status: string }
  >();
  readonly #context: RunRecord["context"][number][] = [];

  /** True once the run has its terminal event. */
  get ended(): boolean {
    return this.#terminal !== undefined;
  }

  /** Takes the next event. Unknown types change nothing but the head. Throws `RecordError` after the terminal event. */
  apply(event: AnyRunEvent): void {
    if (this.#terminal !== undefined)
      throw brokenRule(1, `The run ended with "${this.#terminal.type}"; "${event.type}" cannot follow.`);
    this.#last = event;
    this.#status = nextStatus(this.#status, event) ?? this.#status;
    switch (event.type) {
      case "run.started":
        this.#first = event;
        return;
      case "run.completed":
      case "run.limit_reached":
      case "run.failed":
      case "run.cancelled":
        this.#terminal = event;
        return;
      case "run.suspended":
        this.#suspended = event;
        return;
      case "run.resumed":
        this.#suspended = undefined;
        return;
      case "prompt.composed":
        this.#instructions = { digest: event.data.digest, sections: event.data.sections };
        return;
      case "context.built":
        this.#context.push({ ...event.data, builtAt: event.at });
        return;
      case "child.started":
      case "child.finished":
        return this.#applyChild(event);
      default:
        this.#applyModel(event);
        this.#applyTool(event);
    }
  }

  /** The record as it stands. Throws `RecordError` before the first event. */
  record(): RunRecord {
    const first = this.#first;
    const last = this.#last;
    if (first === undefined || last === undefined) {
      throw new RecordError('A run begins with "run.started"; these events do not.');
    }
    const { model, ...start } = first.data;
    const effects = this.#effects(first.data);
    return {
      schema: "run/1",
      runId: first.runId,
      ...start,
      ...(model === undefined ? {} : { model: { ...model, reported: this.#reported() } }),
      ...(this.#instructions === undefined ? {} : { instructions: this.#instructions }),
      context: [...this.#context],
      status: this.#status,
      startedAt: first.at,
      ...this.#ending(effects),
      rounds: this.#modelCalls.length,
      usage: this.#usage,
      lastRequestTokens: lastRequestTokens(this.#modelCalls),
      modelCalls: [...this.#modelCalls],
      toolCalls: [...this.#toolCalls.values()].sort(asAsked),
      children: [...this.#children.values()],
      effects,
      head: last.hash,
    };
  }

  #ending(
    effects: RunEffects,
  ): Partial<Pick<RunRecord, "stopReason" | "endedAt" | "output" | "error" | "cancellation" | "pending">> {
    const end = this.#terminal;
    if (end === undefined) {
      const open = this.#suspended?.data;
      return open === undefined ? {} : { stopReason: open.stopReason, pending: open.pending };
    }
    const base = { stopReason: end.data.stopReason, endedAt: end.at };
    if (end.type === "run.completed") return { ...base, output: end.data.output };
    if (end.type === "run.failed") return { ...base, error: end.data.error };
    if (end.type === "run.cancelled") {
      return {
        ...base,
        cancellation: { requestedAt: end.at, reason: end.data.reason, effects: cancelledEffects(effects) },
      };
    }
    return end.data.partial === undefined ? base : { ...base, output: end.data.partial };
  }

  #reported(): readonly string[] {
    const models = this.#modelCalls.flatMap((call) =>
      call.reportedModel === undefined ? [] : [call.reportedModel],
    );
    return [...new Set(models)];
  }

  #applyChild(event: RunEvent<"child.started"> | RunEvent<"child.finished">): void {
    const runId = event.data.childRunId;
    const known = this.#children.get(runId);
    const actor = "actor" in event.data ? event.data.actor : (known?.actor ?? "");
    this.#children.set(runId, {
      runId,
      actor,
      status: "status" in event.data ? event.data.status : "running",
    });
  }

  #applyModel(event: AnyRunEvent): void {
    if (event.type === "model.requested") {
      this.#asked = event.data;
      this.#retries = 0;
    } else if (event.type === "model.retried") {
      this.#retries += 1;
    } else if (event.type === "model.responded") {
      this.#usage = this.#usage === NO_USAGE ? event.data.usage : addUsage(this.#usage, event.data.usage);
      this.#modelCalls.push(this.#modelCall(event.data));
    } else if (event.type === "history.compacted" && event.data.usage !== undefined) {
      this.#usage = addUsage(this.#usage, event.data.usage);
    }
  }

  #modelCall(data: EventData["model.responded"]): ModelCallRecord {
    const { reply: _reply, warnings: _warnings, ...rest } = data;
    if (this.#asked === undefined)
      throw new RecordError('A "model.responded" has no "model.requested" before it.');
    return { ...rest, requestDigest: this.#asked.requestDigest, retries: this.#retries };
  }

  #applyTool(event: AnyRunEvent): void {
    if (event.type === "tool.requested") {
      const { runId, at } = event;
      this.#toolCalls.set(event.data.callId, {
        ...event.data,
        runId,
        requestedAt: at,
        outcome: "not_started",
      });
    } else if (event.type === "tool.refused") {
      const { callId, code, authority, result } = event.data;
      this.#change(callId, { code, authority, result, endedAt: event.at });
    } else if (event.type === "tool.started") {
      // Until its result is known, a call that began has an unknown outcome.
      this.#change(event.data.callId, {
        authority: event.data.authority,
        startedAt: event.at,
        outcome: "unknown",
        ...(event.data.idempotency === undefined ? {} : { idempotency: event.data.idempotency }),
      });
    } else if (event.type === "tool.finished") {
      const { callId, outcome, code, durationMs, result } = event.data;
      this.#change(callId, {
        outcome,
        durationMs,
        result,
        endedAt: event.at,
        ...(code === undefined ? {} : { code }),
      });
    } else if (event.type === "tool.settled") {
      this.#change(event.data.callId, { lateSettlement: true });
    } else {
      this.#applyLedger(event);
    }
  }

  #applyLedger(event: AnyRunEvent): void {
    if (event.type === "tool.replayed") {
      const { callId, authority, idempotency, outcome, code, replayOf, result } = event.data;
      this.#change(callId, {
        authority,
        outcome,
        result,
        endedAt: event.at,
        idempotency: { ...idempotency, replayOf },
        ...(code === undefined ? {} : { code }),
      });
    } else if (event.type === "tool.reconciled") {
      const { callId, outcome, result } = event.data;
      this.#change(callId, { outcome, reconciled: true, ...(result === undefined ? {} : { result }) });
    } else if (event.type === "approval.requested") {
      this.#decide(event.data, "pending");
    } else if (event.type === "approval.resolved") {
      this.#decide(event.data, event.data.decision === "approved" ? "granted" : "denied");
    }
  }

  #decide({ callId, ticketId }: PendingCall, decision: "pending" | "granted" | "denied"): void {
    const level = this.#toolCalls.get(callId)?.authority?.level ?? "human";
    this.#change(callId, { authority: { level, decision, ticketId } });
  }

  #change(callId: string, change: Partial<ToolCallRecord>): void {
    const call = this.#toolCalls.get(callId);
    if (call === undefined) throw new RecordError(`The log ends call "${callId}", which it never requested.`);
    this.#toolCalls.set(callId, { ...call, ...change });
  }

  #effects(start: RunStart): RunEffects {
    const kinds = new Map<string, EffectKind>(
      start.capabilities.tools.map((tool) => [tool.name, tool.effects]),
    );
    const calls = [...this.#toolCalls.values()];
    const started = calls.filter((call) => call.startedAt !== undefined);
    const writes = started.filter((call) => !["none", "read"].includes(kinds.get(call.toolName) ?? "write"));
    const unknown = calls.filter((call) => call.outcome === "unknown").map((call) => call.callId);
    return {
      summary: this.#effectSummary(started.length, writes),
      certainty: unknown.length > 0 ? "unknown" : "known",
      verificationRequired: unknown,
    };
  }

  #effectSummary(started: number, writes: readonly ToolCallRecord[]): RunEffects["summary"] {
    if (started === 0) return "none";
    if (!writes.some((call) => call.outcome === "succeeded" || call.outcome === "unknown"))
      return "read_only";
    return this.#terminal?.type === "run.completed" ? "committed" : "partial";
  }
}

// Calls of one reply are validated side by side, so their events may come in another order than they were asked for.
function asAsked(left: ToolCallRecord, right: ToolCallRecord): number {
  return left.round - right.round || left.index - right.index;
}

function lastRequestTokens(calls: readonly ModelCallRecord[]): number {
  const usage = calls.at(-1)?.usage ?? NO_USAGE;
  return usage.input + usage.cacheRead + usage.cacheWrite;
}

function cancelledEffects(effects: RunEffects): "none" | "partial" | "committed" | "unknown" {
  if (effects.certainty === "unknown") return "unknown";
  return effects.summary === "partial" ? "partial" : "none";
}
