/** Folds the events of all runs of a process into OpenTelemetry spans. */

import { type Context, ROOT_CONTEXT, TraceFlags, type Tracer, context, trace } from "@opentelemetry/api";
import type { AnyRunEvent, Logger, RunEvent, RunStart } from "@openfunctions/core";
import { RunSpans } from "./run-spans.ts";

/** Options of `createOtelObserver`. */
export interface OtelObserverOptions {
  readonly tracer: Tracer;
  /** Writes prompts, messages, arguments and results into spans, where the run records them. Default false. */
  readonly content?: boolean;
  /** Hears of runs whose spans had to be ended early. */
  readonly logger?: Logger;
  /** Runs whose spans are kept open, suspended ones included; the oldest is ended first. Default 1 000. */
  readonly maxOpenRuns?: number;
}

/**
 * The function for `ports.observe`; one per process. A run hangs below its parent's span, else below the trace context
 * that it recorded, else below the span that is active. Spans tell what the log says: they prove no effect.
 */
export function createOtelObserver(options: OtelObserverOptions): (event: RunEvent) => void {
  const observer = new OtelObserver(options);
  return (event) => observer.observe(event as AnyRunEvent); // Proof: every RunEvent is one of the union's members
}

class OtelObserver {
  readonly #options: OtelObserverOptions;
  readonly #maxOpenRuns: number;
  readonly #runs = new Map<string, RunSpans>();

  constructor(options: OtelObserverOptions) {
    this.#options = options;
    this.#maxOpenRuns = Math.max(1, options.maxOpenRuns ?? 1_000);
  }

  observe(event: AnyRunEvent): void {
    const run = this.#runs.get(event.runId) ?? this.#open(event);
    if (run?.apply(event) === true) this.#runs.delete(event.runId);
  }

  /** A run that is seen first in its middle has no spans, except one that another process suspended. */
  #open(event: AnyRunEvent): RunSpans | undefined {
    if (event.type !== "run.started" && event.type !== "run.resumed") return undefined;
    this.#makeRoom(event.at);
    const parent = event.type === "run.started" ? this.#parentOf(event.runId, event.data) : context.active();
    const { tracer, content = false } = this.#options;
    const run = new RunSpans(event, { tracer, content, parent });
    this.#runs.set(event.runId, run);
    return run;
  }

  #parentOf(runId: string, { lineage, traceContext }: RunStart): Context {
    const above = lineage.parentRunId === undefined ? undefined : this.#runs.get(lineage.parentRunId);
    if (above !== undefined) return above.contextOf(runId);
    if (traceContext === undefined) return context.active();
    return trace.setSpanContext(ROOT_CONTEXT, {
      ...traceContext,
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
  }

  #makeRoom(at: string): void {
    for (const [runId, run] of this.#runs) {
      if (this.#runs.size < this.#maxOpenRuns) return;
      run.abandon(at);
      this.#runs.delete(runId);
      this.#options.logger?.warn("The spans of a run were ended before the run: too many runs are open.", {
        runId,
      });
    }
  }
}
