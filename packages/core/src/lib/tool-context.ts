/** Builds what a handler is given besides its parameters. */

import { describeThrown } from "./describe-thrown.ts";
import type { CallContext } from "./call-context.ts";
import { type Json, copyJson } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Ports } from "./ports.ts";
import { type Grant, LOCAL_PROGRAM, type Principal } from "./principal.ts";
import { type ChildRun, type RunContext, childContext } from "./run-context.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import type { ToolContext } from "./tool.ts";

/** What one call's context is made of. */
export interface ToolContextParts {
  readonly callId: string;
  readonly call: CallContext;
  readonly control: { readonly signal: AbortSignal };
  readonly idempotencyKey: string | undefined;
  readonly ports: Ports;
  readonly logger: Logger;
  /** Receives progress that is JSON; anything else is dropped with a warning. False once nobody waits for the call. */
  readonly report: (update: Json) => boolean;
}

/**
 * The context of one call. A class for the sake of its `signal`, which is made when it is asked for: an object literal
 * with a getter costs as much as the rest of a call. What a handler may take out of it (`progress`, `child`) is bound.
 */
export class CallToolContext implements ToolContext {
  readonly callId: string;
  declare readonly runId?: string;
  declare readonly idempotencyKey?: string;
  readonly principal: Principal;
  readonly owner: string;
  readonly grants: readonly Grant[];
  readonly ports: Ports;
  readonly logger: Logger;
  readonly progress: (update: Json) => void;
  readonly child: (overrides?: ChildRun) => RunContext;
  readonly #control: { readonly signal: AbortSignal };

  constructor(parts: ToolContextParts) {
    const { callId, call, idempotencyKey } = parts;
    const { run } = call;
    this.callId = callId;
    if (run !== undefined) this.runId = run.runId;
    if (idempotencyKey !== undefined) this.idempotencyKey = idempotencyKey;
    this.principal = call.principal ?? run?.principal ?? LOCAL_PROGRAM;
    this.owner = call.owner ?? run?.owner ?? "local";
    this.grants = call.grants ?? run?.grants ?? [];
    this.ports = parts.ports;
    this.logger = parts.logger;
    this.#control = parts.control;
    this.progress = (update) => reportProgress(parts, update);
    this.child = (overrides) => childContext(run ?? rootContext(this), { signal: this.signal, ...overrides });
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }
}

function reportProgress({ callId, call, logger, report }: ToolContextParts, update: Json): void {
  const { copy, problems } = copyJson(update);
  if (problems.length > 0) {
    logger.warn("A progress update was not JSON and was dropped.", { callId });
    return;
  }
  try {
    if (!report(copy)) return;
    call.onProgress?.(copy);
  } catch (cause) {
    logger.warn("A listener of progress threw.", { callId, cause: describeThrown(cause) });
  }
}

/** A direct call has no run; a run it starts is a root, and the call stands in for the parent's limits. */
function rootContext(context: ToolContext): RunContext {
  const { callId, principal, owner, grants, signal, ports } = context;
  return {
    runId: callId,
    rootRunId: callId,
    correlationId: callId,
    depth: 0,
    ancestors: [],
    principal,
    owner,
    grants,
    limits: DEFAULT_LIMITS,
    signal,
    ports,
  };
}
